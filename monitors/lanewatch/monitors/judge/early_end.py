"""Ends the judging process at once while it only gets ready: importing Ragas takes seconds, in which no event loop runs.

Invariant: to be used only while nothing is claimed and no transaction is open. What was left behind by another process waits in the
store, and its lock goes with this one.
"""

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator

LOOK_SECONDS = 0.1


@contextlib.contextmanager
def ends_at_once(end: Callable[[], None] = lambda: os._exit(0)) -> Iterator[None]:
    """Until it is left, the end of standard input or SIGTERM calls `end`. Belongs to the main thread; a loop's own handler of
    SIGTERM works again afterwards, since what wakes the loop stays as it was.
    """
    ready = threading.Event()
    watcher = threading.Thread(target=_watch, args=(ready, end), name="lanewatch-early-end", daemon=True)
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: end())
    watcher.start()
    try:
        yield
    finally:
        ready.set()
        watcher.join()
        signal.signal(signal.SIGTERM, before)


def _watch(ready: threading.Event, end: Callable[[], None]) -> None:
    while not ready.is_set():
        readable, _, _ = select.select([0], [], [], LOOK_SECONDS)
        if readable and not os.read(0, 4096):
            end()
            return
