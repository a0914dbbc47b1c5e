"""Admission: a budget of bytes, and a gate that looks at the memory, with clock and reading injected."""

import logging

import pytest
from lanewatch.collector.admission import (
    Admission,
    AdmissionLimits,
    Lease,
    Pressure,
    give_back_free_memory,
    resident_bytes,
)
from lanewatch.collector.outcomes import RefusalReason, Refused


class Machine:
    """A clock and a memory that stand where the test puts them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.used = 0
        self.readings = 0
        self.relieved: list[Pressure] = []

    def read(self) -> int:
        """The reading, counted."""
        self.readings += 1
        return self.used

    def admission(self, **limits: int) -> Admission:
        """An admission on this machine."""
        return Admission(
            AdmissionLimits(**limits), clock=lambda: self.now, read_memory=self.read, relieve=self.relieved.append
        )


def reason_of(lease: Lease, n_bytes: int) -> RefusalReason | None:
    """Why the lease can't grow; None where it can."""
    try:
        lease.grow(n_bytes)
    except Refused as refused:
        return refused.reason
    return None


def test_bytes_in_flight_are_bounded_and_come_back() -> None:
    """What doesn't fit is refused whole; what is released can be taken again."""
    admission = Machine().admission(max_in_flight_bytes=100)
    first, second = Lease(admission), Lease(admission)

    assert reason_of(first, 60) is None
    assert reason_of(second, 41) is RefusalReason.IN_FLIGHT_LIMIT
    assert reason_of(second, 40) is None
    assert admission.in_flight_bytes == 100

    first.release()
    first.release()

    assert admission.in_flight_bytes == 40


@pytest.mark.parametrize(
    ("used", "pressure", "reason"),
    [
        (80, Pressure.NONE, None),
        (81, Pressure.SOFT, RefusalReason.MEMORY_LIMIT),
        (90, Pressure.SOFT, RefusalReason.MEMORY_LIMIT),
        (91, Pressure.HARD, RefusalReason.MEMORY_LIMIT),
    ],
)
def test_above_a_memory_limit_requests_are_refused(used: int, pressure: Pressure, reason: RefusalReason | None) -> None:
    """Both limits refuse; both ask for relief, and say how urgent it is."""
    machine = Machine()
    admission = machine.admission(memory_soft_bytes=80, memory_hard_bytes=90)
    machine.used = used

    assert reason_of(Lease(admission), 1) is reason
    assert admission.pressure is pressure
    assert machine.relieved == ([] if pressure is Pressure.NONE else [pressure])


def test_the_memory_is_read_once_an_interval() -> None:
    """A reading costs a system call or three, so requests share it."""
    machine = Machine()
    admission = machine.admission(memory_soft_bytes=80)

    for _ in range(10):
        reason_of(Lease(admission), 0)
    machine.now = 0.25
    reason_of(Lease(admission), 0)

    assert machine.readings == 2


def test_each_transition_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A reading that hovers at the limit says nothing; the gate opens a little below it."""
    machine = Machine()
    admission = machine.admission(memory_soft_bytes=100, memory_hard_bytes=200)

    with caplog.at_level(logging.INFO):
        for machine.used in (100, 101, 99, 101, 96, 250, 250, 150, 95, 101):
            admission.check_memory()

    assert [record.__dict__["pressure"] for record in caplog.records] == ["soft", "hard", "soft", "none", "soft"]


def test_relief_is_asked_for_at_each_reading_while_it_is_needed() -> None:
    """One eviction may not be enough."""
    machine = Machine()
    admission = machine.admission(memory_soft_bytes=100, memory_hard_bytes=200)

    for machine.used in (250, 250, 150, 50):
        admission.check_memory()

    assert machine.relieved == [Pressure.HARD, Pressure.HARD, Pressure.SOFT]


@pytest.mark.parametrize(("soft", "hard"), [(0, 100), (100, 0)])
def test_either_memory_limit_can_be_off(soft: int, hard: int) -> None:
    """0 switches a limit off, and the other one works alone."""
    machine = Machine()
    admission = machine.admission(memory_soft_bytes=soft, memory_hard_bytes=hard)

    machine.used = 100
    assert admission.check_memory() is Pressure.NONE

    machine.used = 101
    assert admission.check_memory() is (Pressure.HARD if hard else Pressure.SOFT)

    machine.used = 94
    assert admission.check_memory() is Pressure.NONE


def test_without_memory_limits_nothing_is_read() -> None:
    """Off is off."""
    machine = Machine()
    admission = machine.admission()

    assert reason_of(Lease(admission), 1) is None
    assert machine.readings == 0


def test_freed_memory_goes_back_to_the_kernel() -> None:
    """Otherwise the gate would stay shut after one burst."""
    blocks = [bytes(100_000) for _ in range(500)]  # below malloc's mmap threshold, so on its heap
    pin = bytes(100_000)
    held = resident_bytes()
    del blocks
    give_back_free_memory()

    assert resident_bytes() < held - 20_000_000
    assert pin
