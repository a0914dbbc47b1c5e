"""The thread that writes the state folder outlives whatever goes wrong in a writing."""

import pytest
from lanewatch.monitors.drift.snapshots import SnapshotThread


@pytest.mark.parametrize("error", [OSError("disk full"), ValueError("own fault"), MemoryError()])
def test_a_writing_that_fails_is_counted_and_keeps_nobody_waiting(error: Exception) -> None:
    """The end of the process waits for what was offered: a dead thread would keep it for ever."""

    def fail() -> None:
        raise error

    written: list[int] = []
    thread = SnapshotThread(clock=lambda: 7.0)
    thread.offer(fail)
    thread.join()
    thread.offer(lambda: written.append(1))
    thread.now(lambda: written.append(2))

    assert written == [1, 2]
    assert (thread.failed, thread.written, thread.since) == (1, 2, 7.0)
