"""What a judge is shown of one trace: the redacted question, answer, contexts and messages, and no more."""

from typing import Any

import msgspec

from lanewatch.adapters.records import Disposition, Evidence

LIVE = "live"  # the purpose of a job of the traffic itself
CANARY = "canary"  # the purpose of a job whose sample is Lanewatch's own, so that the judge is watched
SECOND = "second"  # the purpose of a job that a second judge scores, to be held against the first


class Sample(msgspec.Struct, frozen=True):
    """The material of one trace. All texts are traced content, redacted already. Times are of events.

    `messages` are Ragas' own message dicts, `contexts` the documents' texts by rank. None: not recorded.
    """

    trace_id: str
    revision: int
    service: str
    time_ns: int
    span_id: str | None = None  # of the model call that gave the answer
    response_id: str | None = None
    question: str | None = None
    answer: str | None = None
    contexts: tuple[str, ...] = ()
    messages: tuple[dict[str, Any], ...] = ()
    disposition: Disposition | None = None
    evidence: dict[str, Evidence] = {}
    model: str | None = None  # that gave the answer
    provider: str | None = None
    n_answer_tokens: int | None = None
    topics: tuple[str, ...] = ()  # of this sample alone, before the configured ones: a canary brings its own


class Job(msgspec.Struct, frozen=True):
    """A sample that was drawn to be judged by one metric. `weight` is 1 / inclusion probability."""

    metric: str
    sample: Sample
    weight: float = 1.0
    stratum: str = ""
    priority: int = 0  # the higher is judged near the end of the money, and evicted last: strata of higher risk
    purpose: str = LIVE  # or second, canary, check, compare: never in the product's series
