"""From traces to ticks: what is counted, when, how often, and what is told instead."""

import random

import msgspec
import pytest
from lanewatch.monitors.drift.bins import CategoryBins, CountBins, EventBins, numeric_bins
from lanewatch.monitors.drift.facts import Facts, facts
from lanewatch.monitors.drift.layout import Layout, ServiceLayout
from lanewatch.monitors.drift.observer import LATE_TICKS, MAX_VECTORS_A_TICK, Observer
from lanewatch.monitors.drift.projection import fit_projection
from lanewatch.monitors.drift.sessions import SETS, TTL_TICKS, SessionEvents, session_hash
from lanewatch.monitors.drift.sums import TickSums

from tests.monitors.records import answer, record, request

LAYOUT = Layout(
    {
        "shop": ServiceLayout(
            {"refusal": EventBins(), "tool": CategoryBins(("search", "refund")), "latency": numeric_bins(range(100))}
        )
    }
)


def seen(tick: int, *, refused: bool = False, session: str | None = None, service: str | None = "shop", revision: int = 0,
         tools: tuple[str, ...] = ()) -> Facts:  # fmt: skip
    """A trace that ends in this tick."""
    end = tick * 10_000_000_000
    return facts(
        record(
            start_ns=end - 5_000_000_000,
            end_ns=end,
            session_id=session,
            service=service,
            revision=revision,
            responses=(answer(refusal=refused),),
            requests=tuple(request(name) for name in tools),
        )
    )


def counts(message: TickSums, signal: str) -> dict[float, list[int]]:
    """A series of a message."""
    return next((dict(series.counts) for series in message.series if series.signal == signal), {})


def test_a_tick_is_closed_by_the_next_ones_trace() -> None:
    """The traces' own time is the clock."""
    observer = Observer(LAYOUT, "a")

    assert observer.observe(seen(5, refused=True, tools=("search", "other"))) == []
    assert observer.observe(seen(5)) == []
    (closed,) = observer.observe(seen(6))
    assert (closed.replica, closed.tick, closed.layout) == ("a", 5, LAYOUT.id)
    assert counts(closed, "refusal") == {1.0: [1, 1]}
    assert counts(closed, "tool") == {1.0: [1, 0, 1, 0]}


def test_only_a_sessions_first_event_counts() -> None:
    """A refused user asks again: that is one event, and no further trial, until six hours later."""
    observer = Observer(LAYOUT)
    for _ in range(3):
        observer.observe(seen(1, refused=True, session="s"))
    observer.observe(seen(1, session="t"))
    (closed,) = observer.advance(2)
    observer.observe(seen(1 + TTL_TICKS, refused=True, session="s"))
    (later,) = observer.advance(2 + TTL_TICKS)

    assert counts(closed, "refusal") == {1.0: [1, 1]}
    assert counts(later, "refusal") == {1.0: [0, 1]}


def test_traces_without_a_session_all_count() -> None:
    """Nothing ties them together."""
    observer = Observer(LAYOUT)
    for _ in range(3):
        observer.observe(seen(1, refused=True))

    assert counts(observer.advance(2)[0], "refusal") == {1.0: [0, 3]}


def test_late_traces_count_in_the_open_tick() -> None:
    """They are not lost; those more than five minutes behind are told."""
    observer = Observer(LAYOUT)
    observer.observe(seen(100))
    observer.observe(seen(99))
    observer.observe(seen(99 - LATE_TICKS))
    (closed,) = observer.advance(101)

    assert counts(closed, "refusal") == {1.0: [3, 0]}
    assert observer.told.late == 1


def test_a_trace_from_the_future_does_not_move_the_clock() -> None:
    """One wrong clock among the senders must not close a year of ticks."""
    observer = Observer(LAYOUT, clock=lambda: 1000.0)
    observer.observe(seen(3_000_000))

    assert observer.tick == 100
    assert observer.told.early == 1
    assert counts(observer.advance(101)[0], "refusal") == {1.0: [1, 0]}


def test_a_revision_is_told_and_not_counted_again() -> None:
    """What late spans add can't be taken back out of evidence."""
    observer = Observer(LAYOUT)
    observer.observe(seen(1))
    observer.observe(seen(1, refused=True, revision=1))

    assert counts(observer.advance(2)[0], "refusal") == {1.0: [1, 0]}
    assert observer.told.revised == 1


