"""Asks a running sidecar's pages, for the commands that look at one: bounded in bytes and in time, however slowly they come."""

import contextlib
import http.client
import socket
from collections.abc import Iterator
from threading import Event, Timer
from typing import NamedTuple, TypeVar
from urllib.parse import SplitResult, urlsplit

import msgspec

from lanewatch.config.keys import Config

MAX_ANSWER_BYTES = 64 * 2**20
TIMEOUT_SECONDS = 10.0  # without a byte
ANSWER_SECONDS = 30.0  # for the whole answer: a byte every nine seconds would take years

T = TypeVar("T")


class PagesUnreachableError(OSError):
    """Nobody answers there; `str()` says where and what to do."""


class PageAddressError(ValueError):
    """What was given is no address of pages."""


class Answer(NamedTuple):
    """Status and body."""

    status: int
    body: bytes


def decoded(body: bytes, kind: type[T]) -> T:
    """JSON of whoever answered. Raises msgspec.DecodeError, for what is nested too deeply as well."""
    try:
        return msgspec.json.decode(body, type=kind)
    except RecursionError:
        raise msgspec.DecodeError("nested too deeply") from None


class PageClient:
    """One sidecar's pages."""

    answer_seconds = ANSWER_SECONDS

    def __init__(self, url: str | None, config: Config, option: str = "--metrics") -> None:
        """Without a `url` those that the configuration names; `option` is what gave it. Raises PageAddressError."""
        host = config.metrics.host
        # What listens on every address is asked on this machine's own.
        local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
        named = f"[{local}]" if ":" in local else local
        own = f"http://{named}:{config.metrics.port}"
        self._base = _parsed(url or own, option)
        self.configured = url is None or url.rstrip("/") == own
        token = config.receivers.bearer_token
        self._credentials = {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}

    @property
    def address(self) -> str:
        """Where it asks."""
        return self._base.geturl().rstrip("/")

    def get(self, path: str) -> Answer:
        """Raises PagesUnreachableError."""
        return self._ask("GET", path, None, {})

    def post(self, path: str, body: bytes) -> Answer:
        """Send JSON, with the bearer token where one is set. Raises PagesUnreachableError."""
        return self._ask("POST", path, body, {"Content-Type": "application/json", **self._credentials})

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        base = self._base
        kind = http.client.HTTPSConnection if base.scheme == "https" else http.client.HTTPConnection
        connection = kind(base.hostname or "", base.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.connect()
            with _within(self.answer_seconds, connection.sock):
                connection.request(method, base.path.rstrip("/") + path, body, headers)
                answer = connection.getresponse()
                content = answer.read(MAX_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise PagesUnreachableError(
                f"no sidecar answers at {self.address} ({type(error).__name__}). Is `lanewatch run` running, and is "
                "metrics.port the same there?"
            ) from None
        finally:
            connection.close()
        if len(content) > MAX_ANSWER_BYTES:
            raise PagesUnreachableError(f"what answers at {self.address} is no sidecar: its answer is too long")
        return Answer(answer.status, content)


@contextlib.contextmanager
def _within(seconds: float, connection: socket.socket) -> Iterator[None]:
    """Ends the connection when the time is over, and raises TimeoutError: a timeout of its own starts anew with each byte."""
    over = Event()

    def end() -> None:
        over.set()
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not over.is_set():
            raise
    finally:
        timer.cancel()
    if over.is_set():  # what came until then may look whole
        raise TimeoutError


def _parsed(text: str, option: str) -> SplitResult:
    """A user, a query and a fragment would not be sent: an address with one is refused, not asked without it."""
    try:
        url = urlsplit(text)
        sound = url.scheme in {"http", "https"} and bool(url.hostname) and (url.port is None or url.port > 0)
        (url.hostname or "").encode("idna")  # as a look-up does; raises UnicodeError
        plain = text.isprintable() and " " not in text and url.path.isascii()
        sound = sound and plain and "@" not in url.netloc and not url.query and not url.fragment
    except ValueError:
        sound = False
    if not sound:
        example = "http://127.0.0.1:9464 (metrics.port is 0?)" if option == "--metrics" else "http://127.0.0.1:9090"
        raise PageAddressError(f"{option} takes an address like {example}")
    return url
