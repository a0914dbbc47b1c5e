"""The evaluators that a worker can have, each made only where one of its metrics is asked, and imported only then.

Whoever adds one adds a row: a function that is given the means of a worker and returns what it made of them.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from lanewatch.monitors.judge.active import active_metrics
from lanewatch.monitors.judge.calls import CallEnd, Journal, Purse
from lanewatch.monitors.judge.evaluating import Evaluates
from lanewatch.monitors.judge.metrics import Evaluator, Metric
from lanewatch.monitors.judge.settings import WorkerSettings


class Means(msgspec.Struct, frozen=True):
    """What an evaluator is made of: the settings, who writes calls down and who pays for them, and who is told of each."""

    settings: WorkerSettings
    journal: Journal
    purse: Purse
    told: Callable[[CallEnd], None]
    made: dict[str, Any] = {}  # what evaluators share: one endpoint has one breaker


class Loaded(msgspec.Struct, frozen=True):
    """An evaluator that is ready. `model` and `version` are a part of its results' keys: the version changes with its prompts.
    `embeds` are the metrics that use the `embedding_model`. `circuits` tells which causes keep it from being asked now, `wait` for how many seconds: 0 where it may be.
    """

    evaluates: Evaluates
    model: str = ""
    version: str = "1"
    circuits: Callable[[], dict[str, bool]] = dict
    wait: Callable[[], float] = float
    embedding_model: str = ""
    embeds: frozenset[str] = frozenset()

    def signature(self, metric: Metric) -> tuple[str, str, str]:
        """Who makes a metric's scores here: version (of metric, evaluator and prompts), model, embedding model; "" for none. The model
        is the configured one: an endpoint may name another in its answers.
        """
        embedding = self.embedding_model if metric.name in self.embeds else ""
        return f"{metric.version}/{self.version}", self.model if metric.paid else "", embedding


Factory = Callable[[Means], Loaded]


def _ragas(means: Means) -> Loaded:
    from lanewatch.monitors.judge.asked_evaluators import ragas_evaluator  # noqa: PLC0415

    return ragas_evaluator(means)


def _entailment(means: Means) -> Loaded:
    from lanewatch.monitors.judge.asked_evaluators import entailment_evaluator  # noqa: PLC0415

    return entailment_evaluator(means)


def _support(_: Means) -> Loaded:
    from lanewatch.monitors.judge.support.evaluator import SupportEvaluator  # noqa: PLC0415

    return Loaded(SupportEvaluator())


def _embedding(_: Means) -> Loaded:
    from lanewatch.monitors.embedding import local_embedder  # noqa: PLC0415
    from lanewatch.monitors.judge.support.embedding import EmbeddingEvaluator  # noqa: PLC0415

    embedder = local_embedder()
    return Loaded(
        EmbeddingEvaluator(embedder),
        model=embedder.name,
        embedding_model=embedder.name,
        embeds=frozenset({"embedding_support"}),
    )


FACTORIES: Mapping[Evaluator, Factory] = MappingProxyType(
    {
        Evaluator.RAGAS: _ragas,
        Evaluator.ENTAILMENT: _entailment,
        Evaluator.SUPPORT: _support,
        Evaluator.EMBEDDING: _embedding,
    }
)


def load_second(
    means: Means, factories: Mapping[Evaluator, Factory] = FACTORIES
) -> tuple[dict[Evaluator, Loaded], dict[str, str]]:
    """Those that ask a model, made once more for the second judge's endpoint, with a breaker of its own; as `load_evaluators`."""
    if not means.settings.second:
        return {}, {}
    settings = msgspec.structs.replace(means.settings, endpoint=means.settings.second)
    other = Means(settings, means.journal, means.purse, means.told)
    asking = {metric.evaluator for metric in active_metrics(settings) if metric.paid}
    loaded, failed = load_evaluators(other, {name: factories[name] for name in asking if name in factories})
    return loaded, {name: why for name, why in failed.items() if name in asking}


def load_evaluators(
    means: Means, factories: Mapping[Evaluator, Factory] = FACTORIES
) -> tuple[dict[Evaluator, Loaded], dict[str, str]]:
    """All that are asked; and those that could not be made, with the kind of the error that kept them."""
    loaded: dict[Evaluator, Loaded] = {}
    failed: dict[str, str] = {}
    asked = {metric.evaluator for metric, why in active_metrics(means.settings).items() if why is None}
    for evaluator in sorted(asked):
        factory = factories.get(evaluator)
        if factory is None:
            failed[evaluator] = "not in this version"
            continue
        try:
            loaded[evaluator] = factory(means)
        except Exception as error:  # noqa: BLE001 - a library that can't be imported must not take the others with it
            failed[evaluator] = type(error).__name__
    return loaded, failed
