"""Pushed or replayed artifacts with reference calls, compared: by our own comparison, and by Ragas where it is installed."""

from typing import Any

import msgspec

from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.ragas_tool_metrics import RagasNotInstalled, RagasToolMetrics
from lanewatch.adapters.worker_process import WorkerFailed, WorkerLimits, WorkerTimedOut
from lanewatch.monitors.reference_calls import (
    Agreement,
    RagasToolScores,
    ReferenceCompared,
    beside_each_other,
    compare_reference,
)
from lanewatch.monitors.tools import UNREGISTERED, Registry


class Referenced(msgspec.Struct, frozen=True):
    """An artifact, the calls that a test expects of it, and the trace that it is of; None where that never came."""

    artifact: Artifact
    reference: tuple[dict[str, Any], ...]
    trace_id: str | None = None
    service: str | None = None
    size: int = 0


class ReferenceScorer:
    """Owns Ragas' process, which starts with the first artifact. One thread at a time; `close` ends it."""

    def __init__(self, limits: WorkerLimits, registry: Registry = UNREGISTERED) -> None:
        self._metrics = RagasToolMetrics(limits)
        self._registry = registry

    def compare(self, given: Referenced) -> ReferenceCompared:
        """Both comparisons."""
        own = compare_reference(given.artifact, given.reference, self._registry)
        return ReferenceCompared(given.artifact.producer, own, self.scores(given))

    def scores(self, given: Referenced) -> RagasToolScores:
        """Ragas' alone; never raises."""
        try:
            found = self._metrics.scores(given.artifact.messages, given.reference)
        except RagasNotInstalled as missing:
            return RagasToolScores(Agreement.UNSUPPORTED, reason=str(missing))
        except WorkerTimedOut as late:
            return RagasToolScores(Agreement.TIMED_OUT, reason=str(late))
        except WorkerFailed as failure:
            return RagasToolScores(Agreement.FAILED, reason=str(failure))
        return beside_each_other(
            found.tool_call_f1, found.tool_call_accuracy, found.tool_call_accuracy_flexible, found.fault
        )

    def kill(self) -> None:
        """End the process while another thread may wait for it."""
        self._metrics.kill()

    def close(self) -> None:
        """End the process."""
        self._metrics.close()
