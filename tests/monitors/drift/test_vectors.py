"""Embeddings and hashed text: fitted on one half, watched by mean and by shape, merged exactly."""

import numpy as np
import pytest
from lanewatch.monitors.drift.alarm import Event, Watch
from lanewatch.monitors.drift.hours import plain_hours
from lanewatch.monitors.drift.ngrams import PLACES, hashed_ngrams, ngram_vectors
from lanewatch.monitors.drift.projection import Projection, Projector, fit_projection
from lanewatch.monitors.drift.sums import FIXED_POINT
from lanewatch.monitors.drift.vector_reference import vector_reference
from lanewatch.monitors.drift.vector_series import VectorSeries, VectorState

D = 24
SPREAD = np.linspace(3, 0.2, D)


def cloud(rng: np.random.Generator, n: int) -> np.ndarray:
    """Vectors of different spread in each direction."""
    return rng.standard_normal((n, D)) * SPREAD


@pytest.fixture(scope="module")
def projection() -> Projection:
    """Fitted on 2,000 vectors."""
    return fit_projection(cloud(np.random.default_rng(0), 2000))


def placed(projector: Projector, vectors: np.ndarray) -> list[int]:
    """A tick's numbers."""
    numbers = projector.numbers(vectors)
    assert numbers is not None
    return [int(number) for number in numbers]


def series(projection: Projection, seed: int = 1) -> VectorSeries:
    """Held against 4,000 other vectors, over an hour each."""
    projector = Projector(projection)
    rng = np.random.default_rng(seed)
    rows = np.array([placed(projector, cloud(rng, 100)) for _ in range(40)], float)
    table = plain_hours(np.arange(40), rows)
    return VectorSeries(projection.shape, vector_reference(table, projection.shape))


def watch(
    projection: Projection, vectors: list[np.ndarray], one: VectorSeries | None = None
) -> list[tuple[int, Event]]:
    """What happens over ticks of vectors."""
    projector, watched = Projector(projection), Watch(one or series(projection))
    found = []
    for index, given in enumerate(vectors):
        event = watched.update(index, 0, {1.0: placed(projector, given)}, {})
        if event is not None:
            found.append((index, event))
    return found


def test_the_projection_whitens(projection: Projection) -> None:
    """On other vectors of the same kind: mean 0, variance 1, no correlation; the residual is what is left."""
    projector = Projector(projection)
    vectors = cloud(np.random.default_rng(5), 3000)
    z = projector.project(vectors.astype(np.float32))[0]
    covariance = np.cov(z.T)

    assert projection.k == D
    assert np.abs(z.mean(axis=0)).max() < 0.1
    assert np.abs(covariance - np.eye(D)).max() < 0.15


def test_no_change_raises_nothing(projection: Projection) -> None:
    """Three hours of the same cloud."""
    rng = np.random.default_rng(2)

    assert watch(projection, [cloud(rng, 5) for _ in range(1000)]) == []


def test_a_moved_mean_is_found_and_cleared(projection: Projection) -> None:
    """Many directions by a quarter of a standard deviation: T2 finds it; back again, it clears."""
    rng = np.random.default_rng(3)
    moved = [cloud(rng, 5) + 0.25 * SPREAD for _ in range(300)]
    back = [cloud(rng, 5) for _ in range(600)]
    events = watch(projection, [*moved, *back])

    assert [event for _, event in events] == [Event.RAISED, Event.CLEARED]
    assert events[0][0] < 60
    assert events[1][0] > 300


def test_a_changed_shape_is_found(projection: Projection) -> None:
    """The first direction half as wide again, the mean where it was: the bank of bins finds it."""
    rng = np.random.default_rng(4)
    wider = np.where(np.arange(D) == 0, 1.5, 1.0)
    events = watch(projection, [cloud(rng, 5) * wider for _ in range(600)])

    assert [event for _, event in events] == [Event.RAISED]


def test_what_moved_is_told_without_a_vector(projection: Projection) -> None:
    """Components by number, in standard deviations."""
    one = series(projection)
    rng = np.random.default_rng(6)
    shift = np.zeros(D)
    shift[0] = 2.0
    watched = Watch(one)
    projector = Projector(projection)
    for index in range(200):
        if watched.update(index, 0, {1.0: placed(projector, cloud(rng, 5) + shift)}, {}) is not None:
            break
    assert watched.alarm is not None

    assert watched.alarm.moved[0].name == "component 1"
    assert abs(watched.alarm.moved[0].found) == pytest.approx(2 / 3, abs=0.4)


