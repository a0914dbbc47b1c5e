"""The thread that makes records of closed traces, so that the receivers never wait for one.

Closed traces wait in a queue. Their bytes stay in the budget of what is in flight until the record is made: where
reading can't keep up, clients are told to come back (503), and memory stays bounded. What was read is given back by
`settle`, which the loop calls at each tick: waking the loop for each trace cost 10 microseconds a trace.
"""

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable

from lanewatch.collector.admission import Admission
from lanewatch.collector.counts import Counts
from lanewatch.collector.error_place import place_of
from lanewatch.collector.oddities import count_oddities
from lanewatch.collector.spans import Trace
from lanewatch.observation import Observation, Observer

logger = logging.getLogger(__name__)

LAST_SECONDS = 1.0  # of the drain time, for what must be done at the end: writing state


class ReadingThread:
    """Takes traces on the event loop's thread, hands observations to `consume` on its own."""

    def __init__(
        self,
        consume: Callable[[Observation, int], None],
        observer: Observer,
        counts: Counts,
        admission: Admission,
        *,
        clock: Callable[[], float] = time.monotonic,
        watch: Callable[[Trace, tuple[Observation, ...]], None] = lambda _trace, _observations: None,
    ) -> None:
        """`consume` is given an observation and the bytes of its spans, `watch` each trace with all that was seen of it.
        `counts` must be this thread's own: counters have one owner.
        """
        self._watch = watch
        self._consume = consume
        self._observer = observer
        self._counts = counts
        self._admission = admission
        self._queue: queue.SimpleQueue[tuple[Trace | Callable[[], None], int] | None] = queue.SimpleQueue()
        self._read_bytes: deque[int] = deque()
        self._thread = threading.Thread(target=self._run, name="lanewatch-reading", daemon=True)
        self._said: set[str] = set()
        self._cut = False  # the time is over: what waits is left
        self._last: Callable[[], None] = lambda: None
        self._clock = clock
        self._began: float | None = None  # the work that is being done
        self.unread_bytes = 0  # as far as they were settled; belongs to the event loop's thread

    @property
    def busy_seconds(self) -> float:
        """How long the present work has been going on; 0 where there is none. Any thread may ask."""
        began = self._began
        return 0.0 if began is None else self._clock() - began

    @property
    def waiting(self) -> int:
        """Closed traces that wait to be read."""
        return self._queue.qsize()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def take(self, trace: Trace) -> None:
        """Queue a closed trace; never raises and never waits."""
        size = sum(span.size_bytes for span in trace.spans) + sum(log.size_bytes for log in trace.logs)
        self._admission.in_flight_bytes += size
        self.unread_bytes += size
        self._queue.put((trace, size))

    def do(self, work: Callable[[], None], size: int) -> None:
        """Queue work that must be done on this thread and holds so many bytes; on the event loop's thread."""
        self._admission.in_flight_bytes += size
        self.unread_bytes += size
        self._queue.put((work, size))

    def do_soon(self, work: Callable[[], None]) -> None:
        """Queue work from any thread; whoever calls bounds what waits."""
        self._queue.put((work, 0))

    def settle(self) -> None:
        """Give the bytes of what was read since back to the budget; on the event loop's thread."""
        while self._read_bytes:
            size = self._read_bytes.popleft()
            self._admission.release(size)
            self.unread_bytes -= size

    def stop(self, timeout_seconds: float, last: Callable[[], None] = lambda: None) -> bool:
        """Read what waits, for at most so long; False where something was left. `last` is done on this thread at the end, also
        where something is left: a part of the time is kept for it.
        """
        self._last = last
        self._queue.put(None)
        kept = min(LAST_SECONDS, timeout_seconds / 4)
        self._thread.join(timeout_seconds - kept)
        self._cut = self._thread.is_alive()
        self._thread.join(kept)
        return not self._cut

    def _run(self) -> None:
        self._read()
        try:
            self._last()
        except Exception as error:  # noqa: BLE001 - the process ends all the same
            self._tell(error)

    def _read(self) -> None:
        while not self._cut and (item := self._queue.get()) is not None:
            work, size = item
            self._began = self._clock()
            try:
                if not isinstance(work, Trace):
                    work()
                    continue
                count_oddities(work, self._counts)
                observations = self._observer.observe(work)
                for observation in observations:
                    self._consume(observation, size)
                self._watch(work, observations)
                self._counts.add("lanewatch_traces_read")
            except Exception as error:  # noqa: BLE001 - one trace is lost and counted, the others go on
                self._counts.add("lanewatch_adapter_errors")
                self._tell(error)
            finally:
                self._began = None
                self._read_bytes.append(size)

    def _tell(self, error: Exception) -> None:
        """Log an error once a place, without its message, which may hold content."""
        place = place_of(error)
        if place not in self._said:
            self._said.add(place)
            logger.error("a trace could not be read: %s (further ones are only counted)", place, extra={"fault": place})
