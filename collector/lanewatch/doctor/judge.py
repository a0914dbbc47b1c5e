"""What the doctor reads off a sidecar's figures of its judge: does it run, is its endpoint reached, is it paid for.

Lanes are judged without it: whatever it lacks, only scores are missing, and each missing one has a typed reason.
"""

from collections.abc import Iterator, Sequence

from lanewatch.config.keys import Config
from lanewatch.doctor.check import Check, Status
from lanewatch.judging.parts import concerns
from lanewatch.monitors.judge.breaker import REMEDIES, Cause
from lanewatch.monitors.judge.canaries.watch import LONGEST_SECONDS, RoundOutcome
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason
from lanewatch.monitors.judge.store_file import REMEDIES as STORE_REMEDIES
from lanewatch.monitors.judge.store_file import Trouble
from lanewatch.monitors.rates import Sample
from lanewatch.pages.samples import total
from lanewatch.shown_text import counted

WORKER, CIRCUIT, QUEUE = "lanewatch_judge_worker_up", "lanewatch_judge_circuit_open", "lanewatch_judge_queue_jobs"
OLDEST = "lanewatch_judge_queue_oldest_seconds"
EVALUATIONS = "lanewatch_evaluations"
LATE = 1.5  # intervals, as LanewatchJudgeCanariesUnknown has it
# A score that is missing for these reasons is one that somebody can bring back.
MISSING = {
    Reason.NOT_INSTALLED: "install what the metric needs, the extra `ragas`, `judge` or `local`, or take the metric out of judge.metrics",
    Reason.NO_ENDPOINT: "set judge.base_url and judge.model, or take the metric out of judge.metrics",
    Reason.WORKER_FAILED: "see the log; raise judge.worker_memory_bytes if it was ended for its memory",
    Reason.SAMPLE_FAILED: "a bug: report it with the log's line that names the place",
}


def judge(config: Config, samples: Sequence[Sample]) -> Iterator[Check]:
    """Every check that the figures allow."""
    if total(samples, QUEUE) is None:
        if config.judge.enabled and samples:
            yield Check(
                "judge", Status.NOTE, "nothing is judged there", "the sidecar runs with other settings than these?"
            )
        return
    yield _worker(config, samples)
    yield from _endpoint(samples)
    for trouble in (trouble for trouble in Trouble if total(samples, "lanewatch_judge_store_faults", trouble=trouble)):
        yield Check("judge store", Status.WRONG, f"it could not be used: {trouble}", STORE_REMEDIES[trouble])
    yield from _missing(samples)
    yield from _spending(samples)
    yield from _families(config, samples)
    yield from _unwatched(config, samples)
    for metric in _labelled(samples, "lanewatch_judge_drift", "metric"):
        told = f"the judge scores its anchors for {metric} otherwise than before: what moved is the judge"
        yield Check(
            "judge canaries", Status.NOTE, told, "was the model changed? Scores before and after do not compare"
        )


def _worker(config: Config, samples: Sequence[Sample]) -> Check:
    up = total(samples, WORKER)
    asked = f"{config.judge.model} is asked" if config.judge.base_url else "no model is asked (judge.base_url)"
    if config.judge.base_url and config.judge.second_base_url:
        asked += (
            f", {config.judge.second_model} of {config.judge.second_share:.0%} of what it scores (judge.second_share)"
        )
    if up is None:
        ended = _without_a_score(samples)
        return Check("judge", Status.OK, f"{ended or 'nothing was to be judged yet'}; {asked}")
    if up:
        return Check("judge", Status.OK, f"its process runs; {asked}")
    restarts = total(samples, "lanewatch_judge_worker_restarts") or 0
    told = f"its process does not run; it was restarted {counted(restarts, 'time')}"
    return Check("judge", Status.WRONG, told, "see the log, and lanewatch_judge_worker_restarts_total by reason")


def _without_a_score(samples: Sequence[Sample]) -> str:
    """How the evaluations of drawn traces ended for which no process was needed; empty where there were none."""
    reasons: dict[str, float] = {}
    for name, have, value in samples:
        if name == EVALUATIONS and value and have["outcome"] != EvaluationOutcome.NOT_SAMPLED:
            reasons[have["reason"]] = reasons.get(have["reason"], 0) + value
    told = ", ".join(f"{reason} {n:g}" for reason, n in sorted(reasons.items(), key=lambda one: (-one[1], one[0])))
    return f"of the traces drawn so far there was nothing to judge (evaluations by reason: {told})" if told else ""


