"""What became of judging one sample by one metric. Every sample ends in exactly one outcome.

Invariants: a value stands beside the outcome `scored` and nowhere else; it is finite and within its metric's range; what
has no value says why, in a word of a closed list. Counts add up: discovered = the sum of the outcomes + what still waits.
"""

import math
from enum import StrEnum

import msgspec

INJECTION_SUSPECTED = "injection_suspected"  # a flag: some text of the sample speaks to the judge


class EvaluationOutcome(StrEnum):
    """The label `outcome` of `lanewatch_evaluations_total`."""

    SCORED = "scored"
    UNSCORED = "unscored"  # it was to be judged, and could not be: never a 0
    NOT_SAMPLED = "not_sampled"  # the draw left it out; its weight is borne by those that were taken
    THROTTLED = "throttled"  # a cap, or a full queue
    OVER_BUDGET = "over_budget"
    NOT_APPLICABLE = "not_applicable"  # the metric does not ask of such a trace
    UNSUPPORTED = "unsupported"  # this evaluator can't, or is not installed


class Reason(StrEnum):
    """Why there is no score; the label `reason` of `lanewatch_evaluations_total`. Empty beside a score."""

    NONE = ""
    # unscored: the evidence
    INCOMPLETE_EVIDENCE = "incomplete_evidence"  # partial, redacted or truncated: a part may hide what decides
    # unscored: the judge
    AUTH = "auth"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    SERVER_ERROR = "server_error"
    BAD_REQUEST = "bad_request"  # the endpoint refuses what was sent (400, 404, 422)
    JUDGE_INVALID = "judge_invalid"  # an answer of the wrong form, count or range
    JUDGE_REFUSED = "judge_refused"
    JUDGE_TRUNCATED = "judge_truncated"
    UNSTABLE = "unstable"  # another order of the same contexts gave another verdict
    CIRCUIT_OPEN = "circuit_open"  # so many failed that no further one was asked
    INTERRUPTED = "interrupted"  # a call was under way when its process died: asking again might be paid twice
    WORKER_FAILED = "worker_failed"
    SAMPLE_FAILED = "sample_failed"  # no sample could be made of the trace: a bug
    STORE_FAILED = "store_failed"  # the disk is full or can't be written: it could not even wait
    EXPIRED = "expired"  # it waited longer than the retention
    # not_applicable
    NO_CONTEXTS = "no_contexts"
    NO_QUESTION = "no_question"
    NO_ANSWER = "no_answer"
    NO_QUOTES = "no_quotes"
    NO_CLAIMS = "no_claims"
    NO_TOPICS = "no_topics"
    ABSTAINED = "abstained"
    REFUSED = "refused"
    # not_sampled, throttled
    RATE = "rate"
    CAP = "cap"
    QUEUE_FULL = "queue_full"
    # over_budget
    MONEY = "money"
    TOKENS = "tokens"
    # unsupported
    NOT_INSTALLED = "not_installed"
    NO_ENDPOINT = "no_endpoint"
    LANGUAGE = "language"
    TOO_LONG = "too_long"


REASONS: dict[EvaluationOutcome, tuple[Reason, ...]] = {
    EvaluationOutcome.SCORED: (Reason.NONE,),
    EvaluationOutcome.UNSCORED: (
        Reason.INCOMPLETE_EVIDENCE,
        Reason.AUTH,
        Reason.RATE_LIMITED,
        Reason.TIMEOUT,
        Reason.UNREACHABLE,
        Reason.SERVER_ERROR,
        Reason.BAD_REQUEST,
        Reason.JUDGE_INVALID,
        Reason.JUDGE_REFUSED,
        Reason.JUDGE_TRUNCATED,
        Reason.UNSTABLE,
        Reason.CIRCUIT_OPEN,
        Reason.INTERRUPTED,
        Reason.WORKER_FAILED,
        Reason.SAMPLE_FAILED,
        Reason.STORE_FAILED,
        Reason.EXPIRED,
    ),
    EvaluationOutcome.NOT_SAMPLED: (Reason.RATE,),
    EvaluationOutcome.THROTTLED: (Reason.CAP, Reason.QUEUE_FULL),
    EvaluationOutcome.OVER_BUDGET: (Reason.MONEY, Reason.TOKENS),
    EvaluationOutcome.NOT_APPLICABLE: (
        Reason.NO_CONTEXTS,
        Reason.NO_QUESTION,
        Reason.NO_ANSWER,
        Reason.NO_QUOTES,
        Reason.NO_CLAIMS,
        Reason.NO_TOPICS,
        Reason.ABSTAINED,
        Reason.REFUSED,
    ),
    EvaluationOutcome.UNSUPPORTED: (Reason.NOT_INSTALLED, Reason.NO_ENDPOINT, Reason.LANGUAGE, Reason.TOO_LONG),
}


class Cost(msgspec.Struct, frozen=True):
    """What was used, over all calls of one result. `dollars` is None where the price is not known, which is not 0."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = None
    seconds: float = 0.0


FREE = Cost(dollars=0.0)


def added(one: Cost, other: Cost) -> Cost:
    """Both costs; dollars are unknown where either's are. What asked nobody cost nothing."""
    dollars = [cost.dollars for cost in (one, other) if cost.calls or cost.dollars is not None]
    return Cost(
        one.calls + other.calls,
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        None if not dollars or None in dollars else sum(filter(None, dollars), 0.0),
        one.seconds + other.seconds,
    )


class Result(msgspec.Struct, frozen=True):
    """One sample by one metric. Raises ValueError where value and outcome contradict each other.

    `explanation` is made of traced content; it is redacted, stored and sent out with a score, and never a label or logged.
    """

    outcome: EvaluationOutcome
    reason: Reason = Reason.NONE
    value: float | None = None
    label: str | None = None
    explanation: str | None = None
    coverage: float | None = None  # share of the answer's claims that could be judged at all, 0 to 1
    judge_model: str | None = None  # as the endpoint names it
    fingerprint: str | None = None  # of the endpoint's serving system, where it tells one
    request_ids: tuple[str, ...] = ()
    cost: Cost = FREE
    flags: tuple[str, ...] = ()  # names of what is to be known beside it: INJECTION_SUSPECTED, usage_estimated
    cached: bool = False
    version: str | None = None  # of the metric, the evaluator and its prompts, together
    embedding_model: str | None = None

    def __post_init__(self) -> None:
        scored = self.outcome is EvaluationOutcome.SCORED
        if scored != (self.value is not None) or scored != (self.reason is Reason.NONE):
            raise ValueError("a value stands beside the outcome scored, and a reason beside every other one")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError("a score is a finite number")


def unscored(reason: Reason, cost: Cost = FREE, **more: object) -> Result:
    """What was to be judged and could not be."""
    return msgspec.structs.replace(Result(EvaluationOutcome.UNSCORED, reason, cost=cost), **more)
