"""The canary watch: when rounds begin, and what it makes of them."""

from collections.abc import Callable

import msgspec
import pytest
from lanewatch.monitors.judge.canaries.items import Canary, canaries_of, shipped
from lanewatch.monitors.judge.canaries.watch import (
    LEAST_SECONDS,
    LONGEST_SECONDS,
    PRIORITY,
    RETRY_SECONDS,
    CanaryWatch,
    RoundOutcome,
    WatchState,
)
from lanewatch.monitors.judge.results import Cost, EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.samples import Job, Sample

METRIC = "faithfulness"
CANARIES = shipped()
ANCHORS = canaries_of(METRIC, CANARIES)
EVERY = 6 * 3600.0
Judge = Callable[[Canary], Result]


def scored(value: float, model: str = "judge-1", fingerprint: str | None = None) -> Result:
    """A score that cost a cent."""
    return Result(
        EvaluationOutcome.SCORED,
        value=value,
        judge_model=model,
        fingerprint=fingerprint,
        cost=Cost(calls=2, input_tokens=100, output_tokens=10, dollars=0.01),
    )


def sound(canary: Canary) -> Result:
    """As expected: the middle of the band."""
    expected = canary.expect[METRIC]
    assert expected.low is not None
    assert expected.high is not None
    return scored((expected.low + expected.high) / 2)


def mild(canary: Canary) -> Result:
    """Everything is fine."""
    return scored(1.0, "judge-2")


def down(canary: Canary) -> Result:
    """The endpoint can't be reached."""
    return unscored(Reason.UNREACHABLE)


def empty(canary: Canary) -> Result:
    """There is nothing to judge, whatever is shown."""
    return Result(EvaluationOutcome.NOT_APPLICABLE, Reason.NO_CLAIMS, judge_model="judge-1")


def watch(state: WatchState | None = None, every: float = EVERY) -> CanaryWatch:
    """A watch of one metric."""
    return CanaryWatch([METRIC], CANARIES, every, state)


def play(watched: CanaryWatch, judge: Judge, now: float) -> list[Job]:
    """A round, judged; its jobs."""
    jobs = watched.due(now)
    by_trace = {f"-{canary.id}": canary for canary in ANCHORS}
    for job in jobs:
        canary = next(one for end, one in by_trace.items() if job.sample.trace_id.endswith(end))
        watched.take(job, judge(canary), now + 1)
    return jobs


def test_the_first_round_is_the_anchor_and_the_next_begins_on_schedule() -> None:
    """At once, and then after the set time; all of a metric's anchors, marked so that they never count as traffic."""
    watched = watch()
    first = play(watched, sound, 1000)
    early = watched.due(1000 + EVERY - 1)
    second = watched.due(1000 + EVERY)

    assert len(first) == len(ANCHORS) == len(second)
    assert early == []
    assert {job.purpose for job in first} == {"canary"}
    assert {job.priority for job in first} == {PRIORITY}
    assert watched.state.metrics[METRIC].outcome is RoundOutcome.ANCHOR


def test_an_unchanged_judge_is_steady_and_another_one_drifts_until_it_is_adopted() -> None:
    """A shift holds back until somebody says that it was wanted."""
    watched = watch()
    play(watched, sound, 1000)
    play(watched, sound, 1000 + EVERY)
    steady = watched.drifting()
    play(watched, mild, 1000 + 2 * EVERY)
    drifting = watched.drifting()
    adopted = watched.adopt(METRIC)
    play(watched, mild, 1000 + 3 * EVERY)

    assert (steady, drifting, adopted) == (frozenset(), frozenset({METRIC}), True)
    assert watched.state.metrics[METRIC].outcome is RoundOutcome.STEADY
    assert watched.state.metrics[METRIC].n_rounds == {"anchor": 1, "steady": 2, "shifted": 1}
    assert watched.state.metrics[METRIC].dollars == pytest.approx(4 * len(ANCHORS) * 0.01)


def test_a_judge_that_can_not_be_asked_is_unknown_and_neither_drifts_nor_is_well() -> None:
    """Nothing is held back by it, and what was known of the last whole round is kept."""
    watched = watch()
    play(watched, sound, 1000)
    play(watched, down, 1000 + EVERY)
    state = watched.state.metrics[METRIC]

    assert state.outcome is RoundOutcome.UNKNOWN
    assert watched.drifting() == frozenset()
    assert state.last is not None
    assert len(state.last.scores) == len(ANCHORS)
    assert not watch().adopt(METRIC)


