"""From the configuration to the judge's settings; apart from `parts`, so that its modules are loaded only where it is on."""

from typing import Protocol

from lanewatch.config.keys import Config
from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.families import same_family
from lanewatch.monitors.judge.settings import (
    AskingSettings,
    Budgets,
    EndpointSettings,
    Rates,
    StoreLimits,
    WorkerSettings,
)


class Secret(Protocol):
    """A setting that prints as asterisks."""

    def get_secret_value(self) -> str:
        """What it is."""


def names(text: str) -> tuple[str, ...]:
    """The parts of a setting that commas separate."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def rates(config: Config) -> Rates:
    """What the sidecar draws by."""
    sampling = config.sampling
    return Rates(
        rate=sampling.rate,
        destructive_rate=sampling.destructive_rate,
        diverging_rate=sampling.diverging_rate,
        failing_rate=sampling.failing_rate,
        refusing_rate=sampling.refusing_rate,
        per_minute=sampling.per_minute,
    )


def store_limits(config: Config) -> StoreLimits:
    """Bounds of the store."""
    judge = config.judge
    return StoreLimits(judge.max_queue, judge.max_store_bytes, judge.retention_seconds)


def worker_settings(config: Config, folder: str) -> WorkerSettings:
    """What the judging process is told; `folder` is that of the store."""
    judge, budget = config.judge, config.budget
    return WorkerSettings(
        store=folder,
        metrics=names(judge.metrics),
        endpoint=EndpointSettings(judge.base_url, judge.model, _secret(judge.api_key), judge.embeddings_model),
        second=EndpointSettings(judge.second_base_url, judge.second_model, _secret(judge.second_api_key)),
        asking=AskingSettings(judge.timeout_seconds, judge.max_tokens, judge.max_retries, judge.max_in_flight),
        budgets=Budgets(
            budget.dollars_per_hour,
            budget.dollars_per_day,
            budget.total_dollars_per_day,
            budget.tokens_per_minute,
            budget.unpriced_tokens_per_hour,
            budget.unpriced_tokens_per_day,
        ),
        prices={model: Price(entry.input, entry.output) for model, entry in config.prices.items()},
        limits=store_limits(config),
        topics=names(judge.topics),
        memory_bytes=judge.worker_memory_bytes,
        canary_every_seconds=judge.canary_every_seconds,
        canaries=judge.canaries,
    )


def summary(config: Config) -> list[str]:
    """What a person sees of the judge when it starts. Empty where it is off."""
    judge = config.judge
    if not judge.enabled:
        return []
    asked = f"{judge.model} at {judge.base_url}" if judge.base_url else "no model: the offline support signals alone"
    if judge.second_base_url:
        asked += f", and {judge.second_model} of {judge.second_share:.0%} of what it scores"
    kept = "in judge.store" if judge.store else "in a private folder, for the life of the process"
    sent = f", scores go to {judge.scores_endpoint}" if judge.scores_endpoint else ""
    return [f"Judge: {asked}; {config.sampling.rate:.0%} of usual traces, kept {kept}{sent}."]


def concerns(config: Config) -> list[str]:
    """What is allowed, and makes scores tell less than they seem to."""
    judge = config.judge
    if not same_family(judge.model, judge.second_model):
        return []
    told = (
        f"The second judge ({judge.second_model}) is of the first one's family ({judge.model}): they share what they get wrong, and their "
        "agreement tells less. Take one of another family as judge.second_model"
    )
    return [told]


def _secret(token: Secret | None) -> str | None:
    return None if token is None else token.get_secret_value()
