"""What the sidecar gives drift of each trace, and that a fault of drift costs no record."""

import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lanewatch.collector.spans import Span, Trace
from lanewatch.drifting.watch import DriftWatch
from lanewatch.monitors.divergence import Boundary, Divergence, Kind
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.settings import DriftSettings
from lanewatch.monitors.lanes import judge_lanes
from lanewatch.observation import Observation

from tests.monitors.records import record

TRACE_ID = b"t" * 16


class Taken:
    """Stands in for drift: keeps what it is given, or fails."""

    def __init__(self, *, failing: bool = False) -> None:
        self.given: list[tuple[Facts, float | None]] = []
        self._failing = failing

    def observe(self, facts: Facts, weight: float | None) -> list[Any]:
        """Keep it."""
        if self._failing:
            raise ZeroDivisionError("secret content")
        self.given.append((facts, weight))
        return []


def watch(**how: bool) -> tuple[DriftWatch, Taken]:
    """A watch whose drift is a stand-in."""
    watching, taken = DriftWatch(DriftSettings()), Taken(**how)
    watching.live.observe = taken.observe  # type: ignore[method-assign,assignment]
    return watching, taken


def seen(divergences: tuple[Divergence, ...] = (), trace_id: bytes = TRACE_ID) -> Observation:
    """An observation of the trace."""
    made = record(trace_id=trace_id.hex())
    return Observation(made, divergences, judge_lanes(made, divergences), ())


def trace(*states: str, revision: int = 0) -> Trace:
    """A trace of spans with these trace states, the first of them its root."""
    spans = tuple(
        Span(TRACE_ID, bytes([n]) * 8, parent_id=b"" if n == 0 else b"\x00" * 8, trace_state=state)
        for n, state in enumerate(states)
    )
    return Trace(TRACE_ID, spans, revision=revision)


@pytest.mark.parametrize(
    ("states", "weight"),
    [(("ot=th:8", "ot=th:c"), 2.0), (("", "ot=th:c"), 4.0), (("", ""), None), (("vendor=1",), None)],
)
def test_the_root_tells_how_a_trace_was_sampled(states: tuple[str, ...], weight: float | None) -> None:
    """Else any span that does; where none does it is unknown, not 1."""
    watching, taken = watch()
    watching.see(trace(*states), (seen(),))

    assert [given for _, given in taken.given] == [weight]


def test_a_trace_counts_once() -> None:
    """Not again when it is revised, nor when another trace makes it read anew."""
    watching, taken = watch()
    watching.see(trace(""), (seen(trace_id=b"u" * 16), seen()))
    watching.see(trace("", revision=1), (seen(),))

    assert [facts.record.trace_id for facts, _ in taken.given] == [TRACE_ID.hex()]


def test_evaluators_artifacts_are_left_out_of_divergence() -> None:
    """They come when they like, so that the rate would depend on when."""
    one = Divergence(
        Boundary.ARTIFACT, Kind.MISSING, "refund", None, None, None, None, None, "owner", producer="theirs"
    )
    own = msgspec.structs.replace(one, producer="lanewatch")
    watching, taken = watch()
    watching.see(trace(""), (seen((one, own)),))
    ((facts, _),) = taken.given

    assert facts.divergences == (own,)


def test_a_fault_of_drift_is_counted_and_said_once_without_content(caplog: pytest.LogCaptureFixture) -> None:
    """The reading thread goes on."""
    watching, _ = watch(failing=True)
    with caplog.at_level(logging.ERROR):
        watching.see(trace(""), (seen(),))
        watching.see(trace(""), (seen(),))

    assert watching.counts.value("lanewatch_drift_errors") == 2
    assert len(caplog.records) == 1
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


def test_a_reference_that_can_not_be_used_is_said_with_the_remedy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And a damaged file of the folder by its name."""
    DriftWatch(DriftSettings(reference_file=tmp_path / "none"))
    (tmp_path / "learning").write_bytes(b"?")
    DriftWatch(DriftSettings(state_folder=tmp_path))

    assert "drift.reference_file can't be used (missing)" in caplog.text
    assert "the file `learning` of drift.state_folder is damaged" in caplog.text
