"""Asks a running sidecar's pages, for the commands that look at one: bounded in bytes and in time."""

import http.client
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from lanewatch.config_keys import Config

MAX_ANSWER_BYTES = 64 * 2**20
TIMEOUT_SECONDS = 10.0


class PagesUnreachableError(OSError):
    """Nobody answers there; `str()` says where and what to do."""


class PageAddressError(ValueError):
    """What was given is no address of pages."""


class Answer(NamedTuple):
    """Status and body."""

    status: int
    body: bytes


class PageClient:
    """One sidecar's pages."""

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


def _parsed(text: str, option: str) -> SplitResult:
    try:
        url = urlsplit(text)
        sound = url.scheme in {"http", "https"} and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        sound = False
    if not sound:
        example = "http://127.0.0.1:9464 (metrics.port is 0?)" if option == "--metrics" else "http://127.0.0.1:9090"
        raise PageAddressError(f"{option} takes an address like {example}")
    return url