def test_the_sum_of_two_replicas_is_the_tick_of_one(projection: Projection) -> None:
    """To the last digit, in any order: whole numbers are added."""
    projector = Projector(projection)
    vectors = cloud(np.random.default_rng(7), 50)
    whole = placed(projector, vectors)
    parts = [placed(projector, vectors[k::3]) for k in (2, 0, 1)]

    assert [sum(values) for values in zip(*parts, strict=True)] == whole
    assert whole[projection.shape.counts] / FIXED_POINT / 50 == pytest.approx(
        float(projector.project(vectors.astype(np.float32))[0][:, 0].mean()), abs=1e-5
    )


def test_a_vector_series_goes_on_from_its_state(projection: Projection) -> None:
    """The same alarm at the same tick."""
    import msgspec  # noqa: PLC0415

    rng = np.random.default_rng(8)
    vectors = [cloud(rng, 5) + 0.2 * SPREAD for _ in range(200)]
    expected = watch(projection, vectors)
    assert expected
    first, projector = series(projection), Projector(projection)
    watched = Watch(first)
    for index in range(3):
        watched.update(index, 0, {1.0: placed(projector, vectors[index])}, {})
    second = series(projection)
    assert second.restore(msgspec.json.decode(msgspec.json.encode(first.state()), type=VectorState))
    resumed = Watch(second)
    resumed.restore(watched.snapshot())
    events = []
    for index in range(3, 200):
        event = resumed.update(index, 0, {1.0: placed(projector, vectors[index])}, {})
        events += [(index, event)] if event is not None else []

    assert events == expected


def test_effect_sizes_of_vectors(projection: Projection) -> None:
    """PSI over components, T2's p-value, and a Gaussian KL from a thousand vectors on."""
    one = series(projection)
    watched, projector = Watch(one), Projector(projection)
    rng = np.random.default_rng(9)
    assert one.effects(60) is None
    for index in range(240):
        watched.update(index, 0, {1.0: placed(projector, cloud(rng, 5))}, {})
    few, many = one.effects(5), one.effects(60)
    assert few is not None
    assert many is not None

    assert few.kl_nats is None
    assert many.kl_nats is not None
    assert 0 <= many.kl_nats < 0.1
    assert 0 <= many.psi < 0.1
    assert many.log10_p <= 0


def test_too_few_or_odd_vectors_are_not_fitted() -> None:
    """An error that says what is needed."""
    with pytest.raises(ValueError, match="needs 200 vectors"):
        fit_projection(np.zeros((10, 3)))
    with pytest.raises(ValueError, match="needs 200 vectors"):
        fit_projection(np.full((300, 3), np.nan))
    with pytest.raises(ValueError, match="no components"):
        fit_projection(np.ones((300, 3)))


@pytest.mark.parametrize("question", ["", " ", "a", "\ud800", "😀 " * 3000, "日本語の質問ですか"])
def test_any_question_can_be_hashed(question: str) -> None:
    """A vector of length 1, or none; never an error, whatever the text."""
    vector = hashed_ngrams(question)

    assert vector is None or (vector.shape == (PLACES,) and float(vector @ vector) == pytest.approx(1))


def test_ngrams_stay_within_words() -> None:
    """The order of words makes no difference, letters do; case does not."""
    one, other = hashed_ngrams("rotate the Key"), hashed_ngrams("key the rotate")
    typo = hashed_ngrams("rotaet the key")
    assert one is not None
    assert other is not None
    assert typo is not None

    assert float(one @ other) == pytest.approx(1)
    assert float(one @ typo) < 0.9


def test_questions_hashed_together_are_hashed_as_one_by_one() -> None:
    """No n-gram reaches from one question into the next."""
    questions = ["rotate the key", "", "a", "日本語", " b c "]
    together = ngram_vectors(questions)

    for row, question in zip(together, questions, strict=True):
        alone = hashed_ngrams(question)
        assert np.array_equal(row, np.zeros(PLACES) if alone is None else alone)
