"""The thread on which Ragas scores live artifacts that have reference calls: it takes milliseconds, and seconds at first.

What waits for it is bounded in number and in bytes; beyond that the scores are `skipped`, which is counted.
"""

import queue
import threading
from collections.abc import Callable

from lanewatch.monitors.reference_calls import Agreement, RagasToolScores
from lanewatch.producing.reference_scores import Referenced, ReferenceScorer

MAX_WAITING = 200
TOO_MANY = RagasToolScores(Agreement.SKIPPED, reason="too many artifacts waited")


class ReferenceThread:
    """`offer` is called on one thread, `deliver` on this one's own."""

    def __init__(
        self, scorer: ReferenceScorer, deliver: Callable[[Referenced, RagasToolScores], None], *, max_bytes: int
    ) -> None:
        self._scorer = scorer
        self._deliver = deliver
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Referenced | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def offer(self, given: Referenced) -> RagasToolScores | None:
        """Queue an artifact; what is known already where there is no room for it. The thread starts with the first."""
        with self._lock:
            full = self._queue.qsize() >= MAX_WAITING or (self._bytes and self._bytes + given.size > self._max_bytes)
            if full or self._stopping.is_set():
                return TOO_MANY
            self._bytes += given.size
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="lanewatch-references", daemon=True)
                self._thread.start()
        self._queue.put(given)
        return None

    def stop(self, timeout_seconds: float) -> None:
        """Score nothing more; what is being scored is ended after the time. What waited is skipped."""
        self._stopping.set()
        with self._lock:
            thread = self._thread
        if thread is None:
            return
        self._queue.put(None)
        thread.join(timeout_seconds)
        self._scorer.kill()
        thread.join()  # the process that it may have waited for is gone
        self._scorer.close()
        while not self._queue.empty():
            if (given := self._queue.get()) is not None:
                self._deliver(given, TOO_MANY)

    def _run(self) -> None:
        while (given := self._queue.get()) is not None:
            scores = TOO_MANY if self._stopping.is_set() else self._scorer.scores(given)
            with self._lock:
                self._bytes -= given.size
            self._deliver(given, scores)
