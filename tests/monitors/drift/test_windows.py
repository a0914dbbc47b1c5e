"""Rings of counts: what a window holds is what was counted in it, gaps and hours included."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.drift.tick import Tick
from lanewatch.monitors.drift.windows import Windows

SHARES = np.random.default_rng(0).dirichlet(np.ones(3), 168)
STEPS = st.lists(st.tuples(st.integers(0, 400), st.sampled_from([1.0, 4.0]), st.lists(st.integers(0, 9), min_size=3, max_size=3)),
                 min_size=1, max_size=40)  # fmt: skip


def ticks(steps: list[tuple[int, float, list[int]]]) -> list[Tick]:
    """Ticks with gaps between them."""
    index, made = 12_345_678, []
    for gap, weight, counts in steps:
        index += gap
        made.append(Tick(index, index // 360 % 168, 1 / 6, {weight: np.array(counts, float)}))
    return made


@given(STEPS)
def test_a_window_holds_what_was_counted_in_it(steps: list[tuple[int, float, list[int]]]) -> None:
    """Weighted counts, Kish's number and expected shares, against sums over the ticks themselves."""
    windows, made = Windows((3,)), ticks(steps)
    for tick in made:
        windows.add(tick)
    now = made[-1].index // 6
    for minutes in (1, 5, 60, 360, 1440):
        if minutes <= 60:
            inside = [tick for tick in made if tick.index // 6 > now - minutes]
        else:
            inside = [tick for tick in made if tick.index // 90 > now // 15 - minutes // 15]
        window = windows.window(minutes, now, SHARES)
        counts = np.sum([w * c for tick in inside for w, c in tick.counts.items()], axis=0)
        squares = sum(w * w * c.sum() for tick in inside for w, c in tick.counts.items())
        expected = np.sum([w * c.sum() * SHARES[tick.cell] for tick in inside for w, c in tick.counts.items()], axis=0)

        np.testing.assert_allclose(window.counts, counts, rtol=1e-5)
        if counts.sum() > 0:
            np.testing.assert_allclose(window.effective_n, counts.sum() ** 2 / squares, rtol=1e-5)
            np.testing.assert_allclose(window.expected, expected / expected.sum(), rtol=1e-5)


@given(STEPS)
def test_windows_go_on_from_their_state(steps: list[tuple[int, float, list[int]]]) -> None:
    """Every window is the same after a restart."""
    windows, made, later = Windows((3,)), ticks(steps), Windows((3,))
    for tick in made:
        windows.add(tick)

    assert later.restore(windows.state())
    now = made[-1].index // 6
    for minutes in (1, 60, 1440):
        assert (later.window(minutes, now, SHARES).counts == windows.window(minutes, now, SHARES).counts).all()


def test_an_empty_window_expects_but_counts_nothing() -> None:
    """No data: zero counts that are worth nothing, and no NaN."""
    window = Windows((3,)).window(60, 1000, SHARES)

    assert window.counts.sum() == 0
    assert window.effective_n == 0
    assert window.expected.tolist() == SHARES[0].tolist()


def test_a_state_that_does_not_fit_is_refused() -> None:
    """Of other bins, or cut short."""
    state = Windows((2,))
    state.add(Tick(5, 0, 1 / 6, {1.0: np.ones(2)}))

    assert not Windows((3,)).restore(state.state())
    assert not Windows((2,)).restore(state.state()[:1])