def test_a_judge_that_finds_nothing_to_judge_any_more_drifts() -> None:
    """It answers, in form, and leaves no score: that is neither unknown nor steady."""
    watched = watch()
    play(watched, sound, 1000)
    play(watched, empty, 1000 + EVERY)
    state = watched.state.metrics[METRIC]

    assert state.outcome is RoundOutcome.SHIFTED
    assert watched.drifting() == {METRIC}
    assert [one.group for one in state.shifts if one.is_shifted] == ["missing"]


def test_a_judge_that_has_shifted_has_not_come_back_by_not_answering() -> None:
    """It drifts until a whole round says otherwise; one that was steady is unknown then."""
    watched = watch()
    play(watched, sound, 1000)
    play(watched, mild, 1000 + EVERY)
    play(watched, down, 1000 + 2 * EVERY)
    silent = watched.drifting()
    play(watched, sound, 1000 + 3 * EVERY)
    back = watched.state.metrics[METRIC].drifts
    play(watched, down, 1000 + 4 * EVERY)

    assert (silent, back, watched.state.metrics[METRIC].drifts) == (frozenset({METRIC}), False, None)


def test_another_model_or_fingerprint_asks_for_a_round_but_not_for_many() -> None:
    """The same one again does not, nor does a new one within the hour."""
    watched = watch()
    play(watched, sound, 1000)
    watched.saw(METRIC, scored(0.5, "judge-1"), 1100)
    same = watched.due(1000 + LEAST_SECONDS)
    watched.saw(METRIC, scored(0.5, "judge-1", "fp_2"), 1200)
    soon = watched.due(1000 + LEAST_SECONDS - 1)
    later = watched.due(1000 + LEAST_SECONDS)

    assert (same, soon) == ([], [])
    assert len(later) == len(ANCHORS)


def test_a_change_back_asks_for_a_round_too() -> None:
    """A to B to A: what B's drift held back is released by a round, and not by the schedule hours later."""
    watched = watch(every=24 * 3600.0)
    play(watched, sound, 1000)
    watched.saw(METRIC, scored(0.5, "judge-2"), 2000)
    play(watched, mild, 1000 + LEAST_SECONDS)
    drifted = watched.drifting()
    watched.saw(METRIC, scored(0.5, "judge-1"), 2000 + LEAST_SECONDS)
    back = play(watched, sound, 1000 + 2 * LEAST_SECONDS)

    assert drifted == {METRIC}
    assert len(back) == len(ANCHORS)
    assert watched.drifting() == frozenset()


def test_what_was_found_before_the_last_round_or_in_the_cache_is_no_change() -> None:
    """It tells who judged then."""
    watched = watch()
    play(watched, sound, 1000)
    watched.saw(METRIC, scored(0.5, "judge-2"), 900)
    watched.saw(METRIC, msgspec.structs.replace(scored(0.5, "judge-2"), cached=True), 2000)

    assert watched.due(1000 + LEAST_SECONDS) == []


def test_fingerprints_that_come_and_go_ask_ever_more_seldom() -> None:
    """An endpoint has several machines: a new one asks after an hour, one that was seen after 1, 2, 4 hours."""
    watched = watch(every=24 * 3600.0)
    rounds = []
    for hour in range(24):
        name = f"fp_{hour % 2}"
        watched.saw(METRIC, scored(0.5, "judge-1", name), 1000 + hour * LEAST_SECONDS - 1)

        def answer(canary: Canary, name: str = name) -> Result:
            return msgspec.structs.replace(sound(canary), fingerprint=name)

        if play(watched, answer, 1000 + hour * LEAST_SECONDS):
            rounds.append(hour)

    assert rounds == [0, 1, 2, 4, 8, 16]


