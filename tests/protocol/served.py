"""Both receivers over one intake and a sink, as the tests see them: served from an event loop in another thread."""

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from lanewatch.collector.admission import Admission, AdmissionLimits
from lanewatch.collector.counts import Counts
from lanewatch.collector.http_connection import HttpLimits
from lanewatch.collector.intake import METRICS, Intake, IntakeLimits
from lanewatch.collector.receive_grpc import GrpcReceiver, GrpcSettings
from lanewatch.collector.receive_http import HttpReceiver, HttpSettings
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.spans import Decoded

T = TypeVar("T")

RELEVANCE = Relevance(keys=(b"gen_ai.",), scopes=())


class Loop:
    """An event loop in a thread of its own. One for the whole test run: grpc.aio doesn't like a second one."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.errors: list[dict[str, Any]] = []
        self.loop.set_exception_handler(lambda _, context: self.errors.append(context))
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout: float = 30) -> T:
        """Run a coroutine there and wait for it here."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout)

    def call(self, work: Callable[[], T]) -> T:
        """Call a function on the loop's thread."""

        async def calling() -> T:
            return work()

        return self.run(calling())

    def close(self) -> None:
        """End the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Sink:
    """Takes what is delivered, and keeps it; or raises what it is told to."""

    def __init__(self) -> None:
        self.delivered: list[Decoded] = []
        self.thread: set[int] = set()
        self.fail: Exception | None = None

    def __call__(self, decoded: Decoded) -> None:
        """`deliver`."""
        self.thread.add(threading.get_ident())
        if self.fail is not None:
            raise self.fail
        self.delivered.append(decoded)

    @property
    def items(self) -> int:
        """Spans and log records delivered, whatever they were taken for."""
        return sum(
            len(part.spans) + len(part.skeletons) + len(part.logs) + part.unrelated_logs for part in self.delivered
        )


class Served:
    """Two receivers that run, and what they did."""

    def __init__(
        self,
        loop: Loop,
        *,
        deliver: Callable[[Decoded], None] | None = None,
        limits: IntakeLimits = IntakeLimits(),  # noqa: B008 - frozen
        admission: AdmissionLimits = AdmissionLimits(),  # noqa: B008
        http: HttpLimits = HttpLimits(),  # noqa: B008
        tls: ssl.SSLContext | None = None,
        grpc: GrpcSettings | None = None,
        token: str | None = None,
        read_memory: Callable[[], int] = lambda: 0,
    ) -> None:
        self.loop = loop
        self.sink = Sink()
        self.counts = Counts(METRICS)
        self.admission = Admission(admission, clock=lambda: 0.0, read_memory=read_memory)
        self.intake = Intake(deliver or self.sink, RELEVANCE, limits, self.counts, self.admission, token=token)
        self.http = HttpReceiver(self.intake, HttpSettings(port=0, limits=http, tls=tls))
        self.grpc = GrpcReceiver(self.intake, grpc or GrpcSettings(port=0))
        self.closers: list[Callable[[], object]] = []
        self._stopped = False
        loop.run(self._start())

    def stop(self, grace_seconds: float = 5) -> None:
        """Stop as the app does: refuse, let finish, and see that nothing is delivered afterwards."""
        if not self._stopped:
            self._stopped = True
            self.loop.run(self._stop(grace_seconds))

    def close(self) -> None:
        """End clients and servers."""
        for closer in self.closers:
            closer()
        self.stop(0)

    def refused(self, reason: str) -> int:
        """How often a reason was counted."""
        return self.counts.value("lanewatch_requests_refused", reason)

    def refused_in_the_end(self, n: int, *reasons: str) -> bool:
        """Whether these reasons come to `n`: gRPC's core may answer the client before it tells our handler."""
        return in_the_end(lambda: sum(map(self.refused, reasons)) == n)

    def closes_all(self) -> bool:
        """Whether the HTTP receiver comes to be without connections."""
        return in_the_end(lambda: not self.http.connections)

    async def _start(self) -> None:
        await self.http.start()
        await self.grpc.start()

    async def _stop(self, grace_seconds: float) -> None:
        self.intake.stop()
        await asyncio.gather(self.http.stop(grace_seconds), self.grpc.stop(grace_seconds))
        await self.intake.close()


def in_the_end(holds: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether something of the other thread comes to hold."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.005)
    return holds()
