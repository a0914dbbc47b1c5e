"""The one way in, for both receivers and for recorded files: credentials, room, size, unpack, deliver, count.

Invariants:

- A request is delivered and counted as a whole, or refused as a whole and counted under one reason; rejected items of
  an accepted request are counted by reason, and the client is told their exact number.
- `deliver` runs on the event loop's thread alone, since the assembler has a single owner. A body of more than
  `inline_bytes` (`inline_json_bytes`), before or after inflating, or of very many parts, is unpacked by one worker thread,
  and many items are delivered in slices, so that neither stops the loop from answering others.
- What the data does never ends in INTERNAL, and nothing of the data gets into a message or a log line.
"""

import asyncio
import hmac
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from itertools import zip_longest
from typing import Any

import msgspec

from lanewatch.collector.admission import Admission, Lease, MiB
from lanewatch.collector.counts import Counts, Metric
from lanewatch.collector.decode import DecodeLimits
from lanewatch.collector.error_place import place_of
from lanewatch.collector.limits import Overwork
from lanewatch.collector.outcomes import RefusalReason, Refused, capped
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.responses import Media, Receipt
from lanewatch.collector.skeleton_groups import Skeletons
from lanewatch.collector.spans import Decoded, RejectReason, Signal
from lanewatch.collector.unpack import plain_body, unpack

logger = logging.getLogger(__name__)


class Transport(StrEnum):
    """How a request came in."""

    GRPC = "grpc"
    HTTP = "http"
    FILE = "file"


_ACCEPTED_REQUESTS = "lanewatch_requests"
_REFUSED_REQUESTS = "lanewatch_requests_refused"
_RECEIVED = "lanewatch_spans_received"
_REJECTED = "lanewatch_spans_rejected"
_MALFORMED_LINKS = "lanewatch_malformed_links"

Take = Callable[[bytes], Callable[[], None]]
ARTIFACTS, OUTCOME_FACTS = "artifacts", "outcomes"  # beside the signals
_SIGNAL_PROTOCOL = tuple((signal, protocol) for signal in Signal for protocol in (Transport.GRPC, Transport.HTTP))

METRICS = (
    Metric(
        _ACCEPTED_REQUESTS,
        "Export requests accepted; with the refused ones they are all that came.",
        ("signal", "protocol"),
        (*_SIGNAL_PROTOCOL, (ARTIFACTS, Transport.HTTP), (OUTCOME_FACTS, Transport.HTTP)),
    ),
    Metric(
        _REFUSED_REQUESTS,
        "Requests refused as a whole, by reason.",
        ("reason",),
        tuple((reason,) for reason in RefusalReason),
    ),
    Metric(
        _RECEIVED,
        "Spans (log records where the signal is logs) of accepted requests, the rejected ones among them.",
        ("signal", "protocol"),
        _SIGNAL_PROTOCOL,
    ),
    Metric(
        _REJECTED,
        "Spans and log records rejected singly out of accepted requests, by reason.",
        ("reason",),
        tuple((reason,) for reason in RejectReason),
    ),
    Metric(
        _MALFORMED_LINKS,
        "Parent ids, and log records' span ids, that no span can have: left out, while the span or log record is kept.",
    ),
)


class IntakeLimits(msgspec.Struct, frozen=True):
    """64 MiB, before and after decompression, is what the OTLP specification recommends."""

    max_request_bytes: int = 64 * MiB
    max_artifact_bytes: int = 4 * MiB
    inline_bytes: int = MiB  # measured: docs/decisions/0003-otlp-http-without-a-framework.md
    inline_json_bytes: int = MiB // 16  # JSON takes ten times as long, and its parts can't be counted beforehand
    inline_work: int = 10_000  # parts: `DecodeLimits.max_work`
    slice_items: int = 512  # the batch of an SDK; one slice opens, and makes room for, so many traces at the worst
    slice_bytes: int = MiB  # a resend is compared with what is held: both are digested, at about 500 MB a second
    decode: DecodeLimits = DecodeLimits()


