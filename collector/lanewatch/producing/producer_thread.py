"""The thread that asks producers for their artifacts of live traces, so that none of them holds up the reading of traces.

What waits for it is bounded in number and in bytes; beyond that a trace is `skipped` for all producers, which is counted.
"""

import queue
import threading
from collections.abc import Callable

from lanewatch.monitors.artifact_outcomes import Compared
from lanewatch.observation import Observation
from lanewatch.producing.producer_set import ProducerSet

MAX_WAITING = 200


class ProducerThread:
    """`offer` is called on one thread, `deliver` on this one's own."""

    def __init__(
        self,
        producers: ProducerSet,
        deliver: Callable[[Observation, tuple[Compared, ...]], None],
        *,
        max_bytes: int,
    ) -> None:
        self._producers = producers
        self._deliver = deliver
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[tuple[Observation, int] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lanewatch-producers", daemon=True)

    def start(self) -> None:
        """Begin, if there is any producer."""
        if self._producers:
            self._thread.start()

    def offer(self, seen: Observation, size: int) -> tuple[Compared, ...]:
        """Queue a trace; the producers' verdicts where there is no room for it, else nothing yet."""
        if not self._producers:
            return ()
        with self._lock:
            full = self._queue.qsize() >= MAX_WAITING or (self._bytes and self._bytes + size > self._max_bytes)
            if not full:
                self._bytes += size
        if full or self._stopping.is_set():
            return self._producers.skipped()
        self._queue.put((seen, size))
        return ()

    def stop(self, timeout_seconds: float) -> None:
        """Ask for nothing more; a producer that is being asked is ended after the time. What waited is skipped."""
        self._stopping.set()
        if not self._thread.is_alive():
            return
        self._queue.put(None)
        self._thread.join(timeout_seconds)
        self._producers.kill()
        self._thread.join()  # its producer's process is gone, so it has nothing to wait for
        self._producers.close()
        while not self._queue.empty():
            if (item := self._queue.get()) is not None:
                self._deliver(item[0], self._producers.skipped())

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            seen, size = item
            if self._stopping.is_set():
                self._deliver(seen, self._producers.skipped())
                continue
            compared = self._producers.compare(seen.record, stop=self._stopping.is_set)
            with self._lock:
                self._bytes -= size
            if compared:
                self._deliver(seen, compared)
