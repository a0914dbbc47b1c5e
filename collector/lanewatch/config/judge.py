"""Settings of the judge: which metrics, asked of whom, of which share of the traffic, and for how much money.

Without any of them the offline support signals run, which need no model and no network. An endpoint takes two settings, so
that half of one is a fault: a judge that is never asked would look like traffic that is never bad.
"""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from lanewatch.config.faults import Fault, did_you_mean
from lanewatch.config.values import (
    GIB,
    MIB,
    TIB,
    Bytes,
    Count,
    FileName,
    Names,
    PathName,
    Section,
    Token,
    is_loopback,
)
from lanewatch.config.wanted import Wanted
from lanewatch.monitors.judge.metrics import BY_NAME, Needs

Key = tuple[str, str]

PROMPT_TOKENS = 2000  # of the longest fixed prompt, without any content: docs/judge.md


def _url(text: str) -> str:
    """Refuse what no HTTP client could use, and credentials, which would be printed with the address."""
    parts = urlsplit(text)  # ValueError: a bracket too few
    if text and not (parts.scheme in {"http", "https"} and parts.hostname and parts.username is parts.password is None):
        raise ValueError("not an address")
    _ = parts.port  # ValueError: beyond 65535
    return text


Url = Annotated[
    str,
    Field(pattern=r"^[!-~]{0,2000}$"),
    AfterValidator(_url),
    Wanted("an address that begins with http:// or https://, without credentials; empty for none"),
]
ModelName = Annotated[
    str, Field(pattern=r"^[!-~]{0,200}$"), Wanted("a model's name as its endpoint has it; empty for none")
]
Topics = Annotated[
    str,
    Field(pattern=r"^([^,\x00-\x1f]{1,120}(,[^,\x00-\x1f]{1,120}){0,19})?$"),
    Wanted("up to 20 topics of at most 120 characters, separated by commas"),
]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Dollars = Annotated[float, Field(ge=0, le=10**6, allow_inf_nan=False)]


class Judge(Section):
    """Scores of a sample of the traffic, by metrics that need no reference (docs/judge.md)."""

    enabled: bool = Field(default=True, description="Whether traces are scored; without it no process is started.")
    metrics: Names = Field(
        default="", description="Metrics that are scored; empty takes all that this installation and endpoint can do."
    )
    base_url: Url = Field(
        default="", description="Address of an OpenAI-compatible endpoint, up to `/v1`; without one no model is asked."
    )
    model: ModelName = Field(default="", description="The model that judges.")
    api_key: Token | None = Field(default=None, description="Sent to it as `authorization: Bearer ...`.")
    second_base_url: Url = Field(default="", description="Endpoint of a second judge, best of another family.")
    second_model: ModelName = Field(default="", description="Its model; how far the two agree is exported.")
    second_share: Share = Field(
        default=0.2, description="Share of what the first one scored that the second scores too, and is paid for."
    )
    second_api_key: Token | None = Field(default=None, description="Sent to the second one.")
    embeddings_model: ModelName = Field(
        default="",
        description="Model for embeddings at judge.base_url, for answer_relevancy; else the local one, if installed.",
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] = Field(
        default=30.0, description="Time that the endpoint has for one answer."
    )
    max_tokens: Annotated[int, Field(ge=64, le=10**6)] = Field(
        default=4096, description="Tokens of one answer; a long answer has many statements, and a cut one is no score."
    )
    max_retries: Annotated[int, Field(ge=0, le=20)] = Field(
        default=2, description="Further tries that one sample has by one metric, over all of its calls."
    )
    max_in_flight: Annotated[int, Field(ge=1, le=64)] = Field(default=4, description="Samples that are judged at once.")
    store: PathName = Field(
        default="",
        description="Folder of what waits, what was judged and what was spent; without one a private one is made for the "
        "life of the process.",
    )
    retention_seconds: Annotated[float, Field(ge=60, le=366 * 86400, allow_inf_nan=False)] = Field(
        default=7 * 86400.0,
        description="Results, and what waits, are deleted after this long; content goes once judged.",
    )
    max_store_bytes: Annotated[int, Field(ge=MIB, le=TIB)] = Field(
        default=256 * MIB, description="Bytes of that store; beyond it the oldest of the lowest priority goes first."
    )
    max_queue: Count = Field(default=10_000, description="Jobs that wait to be judged; beyond it as above.")
    topics: Topics = Field(
        default="", description="What the application is for; topic_adherence holds talk against it."
    )
    worker_memory_bytes: Bytes = Field(
        default=GIB, description="Resident memory of the judging process, beyond which it is ended and started anew."
    )
    canary_every_seconds: Annotated[float, Field(ge=0, le=30 * 86400, allow_inf_nan=False)] = Field(
        default=6 * 3600.0, description="Time between two rounds of canaries, which cost money too; 0 is never."
    )
    canaries: FileName = Field(default="", description="A file of canaries of your own, beside the shipped ones.")
    scores_endpoint: Url = Field(default="", description="OTLP/HTTP address that scores are sent to as log events.")


