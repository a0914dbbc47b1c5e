"""One HTTP exchange with an endpoint: what was sent goes to the configured URL and nowhere else, what comes back is bounded.

Invariants: no redirect is followed, since traced text must not reach a URL that an answer names; proxies and netrc of the environment
are not used unless configured; certificates are verified; the body is read up to a limit before and after
inflating; the whole exchange ends within `seconds`, however slowly bytes drip. Nothing is logged here, the key least of all.
"""

import asyncio
import contextlib
import functools
import ssl
import time
from collections.abc import Callable
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Protocol

import msgspec

from lanewatch.collector.inflate import CorruptBody, InflatedTooLarge, UnknownCoding, inflate
from lanewatch.monitors.judge.results import Reason

if TYPE_CHECKING:
    import httpx

# A completion of 4,096 tokens is about 20 KB, 64 embeddings of 3,072 numbers 4 MB.
MAX_RESPONSE_BYTES = 8 * 1024 * 1024
_MAX_RETRY_AFTER = 86_400.0
_LONGEST_RETRY_AFTER = 64  # characters; a date has 29
_HTTP_OK = 200
_MAX_ERROR_BYTES = (
    4096  # of an error, what it is stands at its begin; some repeat the whole prompt after it, and this is stored
)
_REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id")


class Exchange(msgspec.Struct, frozen=True):
    """How far one got: `fault` is empty where a whole response came, of whatever `status`. Kept in the journal."""

    status: int = 0
    body: bytes = b""
    fault: Reason = Reason.NONE  # TIMEOUT, UNREACHABLE, or JUDGE_INVALID for a body that can't be read or is too large
    request_id: str | None = None
    retry_after: float | None = None
    seconds: float = 0.0
    unsent: bool = False  # no connection came about, so that nobody can have read it


class Sends(Protocol):
    """What an endpoint asks through; a test's own may stand in."""

    async def post(self, path: str, body: bytes, key: str) -> Exchange:
        """Send one JSON body to base URL + path, with `key` as Idempotency-Key. Never raises for what the network does."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


class HttpSender:
    """Over httpx. Raises ValueError, without naming either, for a base URL or a key that can't be used."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        seconds: float = 30.0,
        trust_env: bool = False,
        max_bytes: int = MAX_RESPONSE_BYTES,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`clock` gives seconds that only grow, `now` Unix seconds, against which a date is held that an endpoint names."""
        import httpx  # noqa: PLC0415 - an extra, and of the worker alone

        if not api_key.isascii() or any(not letter.isprintable() for letter in api_key):
            raise ValueError("[judge] api_key has characters that no HTTP header carries")
        if not base_url.startswith(("http://", "https://")):
            raise ValueError("[judge] base_url has to begin with http:// or https://")
        headers = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self._client: httpx.AsyncClient = httpx.AsyncClient(
            headers=headers, timeout=seconds, follow_redirects=False, trust_env=trust_env, verify=_tls(trust_env)
        )
        self._base = base_url.rstrip("/")
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._clock, self._now = clock, now

    async def post(self, path: str, body: bytes, key: str) -> Exchange:
        """Send; see `Sends`."""
        import httpx  # noqa: PLC0415

        began = self._clock()
        try:
            async with asyncio.timeout(self._seconds):
                exchange = await self._post(path, body, key)
        except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.InvalidURL):
            exchange = Exchange(fault=Reason.UNREACHABLE, unsent=True)
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            exchange = Exchange(fault=Reason.TIMEOUT, unsent=True)
        except (TimeoutError, httpx.TimeoutException):
            exchange = Exchange(fault=Reason.TIMEOUT)
        except (httpx.HTTPError, OSError):
            exchange = Exchange(fault=Reason.UNREACHABLE)
        return msgspec.structs.replace(exchange, seconds=self._clock() - began)

    async def _post(self, path: str, body: bytes, key: str) -> Exchange:
        request = self._client.build_request(
            "POST", self._base + path, content=body, headers={"idempotency-key": key} if key else None
        )
        response = await self._client.send(request, stream=True)
        try:
            return await self._read(response)
        finally:
            await response.aclose()

    async def _read(self, response: "httpx.Response") -> Exchange:
        headers = response.headers
        exchange = Exchange(
            response.status_code,
            request_id=next((headers[name][:128] for name in _REQUEST_IDS if name in headers), None),
            retry_after=_seconds_of(headers.get("retry-after", ""), self._now),
        )
        raw = bytearray()
        async for chunk in response.aiter_raw():
            raw += chunk
            if len(raw) > self._max_bytes:
                return msgspec.structs.replace(exchange, fault=Reason.JUDGE_INVALID)
        try:
            plain = inflate(bytes(raw), headers.get("content-encoding", ""), self._max_bytes)
        except (CorruptBody, InflatedTooLarge, UnknownCoding):
            return msgspec.structs.replace(exchange, fault=Reason.JUDGE_INVALID)
        return msgspec.structs.replace(
            exchange, body=plain if exchange.status == _HTTP_OK else plain[:_MAX_ERROR_BYTES]
        )

    async def close(self) -> None:
        """Close the connections."""
        with contextlib.suppress(OSError):
            await self._client.aclose()


@functools.cache
def _tls(trust_env: bool) -> ssl.SSLContext:
    """What certificates are verified with: certifi's list, or SSL_CERT_FILE with `trust_env`. Reading it takes 20 ms."""
    import httpx  # noqa: PLC0415

    return httpx.create_ssl_context(verify=True, trust_env=trust_env)


def _seconds_of(retry_after: str, now: Callable[[], float]) -> float | None:
    """Seconds of a Retry-After, be it seconds or a date (RFC 9110, 10.2.3); None where it is neither: then pauses double."""
    text = retry_after.strip()
    if len(text) > _LONGEST_RETRY_AFTER or not text.isascii():
        return None
    if text.replace(".", "", 1).isdecimal():
        return min(float(text), _MAX_RETRY_AFTER)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now()
    return min(max(0.0, seconds), _MAX_RETRY_AFTER)
