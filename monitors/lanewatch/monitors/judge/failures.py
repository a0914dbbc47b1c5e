"""What a judge's call fails with: the outcome and the reason that its sample then ends with."""

from lanewatch.monitors.judge.results import EvaluationOutcome, Reason


class JudgeFailure(Exception):  # noqa: N818 - what became of a call, not a fault of the program
    """A call, or the whole sample, can't be judged. Carries no text of the endpoint: that may quote traced content."""

    def __init__(self, reason: Reason, outcome: EvaluationOutcome = EvaluationOutcome.UNSCORED) -> None:
        super().__init__(f"{outcome}: {reason}")
        self.reason = reason
        self.outcome = outcome


class InvalidAnswer(Exception):  # noqa: N818
    """A judge's answer of the wrong form, count or range; worth asking once more, never worth a guess."""
