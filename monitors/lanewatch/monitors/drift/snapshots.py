"""Writes the state folder on a thread of its own: a disk that hangs must not keep traces from being read.

At most one file waits to be written; what comes while it does is left out, since the next state holds all of it.
"""

import queue
import threading
import time
from collections.abc import Callable

Write = Callable[[], None]


class SnapshotThread:
    """Does one writing at a time. `written`, `failed` and `since` may be read on any thread."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """It runs once something is offered; `clock` gives seconds since the epoch."""
        self.written = self.failed = 0
        self.since = 0.0
        self._clock = clock
        self._waiting: queue.Queue[Write] = queue.Queue(1)
        self._thread: threading.Thread | None = None

    def offer(self, write: Write) -> bool:
        """Have it written soon; False where another still waits."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lanewatch-drift-state", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(write)
        except queue.Full:
            return False
        return True

    def now(self, write: Write) -> None:
        """Write at once, on the caller's thread, after what waits: the last state of a process that ends."""
        self.join()
        self._do(write)

    def join(self) -> None:
        """Wait for what was offered."""
        if self._thread is not None:
            self._waiting.join()

    def _run(self) -> None:
        while True:
            write = self._waiting.get()
            self._do(write)
            self._waiting.task_done()

    def _do(self, write: Write) -> None:
        try:
            write()
        except Exception:  # noqa: BLE001 - whoever waits for this thread at the end must not wait for a dead one
            self.failed += 1
        else:
            self.written += 1
            self.since = self._clock()
