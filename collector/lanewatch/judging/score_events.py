"""A score, or a typed missing one, as the event `gen_ai.evaluation.result` on the span that was judged.

Names are those of the GenAI semantic conventions (model/gen-ai/events.yaml); what they have no word for is under
`lanewatch.`. A missing score has no value at all: its `error.type` is the reason, so that no backend averages a 0.
"""

import msgspec

from lanewatch.monitors.judge.agreement import HALF
from lanewatch.monitors.judge.families import same_family
from lanewatch.monitors.judge.metrics import Metric
from lanewatch.monitors.judge.results import EvaluationOutcome, Result
from lanewatch.monitors.judge.samples import LIVE, Job

EVENT_NAME = "gen_ai.evaluation.result"
HIGH, LOW = "high", "low"
SAME_FAMILY = "same_family"  # a flag
LONGEST_EXPLANATION = 4_000  # characters

Value = str | float | int | bool


class ScoreEvent(msgspec.Struct, frozen=True):
    """One log record. Ids are hexadecimal, times in nanoseconds; `span_id` is None where the judged span is not known."""

    trace_id: str
    span_id: str | None
    time_ns: int
    attributes: dict[str, Value]

    def size(self) -> int:
        """About the bytes it takes in memory."""
        return 600 + sum(
            len(key) + (len(value) if isinstance(value, str) else 8) for key, value in self.attributes.items()
        )


def _label(result: Result) -> str:
    """Of what has no verdict's own: the half in which the score lies, cut as for the agreement of judges; the outcome without one."""
    if result.value is None:
        return result.outcome
    return HIGH if result.value >= HALF else LOW


def _flags(job: Job, result: Result) -> tuple[str, ...]:
    """With whether the judge scores an answer of its own family, which it may favour."""
    alike = same_family(result.judge_model, job.sample.model) if result.value is not None else None
    return (*result.flags, SAME_FAMILY) if alike else result.flags


def score_event(job: Job, metric: Metric, result: Result, now_ns: int) -> ScoreEvent | None:
    """The event of a finished job; None for what is no product traffic (canaries, checks)."""
    if job.purpose != LIVE:
        return None
    sample = job.sample
    told: dict[str, Value | None] = {
        "gen_ai.evaluation.name": metric.name,
        "gen_ai.evaluation.score.value": result.value,
        "gen_ai.evaluation.score.label": result.label or _label(result),
        "gen_ai.evaluation.explanation": result.explanation and result.explanation[:LONGEST_EXPLANATION],
        "gen_ai.response.id": sample.response_id,
        "error.type": result.reason if result.outcome is not EvaluationOutcome.SCORED else None,
        "lanewatch.evaluation.outcome": result.outcome,
        "lanewatch.evaluation.lane": metric.lane,
        "lanewatch.evaluation.evaluator": metric.evaluator,
        "lanewatch.evaluation.version": result.version or metric.version,
        "lanewatch.evaluation.weight": job.weight,
        "lanewatch.evaluation.coverage": result.coverage,
        "lanewatch.evaluation.flags": ",".join(_flags(job, result)) or None,
        "lanewatch.evaluation.service": sample.service,
        "lanewatch.judge.model": result.judge_model,
        "lanewatch.judge.fingerprint": result.fingerprint,
        "lanewatch.judge.embedding_model": result.embedding_model,
    }
    # Enumerations are text on the wire; some encoders refuse subclasses of it.
    attributes = {key: str(v) if isinstance(v, str) else v for key, v in told.items() if v is not None}
    return ScoreEvent(sample.trace_id, sample.span_id, now_ns, attributes)