class Sampling(Section):
    """Which share of the traces is scored. The draw is by the trace's id: the same on every replica and in a replay."""

    rate: Share = Field(default=0.05, description="Share of usual traces.")
    destructive_rate: Share = Field(default=1.0, description="Share of traces in which a destructive tool ran.")
    diverging_rate: Share = Field(default=1.0, description="Share of traces with a divergence.")
    failing_rate: Share = Field(default=1.0, description="Share of traces with an error.")
    refusing_rate: Share = Field(default=1.0, description="Share of traces whose answer is a refusal.")
    per_minute: Count = Field(
        default=60, description="Samples a minute of one metric, of all strata; beyond it the rates are lowered."
    )


class Budget(Section):
    """What judging may cost. A call is reserved by an estimate before it is made, and settled by what it took."""

    dollars_per_hour: Dollars = Field(default=1.0, description="For one metric; 0 is no limit.")
    dollars_per_day: Dollars = Field(default=10.0, description="For one metric; 0 is no limit.")
    total_dollars_per_day: Dollars = Field(default=20.0, description="For all metrics together; 0 is no limit.")
    tokens_per_minute: Annotated[int, Field(ge=0, le=10**9)] = Field(
        default=60_000,
        description="Of all metrics together; 0 is no limit. It bounds a model whose price is unknown too.",
    )
    unpriced_tokens_per_hour: Annotated[int, Field(ge=0, le=10**12)] = Field(
        default=400_000,
        description="For one metric, of models whose price is unknown, for which no dollars stand; 0 is no limit.",
    )
    unpriced_tokens_per_day: Annotated[int, Field(ge=0, le=10**12)] = Field(
        default=4_000_000,
        description="For one metric, of models whose price is unknown; 0 is no limit.",
    )


# What says nothing without the other.
NEEDED: tuple[tuple[str, str], ...] = (
    ("base_url", "model"),
    ("model", "base_url"),
    ("api_key", "base_url"),
    ("embeddings_model", "base_url"),
    ("second_base_url", "second_model"),
    ("second_model", "second_base_url"),
    ("second_api_key", "second_base_url"),
    ("second_model", "model"),
)


def judge_faults(judge: Judge, where: dict[Key, str], refused: set[Key]) -> list[Fault]:
    """What the settings of the judge are together; `where` says at which place each was given."""

    def place(key: str) -> str:
        return where.get(("judge", key), f"judge.{key}")

    faults = [
        Fault(place(key), f"judge.{needed} is not set", f"set judge.{needed}, or take judge.{key} out")
        for key, needed in NEEDED
        if getattr(judge, key) and not getattr(judge, needed) and not {("judge", key), ("judge", needed)} & refused
    ]
    unknown = [name for name in dict.fromkeys(judge.metrics.split(",")) if name and name not in BY_NAME]
    otherwise = f"metrics are {', '.join(BY_NAME)}"
    return faults + [
        Fault(place("metrics"), "a name in it is no metric's", did_you_mean(name, BY_NAME, otherwise))
        for name in unknown
    ]


def judge_warnings(judge: Judge, budget: Budget) -> list[str]:
    """Name each setting that is allowed and yet unwise."""
    keys = (("base_url", "api_key"), ("second_base_url", "second_api_key"))
    found = [
        f"judge.{url} is not https and not on this machine: judge.{key} and what is judged go over the network in the clear."
        for url, key in keys
        if getattr(judge, key) is not None and _in_the_clear(getattr(judge, url))
    ]
    asked = [BY_NAME[name] for name in dict.fromkeys(judge.metrics.split(",")) if name in BY_NAME]
    for metric in asked:
        if metric.paid and not judge.base_url:
            found.append(
                f"judge.metrics names {metric.name}, which asks a model, and judge.base_url is not set: all of it ends as "
                "unsupported. Set judge.base_url and judge.model, or take it out."
            )
        if Needs.TOPICS in metric.needs and not judge.topics:
            found.append(
                f"judge.metrics names {metric.name}, and judge.topics is not set: all of it ends as not_applicable. "
                "Set judge.topics, or take it out."
            )
    if judge.base_url and 0 < budget.tokens_per_minute < judge.max_tokens + PROMPT_TOKENS:
        found.append(
            "budget.tokens_per_minute is less than one call may take, which is its prompt and judge.max_tokens: all that asks a "
            f"model ends as over_budget. Set it to {judge.max_tokens + PROMPT_TOKENS} or more, or lower judge.max_tokens."
        )
    return found


def _in_the_clear(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")