def _endpoint(samples: Sequence[Sample]) -> Iterator[Check]:
    for cause in _labelled(samples, CIRCUIT, "cause"):
        remedy = REMEDIES[Cause(cause)] if cause in set(Cause) else "see the log"
        yield Check("judge endpoint", Status.WRONG, f"nobody is asked for now: {cause}{_waiting(samples)}", remedy)


def _waiting(samples: Sequence[Sample]) -> str:
    """What waits for the end of the pause; empty where nothing does."""
    jobs, oldest = total(samples, QUEUE, state="waiting"), total(samples, OLDEST)
    return f"; {counted(jobs, 'evaluation')} wait for it, the oldest for {oldest or 0:.0f} s" if jobs else ""


def _missing(samples: Sequence[Sample]) -> Iterator[Check]:
    for reason, remedy in MISSING.items():
        lost = total(samples, EVALUATIONS, reason=reason)
        if lost:
            told = f"{counted(lost, 'evaluation')} ended without a score: {reason}"
            yield Check("judge scores", Status.NOTE, told, remedy)


def _spending(samples: Sequence[Sample]) -> Iterator[Check]:
    over = total(samples, EVALUATIONS, outcome=EvaluationOutcome.OVER_BUDGET)
    if over:
        told = f"{counted(over, 'evaluation')} found the budget spent"
        yield Check("judge budget", Status.NOTE, told, "raise [budget], or lower sampling.rate: both are choices")
    unpriced = total(samples, "lanewatch_judge_unpriced_calls")
    if unpriced and total(samples, "lanewatch_judge_calls", outcome="ok"):  # what was not reached has no price either
        told = f"{counted(unpriced, 'call')} of unknown price: they are in no budget of dollars"
        yield Check(
            "judge budget", Status.NOTE, told, "set [prices.MODEL]; budget.tokens_per_minute bounds them until then"
        )


def _families(config: Config, samples: Sequence[Sample]) -> Iterator[Check]:
    """A judge that scores its own kind, and a second one that may share what the first gets wrong."""
    alike = _labelled(samples, "lanewatch_judge_same_family", "metric")
    if alike:
        told = (
            f"the judge is of the family of the model whose answers it scores, which it may favour: {', '.join(alike)}"
        )
        yield Check(
            "judge family",
            Status.NOTE,
            told,
            "take a judge of another family, or hold it against one (judge.second_model)",
        )
    for concern in concerns(config):
        found, _, remedy = concern.partition(". ")
        yield Check("judge family", Status.NOTE, found, remedy)


def _unwatched(config: Config, samples: Sequence[Sample]) -> Iterator[Check]:
    """Rounds of anchors that came to nothing, and those that are too old: nothing tells a judge that has changed from a product then."""
    remedy = (
        "`lanewatch judge check` says what fails; scores are not held back if the judge has changed meanwhile"
        if config.judge.base_url
        else "see the log"
    )
    every = total(samples, "lanewatch_judge_canary_every_seconds")
    for name, have, age in samples:
        if name != "lanewatch_judge_canary_age_seconds" or not every:
            continue
        metric = have.get("metric", "")
        rounds = total(samples, "lanewatch_judge_canary_rounds", metric=metric) or 0
        unknown = total(samples, "lanewatch_judge_canary_rounds", metric=metric, outcome=RoundOutcome.UNKNOWN) or 0
        if age > LATE * every + LONGEST_SECONDS or (unknown and (age > every or rounds == unknown)):
            whole = (
                "no round was whole yet" if rounds == unknown else f"the last whole round is {age / 3600:.1f} hours old"
            )
            told = f"whether the judge of {metric} is still the same is not known: {whole}, {counted(unknown, 'round')} ended unknown"
            yield Check("judge canaries", Status.UNKNOWN, told, remedy)


def _labelled(samples: Sequence[Sample], name: str, label: str) -> list[str]:
    """The label's values where a gauge stands at 1."""
    return sorted(have.get(label, "") for sample, have, value in samples if sample == name and value == 1)