class Intake:
    """Takes requests in. Belongs to the event loop's thread, all but the unpacking of big bodies."""

    def __init__(
        self,
        deliver: Callable[[Decoded], None],
        relevance: Relevance,
        limits: IntakeLimits,
        counts: Counts,
        admission: Admission,
        *,
        token: str | None = None,
        push: Take | None = None,
        tell: Take | None = None,
    ) -> None:
        """`counts` holds `METRICS`. With a `token`, each request must carry it: `authorization: Bearer <token>`.

        `push` takes the JSON of an evaluator's artifact and `tell` that of an outcome, of at most `max_artifact_bytes`.
        They raise `Refused`, on any thread, and give back what is to be done on the event loop's.
        """
        self.limits = limits
        self._deliver = deliver
        self._push = push
        self._tell = tell
        self._unpack = partial(unpack, relevance=relevance, limits=limits.decode)
        self._unpack_inline = partial(
            unpack, relevance=relevance, limits=msgspec.structs.replace(limits.decode, max_work=limits.inline_work)
        )
        self._counts = counts
        self._admission = admission
        self._token = token.encode() if token else None
        self._stopping = False
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lanewatch-unpack")
        self._working: set[asyncio.Task[Any]] = set()
        self._said: set[str] = set()

    @property
    def wants_credentials(self) -> bool:
        """Whether requests must carry a token."""
        return self._token is not None

    def open(self, credentials: str | bytes | None = None, declared_bytes: int = 0) -> Lease:
        """Check all that can be told before a body is read; raises `Refused`, counted.

        `credentials` is the value of the `authorization` header.
        """
        lease = Lease(self._admission)
        with self._counting(lease):
            if self._stopping:
                raise Refused(RefusalReason.STOPPING)
            self._authorise(credentials)
            self._check_size(declared_bytes)
            lease.grow(0)
        return lease

    def grow(self, lease: Lease, n_bytes: int) -> None:
        """Make room for `n_bytes` more of a body; raises `Refused`, counted, and then the lease is released."""
        with self._counting(lease):
            self._check_size(lease.held_bytes + n_bytes)
            lease.grow(n_bytes)

    def accept(
        self,
        body: bytes,
        *,
        signal: Signal,
        media: Media,
        encoding: str = "",
        protocol: Transport,
        credentials: str | bytes | None = None,
    ) -> Receipt:
        """Take in a whole request on the calling thread, whatever its size; raises `Refused`, counted."""
        lease = self.open(credentials, len(body))
        self.grow(lease, len(body))
        with self._counting(lease):
            decoded = self._unpack(
                body, signal=signal, media=media, encoding=encoding, max_bytes=self.limits.max_request_bytes
            )
            self._deliver(decoded)
        lease.release()
        return self._receipt(decoded, signal, protocol)

    def submit(
        self, body: bytes, *, signal: Signal, media: Media, encoding: str = "", protocol: Transport, lease: Lease
    ) -> Receipt | asyncio.Future[Receipt]:
        """Take in a body that `lease` holds, and release it: a Receipt at once when it is small, else a future.

        Both raise `Refused`, counted. A future's work goes on when nobody waits for it any more: the client will
        send the request again then, and duplicates are normal in OTLP.
        """
        request: dict[str, Any] = {"signal": signal, "media": media, "encoding": encoding}
        with self._counting(lease):
            decoded = self._inline(partial(self._unpack_inline, body, **request), len(body), media)
            small = decoded is not None and max(len(decoded.spans), len(decoded.logs)) <= self.limits.slice_items
            if decoded is not None and small:
                self._deliver(decoded)
        if decoded is not None and small:
            lease.release()
            return self._receipt(decoded, signal, protocol)
        job = partial(self._unpack, body, max_bytes=self.limits.max_request_bytes, **request)
        task = asyncio.get_running_loop().create_task(self._later(decoded or job, signal, protocol, lease))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return asyncio.shield(task)

    def take_pushed(
        self, body: bytes, *, encoding: str, lease: Lease, outcome: bool = False
    ) -> asyncio.Future[None] | None:
        """Take in an evaluator's artifact, or an `outcome`, that `lease` holds, and release it: at once when it is small, else
        a future is returned. Both raise `Refused`, counted.
        """
        take = self._tell if outcome else self._push
        limit = min(self.limits.max_artifact_bytes, self.limits.max_request_bytes)
        name = OUTCOME_FACTS if outcome else ARTIFACTS
        with self._counting(lease):
            if take is None:
                raise Refused(RefusalReason.UNKNOWN_PATH)
            if len(body) > limit:
                raise Refused(RefusalReason.TOO_LARGE, f"more than {limit} bytes, which is max_artifact_bytes")
            if not encoding and len(body) <= self.limits.inline_json_bytes:
                take(body)()
                self._pushed(name, lease)
                return None
        task = asyncio.get_running_loop().create_task(
            self._take_later(lambda: take(plain_body(body, encoding, limit)), name, lease)
        )
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return asyncio.shield(task)

    async def _take_later(self, job: Callable[[], Callable[[], None]], name: str, lease: Lease) -> None:
        with self._counting(lease):
            done = await asyncio.get_running_loop().run_in_executor(self._worker, job)
            done()
        self._pushed(name, lease)

    def _pushed(self, name: str, lease: Lease) -> None:
        lease.release()
        self._counts.add(_ACCEPTED_REQUESTS, name, Transport.HTTP)

    def refuse(self, refused: Refused) -> Refused:
        """Count a refusal that a receiver found by itself, and say so in the log the first time; returns it to raise."""
        reason = refused.reason
        self._counts.add(_REFUSED_REQUESTS, reason)
        self._log_once(reason, f"request refused: {refused} (further ones are only counted)", reason=reason.value)
        return refused

    def fault(self, error: Exception) -> Refused:
        """INTERNAL for an exception out of our own code; counted, and logged once a place, without its message.

        The message may hold content: `KeyError('<an attribute's value>')`.
        """
        text = place_of(error)
        self._log_once(text, f"a fault of Lanewatch's own: {text} (further ones are only counted)", fault=text)
        return self.refuse(Refused(RefusalReason.INTERNAL))

    def stop(self) -> None:
        """Refuse requests from now on; those that are open may still finish."""
        self._stopping = True

    async def close(self) -> None:
        """Wait for the worker. Nothing is delivered after this returns."""
        self.stop()
        while self._working:
            await asyncio.wait(self._working)
        self._worker.shutdown(wait=True)

    def _inline(self, job: Callable[..., Decoded], n_bytes: int, media: Media) -> Decoded | None:
        """Unpack now, or None where that would hold up the loop."""
        limits, limit = self.limits, self.limits.max_request_bytes
        inline = min(limits.inline_bytes, limits.inline_json_bytes) if media is Media.JSON else limits.inline_bytes
        if n_bytes > inline:
            return None
        try:
            return job(max_bytes=min(inline, limit))
        except Refused as refused:
            # What is inflated in vain is at most inline_bytes: 3 % of what the worker then does at the least.
            if refused.reason is RefusalReason.TOO_LARGE_INFLATED and inline < limit:
                return None
            raise
        except Overwork:  # after 20 ms in vain: one in a thousand bodies of an honest exporter comes near it
            return None

    async def _later(
        self, work: Decoded | Callable[[], Decoded], signal: Signal, protocol: Transport, lease: Lease
    ) -> Receipt:
        """Unpack in the worker what was not unpacked yet, and deliver it in slices."""
        with self._counting(lease):
            loop = asyncio.get_running_loop()
            decoded = work if isinstance(work, Decoded) else await loop.run_in_executor(self._worker, work)
            for part in _slices(decoded, self.limits.slice_items, self.limits.slice_bytes):
                self._deliver(part)
                await asyncio.sleep(0)
        lease.release()
        return self._receipt(decoded, signal, protocol)

    @contextmanager
    def _counting(self, lease: Lease) -> Iterator[None]:
        """Whatever goes wrong inside is counted, becomes a `Refused`, and gives the lease back."""
        try:
            yield
        except Refused as refused:
            lease.release()
            raise self.refuse(refused) from None
        except MemoryError:
            lease.release()
            raise self.refuse(Refused(RefusalReason.MEMORY_LIMIT)) from None
        except Exception as error:  # noqa: BLE001 - the one net under our own code
            lease.release()
            raise self.fault(error) from None

    def _authorise(self, credentials: str | bytes | None) -> None:
        if self._token is None:
            return
        raw = credentials.encode("utf-8", "replace") if isinstance(credentials, str) else credentials or b""
        scheme, _, token = raw.partition(b" ")
        # Compared in constant time, and also where the scheme is wrong.
        if not hmac.compare_digest(token.strip(), self._token) or scheme.lower() != b"bearer":
            raise Refused(RefusalReason.CREDENTIALS)

    def _check_size(self, n_bytes: int) -> None:
        if n_bytes > self.limits.max_request_bytes:
            raise Refused(RefusalReason.TOO_LARGE, f"more than {self.limits.max_request_bytes} bytes")

    def _receipt(self, decoded: Decoded, signal: Signal, protocol: Transport) -> Receipt:
        rejected = sum(decoded.rejected.values())
        accepted = len(decoded.spans) + len(decoded.skeletons) + len(decoded.logs) + decoded.unrelated_logs
        self._counts.add(_ACCEPTED_REQUESTS, signal, protocol)
        self._counts.add(_RECEIVED, signal, protocol, n=accepted + rejected)
        self._counts.add(_MALFORMED_LINKS, n=decoded.malformed_links)
        if not rejected:
            return Receipt(accepted)
        for reason, n in decoded.rejected.items():
            self._counts.add(_REJECTED, reason, n=n)
        reasons = ", ".join(f"{reason} {n}" for reason, n in sorted(decoded.rejected.items()))
        items = "spans" if signal is Signal.TRACES else "log records"
        return Receipt(accepted, rejected, capped(f"{rejected} of {accepted + rejected} {items} rejected: {reasons}"))

    def _log_once(self, key: str, text: str, **fields: str) -> None:
        # The keys are places in our code and reasons, so there are few of them.
        if key not in self._said:
            self._said.add(key)
            logger.warning(text, extra=fields)


def _slices(decoded: Decoded, size: int, n_bytes: int) -> Iterator[Decoded]:
    """The same items in parts of at most `size` of each kind and, but for one item, `n_bytes`; what is only counted goes with
    the first.
    """
    kinds = zip_longest(
        _runs(decoded.spans, size, n_bytes), decoded.skeletons.parts(size), _runs(decoded.logs, size, n_bytes)
    )
    whole = decoded
    for spans, bare, logs in kinds:
        yield msgspec.structs.replace(whole, spans=spans or [], skeletons=bare or Skeletons(), logs=logs or [])
        whole = Decoded([], Skeletons(), [], unrelated_logs=0, rejected={})
    if whole is decoded:
        yield decoded


def _runs(items: list[Any], size: int, n_bytes: int) -> Iterator[list[Any]]:
    start = held = 0
    for at, item in enumerate(items):
        if at > start and (at - start >= size or held + item.size_bytes > n_bytes):
            yield items[start:at]
            start, held = at, 0
        held += item.size_bytes
    if items:
        yield items[start:]
