"""From what a sample's calls came to, to its result: the value or the reason, with who was asked and what it cost."""

import math
from collections.abc import Iterable
from typing import Any

from lanewatch.monitors.judge.asking import Asking
from lanewatch.monitors.judge.failures import JudgeFailure
from lanewatch.monitors.judge.metrics import Metric
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result

_LONGEST_EXPLANATION = 2000
_ROUNDING = 1e-6  # a cosine may come out as 1.0000000000000002


def judged(asking: Asking | None, flags: Iterable[str], **more: Any) -> Result:
    """A result with the asking's model, fingerprint, requests and cost. `more` is its outcome and what belongs to it."""
    if asking is None:
        return Result(flags=tuple(sorted(set(flags))), **more)
    return Result(
        judge_model=asking.model,
        fingerprint=asking.fingerprint,
        request_ids=tuple(asking.request_ids),
        cost=asking.cost,
        flags=tuple(sorted({*asking.flags, *flags})),
        **more,
    )


def failed(asking: Asking | None, flags: Iterable[str], failure: JudgeFailure) -> Result:
    """What a sample ends in that can't be judged."""
    return judged(asking, flags, outcome=failure.outcome, reason=failure.reason)


def scored(
    asking: Asking | None, flags: Iterable[str], metric: Metric, value: float, explanation: str = "", **more: Any
) -> Result:
    """A score; `judge_invalid` where it is no number or out of the metric's range."""
    if not math.isfinite(value) or not metric.low - _ROUNDING <= value <= metric.high + _ROUNDING:
        return failed(asking, flags, JudgeFailure(Reason.JUDGE_INVALID))
    return judged(
        asking,
        flags,
        outcome=EvaluationOutcome.SCORED,
        value=min(max(value, metric.low), metric.high),
        explanation=explanation[:_LONGEST_EXPLANATION] or None,
        **more,
    )


def not_applicable(reason: Reason) -> JudgeFailure:
    """What a metric does not ask of such a sample, as is found while judging it."""
    return JudgeFailure(reason, EvaluationOutcome.NOT_APPLICABLE)


def unsupported(reason: Reason) -> Result:
    """What this installation can't do."""
    return Result(EvaluationOutcome.UNSUPPORTED, reason)
