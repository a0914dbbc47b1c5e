"""Sends scores to an OTLP endpoint, so that any backend shows them beside the span they are of.

Invariants: what waits is bounded in number and in bytes, and what finds no room is counted as dropped; a batch that the
endpoint does not take within the exporter's retries is counted as failed; nothing here ever waits on the caller's thread.
The exporter is OpenTelemetry's own (`lanewatch[export]`), which also reads OTEL_EXPORTER_OTLP_LOGS_HEADERS and its kin.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from lanewatch.judging.score_events import EVENT_NAME, ScoreEvent

logger = logging.getLogger(__name__)

OWN_SCOPE = "lanewatch"  # what comes back to us under this name is no traffic
EXPORTED, FAILED, DROPPED = "exported", "failed", "dropped"
OUTCOMES = (EXPORTED, FAILED, DROPPED)
BATCH, BATCH_SECONDS = 200, 5.0
MAX_WAITING, MAX_BYTES = 5_000, 8 * 2**20
TIMEOUT_SECONDS = 10.0  # of one batch, with all its retries

Send = Callable[[Sequence[ScoreEvent]], bool]


class ExportUnavailableError(Exception):
    """The exporter is not installed. `str()` says the remedy."""


class ScoreExport:
    """`offer` on any thread; a thread of its own sends. `count` is called with an outcome and how many."""

    def __init__(
        self,
        send: Send,
        count: Callable[[str, int], None],
        *,
        batch_seconds: float = BATCH_SECONDS,
        max_waiting: int = MAX_WAITING,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._count = count
        self._batch_seconds = batch_seconds
        self._max_waiting, self._max_bytes = max_waiting, max_bytes
        self._clock = clock
        self._bytes = 0
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[ScoreEvent | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lanewatch-scores", daemon=True)
        self._failing = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def offer(self, event: ScoreEvent) -> None:
        """Queue an event, or count it as dropped."""
        size = event.size()
        with self._lock:
            full = self._queue.qsize() >= self._max_waiting or self._bytes + size > self._max_bytes
            if not full and not self._stopping.is_set():
                self._bytes += size
                self._queue.put(event)
                return
        self._count(DROPPED, 1)

    def stop(self, timeout_seconds: float) -> None:
        """Send what waits for at most so long; the rest is counted as dropped."""
        with self._lock:
            self._stopping.set()
        self._queue.put(None)
        self._thread.join(timeout_seconds)
        left = 0
        while True:
            try:
                left += self._queue.get_nowait() is not None
            except queue.Empty:
                break
        if left:
            self._count(DROPPED, left)

    def _run(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._batch()
            if batch:
                self._deliver(batch)

    def _batch(self) -> tuple[list[ScoreEvent], bool]:
        """(events that came within the batch's time after the first, whether no further one comes)."""
        batch: list[ScoreEvent] = []
        deadline: float | None = None
        ended = False
        while len(batch) < BATCH and not ended:
            wait = None if deadline is None else deadline - self._clock()
            if wait is not None and wait <= 0:
                break
            try:
                event = self._queue.get(timeout=wait)
            except queue.Empty:
                break
            if event is None:
                ended = True
                continue
            batch.append(event)
            deadline = deadline if deadline is not None else self._clock() + self._batch_seconds
        with self._lock:
            self._bytes -= sum(event.size() for event in batch)
        return batch, ended

    def _deliver(self, batch: list[ScoreEvent]) -> None:
        try:
            taken = self._send(batch)
        except Exception as error:  # noqa: BLE001 - an exporter's fault must not end the thread
            taken = False
            logger.error("scores could not be sent: %s", type(error).__name__)  # noqa: TRY400 - a message may hold content
        self._count(EXPORTED if taken else FAILED, len(batch))
        if self._failing is taken:  # said once a change, not once a batch
            if taken:
                logger.info("the endpoint of scores takes them again")
            else:
                logger.warning(
                    "the endpoint of scores did not take a batch of %d; these are lost and counted (check judge.scores_endpoint)",
                    len(batch),
                )
        self._failing = not taken


def logs_url(endpoint: str) -> str:
    """The URL of the logs signal. An endpoint without a path gets the one of the OTLP specification.

    >>> logs_url("http://collector:4318"), logs_url("https://otlp.example/otel/v1/logs")
    ('http://collector:4318/v1/logs', 'https://otlp.example/otel/v1/logs')
    """
    return endpoint.rstrip("/") + "/v1/logs" if urlsplit(endpoint).path in ("", "/") else endpoint


def otlp_sender(endpoint: str, version: str) -> Send:
    """Sends batches as OTLP/HTTP logs. Raises ExportUnavailableError where the exporter is not installed."""
    try:
        import requests  # noqa: PLC0415 - 14 MB, for those who send scores
        from opentelemetry._logs import LogRecord, SeverityNumber  # noqa: PLC0415
        from opentelemetry.context import Context  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter  # noqa: PLC0415
        from opentelemetry.sdk._logs import ReadableLogRecord  # noqa: PLC0415
        from opentelemetry.sdk._logs.export import LogRecordExportResult  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415
        from opentelemetry.trace import (  # noqa: PLC0415
            NonRecordingSpan,
            SpanContext,
            TraceFlags,
            set_span_in_context,
        )
    except ImportError as missing:
        raise ExportUnavailableError(
            f"judge.scores_endpoint is set, and {missing.name} is not installed: pip install '.[export]' in a checkout"
        ) from None
    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)  # an answer's text is not ours to log
    session = requests.Session()
    session.max_redirects = 0  # explanations go to the endpoint that was named, and to no other
    exporter = OTLPLogExporter(logs_url(endpoint), timeout=TIMEOUT_SECONDS, session=session)
    resource = Resource({"service.name": "lanewatch", "service.version": version})
    scope = InstrumentationScope(OWN_SCOPE, version)

    def record(event: ScoreEvent) -> ReadableLogRecord:
        judged = SpanContext(
            int(event.trace_id, 16),
            int(event.span_id or "0", 16),
            is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )
        return ReadableLogRecord(
            LogRecord(
                timestamp=event.time_ns,
                observed_timestamp=event.time_ns,
                context=set_span_in_context(NonRecordingSpan(judged), Context()),
                severity_number=SeverityNumber.INFO,
                event_name=EVENT_NAME,
                attributes=event.attributes,
            ),
            resource=resource,
            instrumentation_scope=scope,
        )

    return lambda batch: exporter.export([record(event) for event in batch]) is LogRecordExportResult.SUCCESS
