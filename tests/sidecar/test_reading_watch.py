"""The watch over reading: dead, stuck and full are faults, and a moment's overload is none."""

import threading
from functools import partial

import pytest
from lanewatch.collector.admission import Admission, AdmissionLimits
from lanewatch.collector.counts import Counts
from lanewatch.observation import Observer
from lanewatch.parts import COUNTS
from lanewatch.sidecar.reading_thread import ReadingThread
from lanewatch.sidecar.reading_watch import TOO_LONG_SECONDS, ReadingWatch

SOON, LATE = 1.0, TOO_LONG_SECONDS + 1


class Watched:
    """Reading as the test says it stands, at a time that it says."""

    def __init__(self) -> None:
        self.alive, self.busy_seconds, self.unread_bytes, self.now = True, 0.0, 0, 0.0
        self.watch = ReadingWatch(self, 1000, lambda: self.now)

    def faults(self) -> list[str]:
        """After a look."""
        self.watch.look()
        return sorted(self.watch.faults())


def test_one_trace_for_too_long_is_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    """Its begin is logged once, with the remedy, and so is its end."""
    caplog.set_level("INFO")
    watched = Watched()
    found = []
    for watched.busy_seconds in (SOON, LATE, LATE, 0.0):
        found.append(watched.faults())

    assert found == [[], ["reading_stuck"], ["reading_stuck"], []]
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]
    assert "max_trace_bytes" in caplog.text


def test_a_full_queue_is_a_fault_once_it_stays_full() -> None:
    """A burst fills it for a moment; that is overload, and a liveness probe must not end the process for it."""
    watched = Watched()
    found = []
    for watched.now, watched.unread_bytes in ((0, 950), (LATE, 100), (LATE + 1, 950), (LATE + 2, 990), (3 * LATE, 950)):
        found.append(watched.faults())

    assert found == [[], [], [], [], ["reading_queue_full"]]


def test_a_dead_thread_is_a_fault() -> None:
    """Nothing is read any more."""
    watched = Watched()
    watched.alive = False

    assert watched.faults() == ["reading_thread_dead"]


def test_the_thread_tells_how_long_it_has_been_at_one_work() -> None:
    """And what is unread, until it is settled."""
    now = 0.0
    admission = Admission(AdmissionLimits(), clock=lambda: 0.0, read_memory=lambda: 0)
    reading = ReadingThread(lambda *_: None, Observer(), Counts(COUNTS), admission, clock=lambda: now)
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait(20)

    reading.start()
    reading.do(work, 700)
    begun.wait(20)
    now = 31.0
    busy = reading.busy_seconds, reading.unread_bytes
    go_on.set()

    assert reading.stop(20)
    reading.settle()
    assert (busy, reading.busy_seconds, reading.unread_bytes) == ((31.0, 700), 0.0, 0)


def test_reading_that_was_stopped_is_no_dead_thread(caplog: pytest.LogCaptureFixture) -> None:
    """What comes after it in the drain time must not be told as a fault to report."""
    watched = Watched()
    watched.alive = False
    watched.watch.close()

    assert watched.faults() == []
    assert caplog.text == ""


def test_what_must_be_done_last_is_done_though_the_time_is_over() -> None:
    """What waits is left, and state is written all the same, on the thread that owns it."""
    begun, go_on, done = threading.Event(), threading.Event(), list[str]()
    reading = ReadingThread(
        lambda *_: None,
        Observer(),
        Counts(COUNTS),
        Admission(AdmissionLimits(), clock=lambda: 0.0, read_memory=lambda: 0),
    )

    def work() -> None:
        begun.set()
        go_on.wait(5)

    reading.do_soon(work)
    reading.do_soon(lambda: done.append("waiting"))
    reading.start()
    assert begun.wait(5)
    threading.Timer(0.05, go_on.set).start()

    assert not reading.stop(0.04, lambda: done.append(threading.current_thread().name))
    go_on.wait(5)
    reading._thread.join(5)
    assert done == ["lanewatch-reading"]


def test_what_must_be_done_last_is_done_after_all_that_waits() -> None:
    """Where there is time, nothing is left."""
    done = list[str]()
    reading = ReadingThread(
        lambda *_: None,
        Observer(),
        Counts(COUNTS),
        Admission(AdmissionLimits(), clock=lambda: 0.0, read_memory=lambda: 0),
    )
    for word in ("first", "second"):
        reading.do_soon(partial(done.append, word))
    reading.start()

    assert reading.stop(5.0, lambda: done.append("last"))
    assert done == ["first", "second", "last"]
