"""The sidecar: builds the parts, starts them in order, and stops them in reverse within the drain time.

OTLP -> receivers -> intake -> assembler -> (its own thread) record, divergences, lanes -> readings -> /metrics.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable

from lanewatch import parts
from lanewatch.adapters.producers import UnknownProducerError
from lanewatch.collector.admission import Admission, Pressure, give_back_free_memory, resident_bytes
from lanewatch.collector.assembler import Assembler
from lanewatch.collector.counts import Counts
from lanewatch.collector.intake import Intake
from lanewatch.collector.receive_grpc import GrpcReceiver
from lanewatch.collector.receive_http import HttpReceiver
from lanewatch.collector.spans import CloseReason, Decoded
from lanewatch.config.keys import Config
from lanewatch.handoffs.desk import HandoffDesk
from lanewatch.monitors.exposition import Count, Exposition
from lanewatch.monitors.readings import Revisions, ragas_readings, reference_readings, unclaimed_readings
from lanewatch.monitors.reference_calls import RagasToolScores, compare_reference
from lanewatch.monitors.rule_readings import known_series, unclaimed_outcome
from lanewatch.observation import Observation, Observer, with_artifacts
from lanewatch.observation_readings import observation_readings
from lanewatch.pages.rendering import Rendering
from lanewatch.pages.server import bind, page_server, pages
from lanewatch.producing.producer_set import ProducerSet
from lanewatch.producing.producer_thread import ProducerThread
from lanewatch.producing.reference_scores import Referenced, ReferenceScorer
from lanewatch.producing.reference_thread import ReferenceThread
from lanewatch.pushes.artifact_desk import ArtifactDesk, Unclaimed
from lanewatch.pushes.artifact_push import parse_push
from lanewatch.pushes.outcome_box import OutcomeBox
from lanewatch.pushes.outcome_push import parse_outcome
from lanewatch.rules import rules_of, summary
from lanewatch.sidecar.content_hints import ContentHints
from lanewatch.sidecar.descriptors import connections_each, raise_soft_limit
from lanewatch.sidecar.gauges import gauges
from lanewatch.sidecar.listeners import ListenerError, listening
from lanewatch.sidecar.loop_faults import LoopFaults
from lanewatch.sidecar.reading_thread import ReadingThread
from lanewatch.sidecar.reading_watch import ReadingWatch

__all__ = ["ListenerError", "Sidecar", "UnknownProducerError", "run_sidecar"]

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.25
STALLED_SECONDS = 15.0  # the loop has not turned for so long: not alive
DRIFT_SECONDS = 1.0  # between two looks at whether a tick of drift is over
DRIFT_WAITING = 1000  # traces that wait: drift waits too, since it closes ticks by the traces' own time
CLOSINGS_AT_ONCE = 1_000
SWITCH_SECONDS = 0.0005
GARBAGE_OBJECTS = 50_000  # new ones at which Python looks for cycles among the youngest; its own number is 700
FORCED = 3  # exit status after a second signal


class Sidecar:
    """All parts of one process. `run` is its life."""

    def __init__(
        self,
        config: Config,
        *,
        clock: Callable[[], float] = time.monotonic,
        observer: Callable[[Observation], None] = lambda _: None,
    ) -> None:
        """`observer` is told of each observation, on the reading thread, after it was counted."""
        self._config = config
        self._observer = observer
        self._hints = ContentHints()
        self.drift = parts.drift_watch(config)
        self._clock = clock
        self._turned = self._drift_due = clock()
        self._ready = False
        self._stopping = asyncio.Event()
        self._signals = 0
        own = (
            "lanewatch_traces_read",
            "lanewatch_odd_spans",
            "lanewatch_adapter_errors",
            "lanewatch_handoff_lines",
            "lanewatch_revisions_uncounted",
        )
        self.counts = Counts(tuple(metric for metric in parts.COUNTS if metric.name not in own))
        self.reading_counts = Counts(tuple(metric for metric in parts.COUNTS if metric.name in own))
        self.admission = Admission(
            parts.admission_limits(config),
            clock=clock,
            read_memory=resident_bytes,
            relieve=self._relieve,
        )
        rules = rules_of(config)
        self.reading = ReadingThread(
            self._consume,
            Observer(rules=rules),
            self.reading_counts,
            self.admission,
            clock=clock,
            **({} if self.drift is None else {"watch": self.drift.see}),
        )
        self.watch = ReadingWatch(self.reading, config.limits.max_in_flight_bytes, clock)
        box = OutcomeBox(parts.box_limits(config), clock, lambda: self.exposition.add(unclaimed_outcome()))
        self.desk = ArtifactDesk(
            parts.desk_limits(config), clock, self._unclaimed, rules.registry, self._referenced, box
        )
        self._registry = rules.registry
        self.references = ReferenceThread(
            ReferenceScorer(parts.producer_limits(config)),
            lambda given, scores: self.reading.do_soon(lambda: self._scored(given, scores)),
            max_bytes=config.artifacts.waiting_bytes,
        )
        self.producers = ProducerThread(
            ProducerSet(parts.producer_names(config), parts.producer_limits(config), rules.registry),
            lambda seen, compared: self.reading.do_soon(lambda: self._count_all(self.desk.produced(seen, compared))),
            max_bytes=config.artifacts.waiting_bytes,
        )
        self.assembler = Assembler(
            self.reading.take, parts.assembler_limits(config), self.counts, closings_at_once=CLOSINGS_AT_ONCE
        )
        token = config.receivers.bearer_token
        secret = token.get_secret_value() if token is not None else None
        self.intake = Intake(
            self._gather,
            parts.RELEVANCE,
            parts.intake_limits(config),
            self.counts,
            self.admission,
            token=secret,
            push=self._push,
            tell=self._tell,
        )
        connections = connections_each(config.receivers.max_connections, raise_soft_limit())
        self.http = HttpReceiver(self.intake, parts.http_settings(config, connections), clock=clock)
        self.grpc = GrpcReceiver(self.intake, parts.grpc_settings(config, connections))
        self.exposition = Exposition(
            max_services=config.metrics.max_services,
            max_tools=config.metrics.max_tools,
            known=known_series(rules.policies),
        )
        self.exposition.watch(self.counts, gauges(self, config))
        self.exposition.watch(self.reading_counts, {})
        self.exposition.watch_tools(rules.registry)
        self.exposition.watch_rules(rules.registry.version, rules.policy_version)
        if self.drift is not None:
            self.exposition.watch(self.drift.counts, {})
            self.exposition.watch_drift(self.drift.view)
        self.handoffs = HandoffDesk(config, rules, clock)
        self.judge = parts.judge(config, rules, self.exposition, clock)
        if self.judge is not None and self.drift is not None:
            canaries = self.judge.canaries
            self.drift.judges_that_drift = lambda: canaries.drifting
        self._revisions: Revisions[Count] = Revisions(config.assembler.closed_traces_remembered)
        self._rendering = Rendering(lambda openmetrics: self.exposition.text(openmetrics=openmetrics))
        self._pages = page_server(
            pages(self._rendering.text, self, parts.drift_pages(self.drift, self.reading.do_soon, secret))
        )
        self.page_port = 0

    # ---- the path of a span, behind the receivers

    def _gather(self, decoded: Decoded) -> None:
        self.assembler.add(decoded, self._clock())

    def _consume(self, observation: Observation, size: int) -> None:
        skipped = self.producers.offer(observation, size)
        seen, *others = self.desk.seen(with_artifacts(observation, skipped) if skipped else observation, size)
        self._count(seen, again=observation.again)
        self._count_all(others)

    def _push(self, body: bytes) -> Callable[[], None]:
        pushed = parse_push(body)
        size = max(len(body), pushed.memory())
        return lambda: self.reading.do(lambda: self._count_all(self.desk.pushed(pushed, size)), size)

    def _tell(self, body: bytes) -> Callable[[], None]:
        pushed = parse_outcome(body)
        size = max(len(body), pushed.memory())
        return lambda: self.reading.do(lambda: self._count_all(self.desk.told(pushed, size)), size)

    def _unclaimed(self, given_up: Unclaimed) -> None:
        self.exposition.add(unclaimed_readings(given_up.producer, given_up.outcome))

    def _referenced(self, given: Referenced) -> None:
        own = compare_reference(given.artifact, given.reference, self._registry)
        counts = reference_readings(given.service, given.artifact.producer, own.verdict)
        self.exposition.add(counts, given.trace_id or "")
        skipped = self.references.offer(given)
        if skipped is not None:
            self._scored(given, skipped)

    def _scored(self, given: Referenced, scores: RagasToolScores) -> None:
        counts = ragas_readings(given.service, given.artifact.producer, scores.agreement)
        self.exposition.add(counts, given.trace_id or "")

    def _count_all(self, observations: Iterable[Observation]) -> None:
        """What the desk knows better now: each of these traces was counted when it was read."""
        for observation in observations:
            self._count(observation, again=True)

    def _count(self, observation: Observation, *, again: bool) -> None:
        record = observation.record
        counts = observation_readings(observation, self.handoffs)
        change = self._revisions.difference(record.trace_id, self.exposition.bounded(counts), again=again)
        self.exposition.count(change.added, record.trace_id, change.withdrawn)
        if change.unknown:
            self.reading_counts.add("lanewatch_revisions_uncounted")
        if (written := self.handoffs.write(observation)) is not None:
            self.reading_counts.add("lanewatch_handoff_lines", written)
        if self.judge is not None:
            self.judge.see(observation, again=again)
        self._hints.see(record)
        self._observer(observation)

    def _relieve(self, pressure: Pressure) -> None:
        if pressure is Pressure.HARD:
            self.assembler.relieve()
            self.grpc.refuse_unread()
        give_back_free_memory()

    # ---- what the pages ask

    def faults(self) -> dict[str, str]:
        """Parts that do not work, with the remedy."""
        found = self.watch.faults()
        if self._clock() - self._turned > STALLED_SECONDS:
            found["event_loop_stalled"] = "restart the process; give it a whole core if it happens again"
        return found

    def unready(self) -> dict[str, str]:
        """Why no data is taken, with the remedy."""
        found = {} if self._ready else {"starting": "wait"}
        if self._stopping.is_set():
            found["stopping"] = "wait for the next process"
        return found | self.faults()

    # ---- life

    async def run(self, *, started: Callable[["Sidecar"], None] = lambda _: None) -> None:
        """Start, serve until `stop` or a signal, drain. Raises ListenerError where a listener's address is taken."""
        asyncio.get_running_loop().set_exception_handler(LoopFaults())
        metrics, receivers = self._config.metrics, self._config.receivers
        with listening("the pages", metrics.host, metrics.port, "metrics.port"):
            page_socket = bind(metrics.host, metrics.port)
        self.page_port = page_socket.getsockname()[1]
        self.reading.start()
        self.producers.start()
        if self.judge is not None:
            self.judge.start()
        pages_task = asyncio.create_task(self._pages.serve([page_socket]))
        ticker = asyncio.create_task(self._tick())
        try:
            with listening("OTLP/HTTP", receivers.http_host, receivers.http_port, "receivers.http_port"):
                await self.http.start()
            with listening("OTLP/gRPC", receivers.grpc_host, receivers.grpc_port, "receivers.grpc_port"):
                await self.grpc.start()
            self._ready = True
            logger.info(
                "taking OTLP: gRPC on port %d, HTTP on port %d; metrics on port %d",
                self.grpc.port,
                self.http.port,
                self.page_port,
            )
            for line in (*summary(self._config), *parts.judge_summary(self._config)):
                logger.info("%s", line)
            started(self)
            await self._stopping.wait()
        finally:
            await self._drain()
            ticker.cancel()
            self._pages.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await ticker
            await pages_task
            self._rendering.close()
            page_socket.close()

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop; may be asked on any thread."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Begin to stop; a further call changes nothing."""
        if self._stopping.is_set():
            return
        logger.info("stopping: no further request is taken, open traces are closed")
        self._stopping.set()

    def stop_on_signals(self) -> None:
        """SIGTERM and SIGINT stop the sidecar; the second one ends the process at once."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)

    def _signalled(self) -> None:
        # Signals are counted apart from `stop`: the demonstration stops by itself too, and drains then.
        self._signals += 1
        if self._signals > 1:
            logger.warning("a second signal: ending at once, what was open is lost")
            os._exit(FORCED)
        self.stop()

    async def _tick(self) -> None:
        while True:
            self._turned = self._clock()
            while self.assembler.close_due(self._turned) >= CLOSINGS_AT_ONCE:  # noqa: ASYNC110 - nothing to wait for
                await asyncio.sleep(0)
            self.reading.settle()
            self.watch.look()
            self.admission.check_memory()
            if self.drift is not None and self._turned >= self._drift_due and self.reading.waiting < DRIFT_WAITING:
                self._drift_due = self._turned + DRIFT_SECONDS
                self.reading.do_soon(self.drift.tick)
            await asyncio.sleep(TICK_SECONDS)

    async def _drain(self) -> None:
        """Refuse, finish what is open, close every trace, read it, all within the drain time."""
        self._stopping.set()
        deadline = self._clock() + self._config.shutdown.drain_seconds
        self.intake.stop()
        if self.judge is not None:
            self.judge.ease()
        half = self._config.shutdown.drain_seconds / 2
        if self._ready:
            await asyncio.gather(self.http.stop(half), self.grpc.stop(half))
        await self.intake.close()
        closed = self.assembler.close_all(CloseReason.SHUTDOWN)
        waiting = self.reading.waiting
        remaining = max(0.1, deadline - self._clock())
        await asyncio.to_thread(self.producers.stop, min(1.0, remaining / 4))
        await asyncio.to_thread(self.references.stop, min(1.0, remaining / 4))
        self.reading.do_soon(self.desk.close)
        remaining = max(0.1, deadline - self._clock())
        last = (lambda: None) if self.drift is None else self.drift.close
        done = await asyncio.to_thread(self.reading.stop, remaining, last)
        if not self.reading.alive:
            self.watch.close()
        if self.judge is not None:
            await asyncio.to_thread(self.judge.stop, max(0.5, deadline - self._clock()))
        if done:
            logger.info("stopped: closed %d open traces and read them", closed)
        else:
            logger.warning("the drain time is over: about %d closed traces were not read", waiting)


def run_sidecar(config: Config, started: Callable[[Sidecar], None] = lambda _: None) -> None:
    """Run until a signal. Raises ListenerError where an address can't be listened on."""
    # Reading and unpacking are threads that work without a pause. The loop waits for each of them in turn after every system
    # call it makes: ten times for one page, which at 5 ms each is a tenth of a second.
    sys.setswitchinterval(SWITCH_SECONDS)

    async def life() -> None:
        sidecar = Sidecar(config)
        # What is decoded and read has no cycles, and there is much of it: to look for some among objects that are about to be
        # freed took a tenth of all CPU. What was made so far lives as long as the process.
        gc.freeze()
        gc.set_threshold(GARBAGE_OBJECTS)
        sidecar.stop_on_signals()
        await sidecar.run(started=started)

    asyncio.run(life())