@pytest.mark.parametrize(
    ("weight", "counted", "told"),
    [
        (10.0, 10.0, "observed"),
        (None, 1.0, "sampling_unknown"),
        (float("nan"), 1.0, "sampling_unknown"),
        (0.5, 1.0, "sampling_unknown"),
        (float("inf"), 1000.0, "weight_capped"),
        (5000.0, 1000.0, "weight_capped"),
    ],
)
def test_weights_are_bounded_and_told(weight: float | None, counted: float, told: str) -> None:
    """From 1 to 1000; what can't be a weight counts as one."""
    observer = Observer(LAYOUT)
    observer.observe(seen(1), weight)

    assert counts(observer.advance(2)[0], "refusal") == {counted: [1, 0]}
    assert getattr(observer.told, told) == 1


def test_many_different_weights_are_rounded() -> None:
    """A message stays small: 64 as they are, the rest on a grid of 40."""
    observer = Observer(LAYOUT)
    for k in range(1000):
        observer.observe(
            msgspec.structs.replace(seen(1), record=msgspec.structs.replace(seen(1).record, trace_id=f"{k:032x}")),
            1 + k / 7,
        )

    assert len(counts(observer.advance(2)[0], "refusal")) <= 64 + 42


def test_a_service_that_the_reference_does_not_know_is_told() -> None:
    """It has no bins to be counted in."""
    observer = Observer(LAYOUT)
    observer.observe(seen(1, service="new"))
    observer.observe(seen(1, service=None))

    assert observer.advance(2) == []
    assert observer.told.unknown_service == 2


def test_nothing_but_counts_leaves() -> None:
    """No text, no ids, no vectors in a message: only names of series and whole numbers."""
    observer = Observer(LAYOUT)
    observer.observe(seen(1, session="secret-session", tools=("search",)))
    text = msgspec.json.encode(observer.advance(2)[0]).decode()

    assert "secret" not in text
    assert "Done" not in text


def test_vectors_are_bounded_in_number_and_told_when_they_do_not_fit() -> None:
    """Thirty a tick; one of another length, or with NaN, is no vector."""
    rng = random.Random(0)
    sample = [[rng.gauss(0, 1) for _ in range(8)] for _ in range(400)]
    import numpy as np  # noqa: PLC0415

    projection = fit_projection(np.array(sample))
    layout = Layout({"shop": ServiceLayout({"contexts": CountBins()}, {"query_embedding": projection})})
    observer = Observer(layout)
    plain = seen(1)
    for vector in [*sample[:100], sample[0][:3], [float("nan")] * 8]:
        observer.observe(msgspec.structs.replace(plain, embedding=vector))
    (closed,) = observer.advance(2)
    (row,) = counts(closed, "query_embedding").values()
    shape = projection.shape

    assert sum(row[shape.components * shape.bins : shape.counts]) == MAX_VECTORS_A_TICK
    assert sum(row[: shape.bins]) == MAX_VECTORS_A_TICK
    for vector in ([1.0, 2.0], [float("nan")] * 8):
        observer.observe(msgspec.structs.replace(seen(2), embedding=vector))
    assert observer.told.unplaced_vectors == 2


def test_the_sessions_table_is_bounded() -> None:
    """A set has four places; the oldest gives way, the newest are known."""
    events = SessionEvents()
    for k in range(6):
        events.mark(7 + k * SETS, 1, 10 + k)

    assert [bool(events.seen(7 + k * SETS, 20)) for k in range(6)] == [False, False, True, True, True, True]
    assert events.tracked(20) == 4


def test_the_sessions_table_grows_and_forgets_nobody() -> None:
    """It is small where few sessions have an event: 40 kB for the first thousand or so."""
    events, names = SessionEvents(), [session_hash("shop", f"s{k}") for k in range(3000)]
    for k, name in enumerate(names):
        events.mark(name, 1 << (k % 10), 100)

    assert all(events.seen(name, 101) == 1 << (k % 10) for k, name in enumerate(names))
    assert events.tracked(101) == len(names)


def test_the_sessions_table_goes_on_from_its_state() -> None:
    """What is still within six hours is known; a state that does not fit is refused."""
    events, later = SessionEvents(), SessionEvents()
    for k in range(200):
        events.mark(session_hash("shop", f"s{k}"), 1 << (k % 10), 100 + k)
    state = msgspec.json.decode(msgspec.json.encode(events.state(250)), type=type(events.state(250)))

    assert later.restore(state)
    assert all(later.seen(session_hash("shop", f"s{k}"), 250) == 1 << (k % 10) for k in range(200))
    assert later.seen(session_hash("desk", "s1"), 250) == 0
    assert not later.restore(msgspec.structs.replace(state, masks=b"\0"))
