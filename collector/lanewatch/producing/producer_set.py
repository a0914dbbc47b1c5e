"""Several producers, each in its own process, asked for one trace after the other."""

from collections.abc import Callable

from lanewatch.adapters.artifact_messages import OWN
from lanewatch.adapters.producer_process import ProducerFailed, ProducerLimits, ProducerProcess, ProducerTimedOut
from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.artifact_divergence import compare_artifact
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared
from lanewatch.monitors.tools import UNREGISTERED, Registry


class ProducerSet:
    """Producers by name. One thread at a time; `close` ends their processes."""

    def __init__(self, names: tuple[str, ...], limits: ProducerLimits, registry: Registry = UNREGISTERED) -> None:
        """Raises UnknownProducerError for a name that nobody has. Nothing is started yet."""
        self._registry = registry
        self._producers = [ProducerProcess(name, limits) for name in dict.fromkeys(names) if name != OWN]

    def __bool__(self) -> bool:
        return bool(self._producers)

    def start(self) -> None:
        """Start them now, so that what keeps one from starting is known. Raises ProducerFailed."""
        for producer in self._producers:
            producer.start()

    def compare(self, record: TraceRecord, *, stop: Callable[[], bool] = lambda: False) -> tuple[Compared, ...]:
        """Every producer's artifact of a trace, compared; what a producer does wrong is its verdict."""
        return tuple(_compare(producer, record, self._registry) for producer in self._producers if not stop())

    def skipped(self) -> tuple[Compared, ...]:
        """The verdicts where there was no time to ask."""
        return tuple(
            _without(producer, ArtifactOutcome.SKIPPED, "too many traces waited") for producer in self._producers
        )

    def kill(self) -> None:
        """End the processes while another thread may wait for one of them: it is then told that its process ended."""
        for producer in self._producers:
            producer.kill()

    def close(self) -> None:
        """End the processes."""
        for producer in self._producers:
            producer.close()


def _compare(producer: ProducerProcess, record: TraceRecord, registry: Registry) -> Compared:
    try:
        return compare_artifact(record, producer.artifact(record), registry)
    except ProducerTimedOut as failure:
        return _without(producer, ArtifactOutcome.TIMED_OUT, str(failure))
    except ProducerFailed as failure:
        return _without(producer, ArtifactOutcome.FAILED, str(failure))


def _without(producer: ProducerProcess, verdict: ArtifactOutcome, reason: str) -> Compared:
    return Compared(producer.identity.name, verdict, (), reason, producer.identity.owner)
