"""What a judge's scores tell of the judge: length, family, and the second judge."""

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.judge.agreement import FEWEST, kappa, rank_correlation
from lanewatch.monitors.judge.bias import LAST, SECOND_SHARE, WINDOW, BiasWatch, for_second_judge
from lanewatch.monitors.judge.families import families_of, same_family
from lanewatch.monitors.judge.figures import Figures
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.samples import SECOND, Job, Sample
from scipy.stats import spearmanr  # type: ignore[import-untyped]

METRIC = "faithfulness"
NUMBERS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=FEWEST, max_size=60)


def told(figures: Figures) -> dict[tuple[str, tuple[str, ...]], float]:
    """Every gauge of biases that is there."""
    names = {"lanewatch_judge_agreement", "lanewatch_judge_length_correlation", "lanewatch_judge_same_family"}
    return {
        (m.name, labels): value for m, values in figures.values() if m.name in names for labels, value in values.items()
    }


def watched(ended: Iterable[tuple[Job, Result]]) -> dict[tuple[str, tuple[str, ...]], float]:
    """What is told after these."""
    figures = Figures([METRIC])
    watch = BiasWatch(figures)
    for job, result in ended:
        watch.see(job, result)
    return told(figures)


def job(number: int, answer: str | None = "x", model: str | None = None, purpose: str = "live") -> Job:
    """A trace's job."""
    return Job(METRIC, Sample(str(number), 0, "shop", 0, answer=answer, model=model), purpose=purpose)


def score(value: float, model: str | None = None) -> Result:
    """A score by a model."""
    return Result(EvaluationOutcome.SCORED, value=value, judge_model=model)


@given(NUMBERS)
def test_the_rank_correlation_is_spearmans(pairs: list[tuple[int, int]]) -> None:
    """With ties, as scipy has it; nothing where a side never varies."""
    found = rank_correlation(pairs)
    if any(len(set(side)) == 1 for side in zip(*pairs, strict=True)):
        assert found is None
        return

    assert found is not None
    assert found.value == pytest.approx(spearmanr(*zip(*pairs, strict=True)).statistic)
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9


def test_the_interval_is_that_of_bonett_and_wright() -> None:
    """Of 20 pairs, all but one in order."""
    pairs = [(float(n), float(n)) for n in range(19)] + [(19.0, -1.0)]
    found = rank_correlation(pairs)
    assert found is not None
    reach = 1.959964 * np.sqrt((1 + found.value**2 / 2) / 17)

    assert (found.low, found.high) == pytest.approx(tuple(np.tanh(np.arctanh(found.value) + np.array((-reach, reach)))))


def test_nineteen_intervals_in_twenty_hold_the_correlation() -> None:
    """Of normal pairs whose ranks correlate by 0.48."""
    source = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        x = source.normal(size=80)
        y = 0.5 * x + np.sqrt(1 - 0.25) * source.normal(size=80)
        found = rank_correlation(list(zip(x, y, strict=True)))
        held += found is not None and found.low <= 6 / np.pi * np.arcsin(0.25) <= found.high

    assert held >= 0.92 * 300


def test_kappa_is_cohens() -> None:
    """The example of his paper's form: 20 and 15 agreed, 5 and 10 not: (0.7 - 0.5) / 0.5."""
    pairs = [(1.0, 1.0)] * 20 + [(1.0, 0.0)] * 5 + [(0.0, 1.0)] * 10 + [(0.0, 0.0)] * 15
    found = kappa(pairs)

    assert found is not None
    assert found.value == pytest.approx(0.4)
    assert 0.1 < found.low < 0.4 < found.high < 0.65


def test_full_agreement_is_not_certain() -> None:
    """Thirty of thirty may be nineteen of twenty."""
    found = kappa([(1.0, 1.0), (0.0, 0.0)] * 15)

    assert found is not None
    assert found.value == 1
    assert found.low < 0.85


def test_two_judges_that_always_say_yes_tell_nothing_of_agreement() -> None:
    """Both by kappa and by ranks."""
    assert kappa([(1.0, 1.0)] * 100) is None
    assert rank_correlation([(1.0, 1.0)] * 100) is None


def test_few_pairs_tell_nothing() -> None:
    """Absent, not 0."""
    assert kappa([(1.0, 1.0), (0.0, 0.0)] * 5) is None
    assert rank_correlation([(1.0, 1.0), (0.0, 0.0)] * 5) is None


def test_a_judge_that_favours_long_answers_is_told() -> None:
    """With an interval away from 0; one that does not has one around it."""
    source = random.Random(2)
    lengths = [source.randrange(10, 900) for _ in range(200)]
    vain = watched((job(n, "x" * length), score(min(1.0, length / 1000))) for n, length in enumerate(lengths))
    fair = watched((job(n, "x" * length), score(source.random())) for n, length in enumerate(lengths))

    assert vain["lanewatch_judge_length_correlation", (METRIC, "low")] > 0.9
    bounds = [fair["lanewatch_judge_length_correlation", (METRIC, bound)] for bound in ("low", "high")]
    assert bounds[0] < 0 < bounds[1]


