"""Ragas' two tool metrics as Ragas itself computes them, in a process of their own: importing ragas takes seconds.

Only this module and `ragas_messages` import ragas, and only when they are called. Each metric is computed by itself: where
one raises, as ToolCallF1 does for arguments that can't be hashed, the others still stand.
"""

import asyncio
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from lanewatch.adapters.producer_worker import Answer, serve
from lanewatch.adapters.ragas_converters import ragas_version
from lanewatch.adapters.ragas_messages import INSTALL, RagasMissingError, to_ragas
from lanewatch.adapters.worker_process import WorkerFailed, WorkerLimits, WorkerProcess, WorkerUnavailable
from lanewatch.collector.error_place import place_of

F1, STRICT, FLEXIBLE = "tool_call_f1", "tool_call_accuracy", "tool_call_accuracy_flexible"
METRICS = (F1, STRICT, FLEXIBLE)


class RagasNotInstalled(WorkerUnavailable):
    """There is no ragas here. `str()` says how to install it."""


class RagasScores(msgspec.Struct, frozen=True):
    """What the metrics say, from 0 to 1; None where one raised, and then `fault` says what and where."""

    tool_call_f1: float | None
    tool_call_accuracy: float | None
    tool_call_accuracy_flexible: float | None
    fault: str | None = None


class RagasToolMetrics(WorkerProcess):
    """Ragas in its own process. Not for several threads at once; `close` ends it."""

    def __init__(self, limits: WorkerLimits) -> None:
        super().__init__(__name__, (), limits)

    def scores(self, messages: tuple[dict[str, Any], ...], reference: tuple[dict[str, Any], ...]) -> RagasScores:
        """Score message dictionaries against reference calls (`name` and `args`). Raises WorkerFailed and its kinds."""
        if ragas_version() is None:
            raise RagasNotInstalled(INSTALL)
        answer = self.ask({"messages": messages, "reference": reference})
        if "failed" in answer:
            raise WorkerFailed(str(answer["failed"]))
        values = {name: _score(answer.get(name)) for name in METRICS}
        fault = answer.get("fault")
        return RagasScores(**values, fault=fault if isinstance(fault, str) else None)


def _score(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None  # NaN too: it is no answer
    return float(value)


def load_metrics() -> Answer:
    """The metrics, ready to be asked. Raises RagasMissingError."""
    to_ragas(())  # switches its telemetry off before anything of it is imported
    try:
        from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1  # noqa: PLC0415 - see above
    except ImportError as error:
        raise RagasMissingError(INSTALL) from error
    metrics: dict[str, Callable[..., Awaitable[Any]]] = {
        F1: ToolCallF1().ascore,
        STRICT: ToolCallAccuracy(strict_order=True).ascore,
        FLEXIBLE: ToolCallAccuracy(strict_order=False).ascore,
    }

    async def all_of(given: dict[str, Any]) -> dict[str, Any]:
        messages = to_ragas(given["messages"])
        asking = {"type": "ai", "content": "", "metadata": None, "tool_calls": given["reference"]}
        reference = to_ragas([asking])[0].tool_calls or []
        found: dict[str, Any] = {}
        for name, score in metrics.items():
            try:
                found[name] = float((await score(user_input=messages, reference_tool_calls=reference)).value)
            except Exception as error:  # noqa: BLE001 - whatever a metric raises is a finding about it
                found["fault"] = f"{name}: {place_of(error)}"
        return found

    def answer(given: dict[str, Any]) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that lengths differ is what the score says
            return asyncio.run(all_of(given))

    return answer


if __name__ == "__main__":
    serve(load_metrics, *(int(one) for one in sys.argv[1:4]))