def test_a_round_that_ended_unknown_is_asked_again_after_ever_longer() -> None:
    """A quarter of an hour, a half, and so on up to the interval; the change that asked for it is not forgotten."""
    watched = watch()
    play(watched, sound, 1000)
    watched.saw(METRIC, scored(0.5, "judge-2"), 2000)
    begun = []
    for quarter in range(4, 60):
        now = 1000 + quarter * RETRY_SECONDS
        if play(watched, down if quarter < 19 else mild, now + 1):
            begun.append(quarter)

    assert begun == [4, 6, 9, 14, 23, 47]
    assert watched.drifting() == {METRIC}


def test_a_clock_that_was_set_back_begins_the_interval_anew() -> None:
    """By a year: else there would be no round before it has passed."""
    watched = watch()
    play(watched, sound, 40_000_000)
    watched.due(1000)
    last = watched.state.metrics[METRIC].last

    assert last is not None
    assert last.at == 1000
    assert watched.due(1000 + EVERY - 1) == []
    assert len(watched.due(1000 + EVERY)) == len(ANCHORS)


def test_what_a_round_cost_is_what_is_known_and_how_much_is_not() -> None:
    """One anchor that asked nobody, or at a price that nobody knows, does not turn the whole into nothing."""
    watched = watch()
    odd = {ANCHORS[0].id: unscored(Reason.CIRCUIT_OPEN, Cost()), ANCHORS[1].id: scored(0.5)}
    odd[ANCHORS[1].id] = msgspec.structs.replace(odd[ANCHORS[1].id], cost=Cost(calls=3, input_tokens=9))
    play(watched, lambda canary: odd.get(canary.id) or sound(canary), 1000)
    state = watched.state.metrics[METRIC]

    assert state.dollars == pytest.approx((len(ANCHORS) - 2) * 0.01)
    assert state.n_unpriced == 1


def test_a_metric_with_too_few_anchors_that_must_be_scored_has_no_rounds() -> None:
    """Each would end unknown, and be asked again for ever."""
    assert CanaryWatch(["negation_agreement"], CANARIES, EVERY).due(1000) == []


def test_a_round_that_does_not_end_ends_with_what_it_has() -> None:
    """After two hours; what comes later is of no round."""
    watched = watch()
    jobs = watched.due(1000)
    watched.take(jobs[0], scored(1.0), 1001)
    watched.due(1000 + LONGEST_SECONDS + 1)
    watched.take(jobs[1], scored(1.0), 1000 + LONGEST_SECONDS + 2)
    state = watched.state.metrics[METRIC]

    assert state.outcome is RoundOutcome.UNKNOWN
    assert state.under_way is None
    assert state.dollars == pytest.approx(0.01)


def test_a_restart_goes_on_where_it_was() -> None:
    """The state survives as JSON, a round that is under way too; another set of anchors begins anew."""
    watched = watch()
    play(watched, sound, 1000)
    jobs = watched.due(1000 + EVERY)
    watched.take(jobs[0], scored(1.0), 1001 + EVERY)
    saved = msgspec.json.decode(msgspec.json.encode(watched.state), type=WatchState)
    again = watch(saved)
    other = CanaryWatch([METRIC], CANARIES[:60], EVERY, saved)

    assert again.state.metrics[METRIC] == watched.state.metrics[METRIC]
    assert again.due(1001 + EVERY) == []
    assert other.state.metrics[METRIC].anchor is None


def test_results_twice_or_of_other_jobs_change_nothing() -> None:
    """Each anchor counts once a round."""
    watched = watch()
    jobs = watched.due(1000)
    for _ in range(2):
        watched.take(jobs[0], scored(1.0), 1001)
    watched.take(Job("unknown", jobs[0].sample), scored(1.0), 1001)
    watched.take(Job(METRIC, Sample("live", 0, "shop", 0)), scored(1.0), 1001)
    under_way = watched.state.metrics[METRIC].under_way

    assert under_way is not None
    assert len(under_way.scores) == 1
    assert under_way.cost.dollars == 0.01


def test_without_an_interval_there_are_no_rounds() -> None:
    """canary_every_seconds = 0."""
    assert watch(every=0).due(1000) == []


def test_the_means_of_a_round_are_by_kind() -> None:
    """What dashboards show."""
    watched = watch()
    play(watched, sound, 1000)
    means = watched.means(METRIC)

    assert list(means) == ["contradicted", "evasive", "supported", "unsupported"]
    assert means["supported"] > 0.8 > means["unsupported"]