def test_what_is_told_of_length_is_of_the_last_scores() -> None:
    """A judge that was vain once is forgotten."""
    vain = [(job(n, "x" * (n + 1)), score(n / WINDOW)) for n in range(WINDOW)]
    modest = [(job(n, "x" * (n + 1)), score(1 - n / WINDOW)) for n in range(WINDOW)]

    assert watched(vain + modest)["lanewatch_judge_length_correlation", (METRIC, "high")] < -0.9


def test_a_judge_of_the_generators_family_is_told() -> None:
    """Of another one it is 0; of one that nobody knows it is absent."""
    own = watched([(job(1, model="gpt-4o-mini"), score(1.0, "gpt-4.1"))])
    other = watched([(job(1, model="claude-haiku-4-5"), score(1.0, "gpt-4.1"))])
    unknown = watched([(job(1, model="my-model"), score(1.0, "gpt-4.1")), (job(2), score(1.0))])

    assert own == {("lanewatch_judge_same_family", (METRIC,)): 1}
    assert other == {("lanewatch_judge_same_family", (METRIC,)): 0}
    assert unknown == {}


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-5.1-mini", "openai"),
        ("o3-mini", "openai"),
        ("openai/o4-mini", "openai"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "anthropic"),
        ("models/gemini-2.5-flash", "google"),
        ("meta-llama/Llama-3.3-70B-Instruct", "meta"),
        ("mistral-large-latest", "mistral"),
        ("Qwen2.5-7B-Instruct", "qwen"),
        ("amazon.nova-lite-v1:0", "amazon"),
        ("command-r-plus", "cohere"),
        ("phi4", "microsoft"),
        ("codex-mini-latest", "openai"),
        ("computer-use-preview", "openai"),
        ("text-embedding-3-small", "openai"),
    ],
)
def test_a_family_is_told_by_a_name(model: str, family: str) -> None:
    """As providers and gateways write them."""
    assert family in families_of(model)
    assert same_family(model, model) is True


@pytest.mark.parametrize("model", ["my-judge", "philosophy-7b", "pro1-mini", "recommander", "", None])
def test_a_name_that_tells_no_family_is_unknown(model: str | None) -> None:
    """A part of a word is none."""
    assert families_of(model) == frozenset()


def test_two_judges_are_held_against_each_other_on_the_same_samples() -> None:
    """Pairs by trace; the second's scores are in nothing else."""
    source = random.Random(3)
    values = [source.random() for _ in range(100)]
    first = [(job(n), score(value)) for n, value in enumerate(values)]
    second = [(job(n, purpose=SECOND), score(1 - (1 - value) ** 2)) for n, value in enumerate(values)]
    found = watched(first + second)

    assert found["lanewatch_judge_agreement", (METRIC, "correlation", "value")] == pytest.approx(1)
    assert 0 < found["lanewatch_judge_agreement", (METRIC, "kappa", "value")] < 1
    assert not [name for name, _ in watched(second) if name == "lanewatch_judge_agreement"]


def test_a_sample_is_one_pair_however_often_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one wait for ever for a second opinion that does not come."""
    monkeypatch.setattr("lanewatch.monitors.judge.bias.UNPAIRED", FEWEST)
    first = [(job(n), score(n % 2)) for n in range(2 * FEWEST)]
    oldest, latest = (
        [(job(n, purpose=SECOND), score(n % 2)) for n in some] for some in (range(FEWEST), range(FEWEST, 2 * FEWEST))
    )

    assert watched([*first, *oldest]) == {}
    assert watched([*first, *latest[1:], *latest[1:]]) == {}
    assert len(watched([*first, *latest])) == 6


@pytest.mark.parametrize("purpose", ["canary", "check", "compare"])
def test_only_live_scores_count(purpose: str) -> None:
    """And a missing one is none."""
    ended = [(job(n, "x" * n, purpose=purpose), score(n / 100)) for n in range(100)]
    missing = [(job(n, "x" * n, "gpt-4o"), unscored(Reason.TIMEOUT, judge_model="gpt-4o")) for n in range(100)]

    assert watched(ended + missing) == {}


def test_the_second_judge_gets_a_share_whatever_the_score() -> None:
    """By the trace's id, with another number than the draw's; after all live traffic."""
    second = [for_second_judge(job(n), score(n % 2)) for n in range(2000)]
    asked = [one for one in second if one is not None]

    assert len(asked) == pytest.approx(2000 * SECOND_SHARE, abs=80)
    assert {(one.purpose, one.priority, one.weight) for one in asked} == {(SECOND, LAST, 1.0)}
    assert abs(sum(int(one.sample.trace_id) % 2 for one in asked) - len(asked) / 2) < 50


@pytest.mark.parametrize(("share", "asked"), [(0.0, 0), (1.0, 300)])
def test_the_second_judge_s_share_is_the_users(share: float, asked: int) -> None:
    """None and all are what they say."""
    assert sum(for_second_judge(job(n), score(0.5), share) is not None for n in range(300)) == asked


def test_what_no_model_scored_has_no_second_opinion() -> None:
    """Nor has what is none of live traffic's: a second opinion has no third."""
    free = Job("number_support", Sample("1", 0, "shop", 0))
    given = [(free, score(1.0)), *((job(n, purpose=SECOND), score(1.0)) for n in range(50))]
    given += [(job(n), unscored(Reason.TIMEOUT)) for n in range(50)]

    assert [for_second_judge(*one) for one in given] == [None] * 101
