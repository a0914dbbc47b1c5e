"""`lanewatch demo --endpoint`: the recordings, sent into a sidecar that already runs, wherever that is.

What was found is read here, from the same bytes; the lines of /metrics come from the running one. Each time the ids of
traces, sessions, model calls and tool calls are new ones: the same trace sent again would only be counted as duplicates,
and an equal response id in another trace would be one model call, reported twice.
"""

import gzip
import http.client
import re
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from urllib.parse import SplitResult, urlsplit

from msgspec.structs import replace
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from lanewatch.config.keys import Config
from lanewatch.demo.stories import STORIES, Recorded, losses, requests_of, samples, tell, tell_moved
from lanewatch.observation import Observation
from lanewatch.replaying.playback import replay
from lanewatch.shown_text import shown_line

READ = "lanewatch_traces_read_total"
PATIENCE_SECONDS = 75.0  # assembler.trace_timeout_seconds is 60 by default
POLL_SECONDS = 0.25
HEAD = re.compile(r"^[A-Za-z]+[-_]+")  # what an id begins with: chatcmpl-, call_


class AddressError(ValueError):
    """What was given is no address; says of what kind it must be."""


class UnreachableError(Exception):
    """The sidecar could not be asked, or did not take what was sent; says why, and what to do."""


class _Stopped(BaseException):
    """SIGTERM came while it played on and on."""


def run_elsewhere(config: Config, endpoint: str, metrics: str | None, every: float | None) -> bool:
    """Play into the sidecar at `endpoint`, under random ids; False where it could not be shown.

    With `every` seconds from one end to the next beginning, until a signal, whether or not it can be reached. Raises
    AddressError.
    """
    console = Console(highlight=False)

    def play() -> bool:
        return play_into(config, endpoint, metrics, console, lambda digits: secrets.token_hex(digits)[:digits])

    if every is None:
        return play()
    signal.signal(signal.SIGTERM, _stop)  # as the first process of a container it would get none by default
    try:
        while True:
            play()
            time.sleep(every)
    except (_Stopped, KeyboardInterrupt):
        console.print("The demonstration was stopped.")
        return True


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _Stopped


def play_into(
    config: Config, endpoint: str, metrics: str | None, console: Console, random_hex: Callable[[int], str]
) -> bool:
    """Play every story into the sidecar at `endpoint` (OTLP/HTTP); False where it could not be shown.

    `metrics` is where its pages are, by default port 9464 of the same host. `random_hex(n)` gives n random hex digits.
    Raises AddressError.
    """
    try:
        sidecar = _Elsewhere(endpoint, metrics, _credentials(config))
        sidecar.metrics()  # nothing is announced that can't be
        console.print(
            Panel(Text(f"Five recordings of real agents are now sent into the sidecar at {shown_line(endpoint)}."))
        )
        for story in STORIES:
            requests, observations = renewed(requests_of(story), config, random_hex)
            before = sidecar.metrics()
            with console.status(f"sending {story.title.lower()} and waiting for the trace to close ..."):
                _send_all(sidecar, requests, before)
                after = _settled(sidecar, before, len(observations))
            tell(story, observations, console)
            tell_moved(before, after, console)
    except UnreachableError as error:
        console.print(shown_line(str(error)), style="red", markup=False, soft_wrap=True)
        return False
    console.print(Text("\nOther traffic into that sidecar moves its metrics too.", "dim"))
    return True


def _send_all(sidecar: "_Elsewhere", requests: list[Recorded], before: dict[str, float]) -> None:
    try:
        for request in requests:
            sidecar.send(request)
    except UnreachableError as error:
        raise UnreachableError(" ".join((str(error), *losses(before, sidecar.metrics())))) from None


def renewed(
    requests: list[Recorded], config: Config, random_hex: Callable[[int], str]
) -> tuple[list[Recorded], list[Observation]]:
    """The same requests under new ids of the same lengths, and what is found in them."""
    changes = sorted(_new_ids(_read(requests, config), random_hex).items(), key=lambda change: -len(change[0]))
    # The longest first: an id may begin with another one.
    bodies = []
    for request in requests:
        body = request.body
        for old, new in changes:
            body = body.replace(old, new)
        bodies.append(replace(request, body=body))
    return bodies, _read(bodies, config)


def _read(requests: list[Recorded], config: Config) -> list[Observation]:
    try:
        with tempfile.TemporaryDirectory(prefix="lanewatch-demo-") as folder:
            for request in requests:
                Path(folder, request.name).write_bytes(request.body)
            return list(replay(Path(folder), config).observations)
    except OSError as error:
        raise UnreachableError(
            f"The recordings need a folder for a moment ({error.strerror or 'none can be written to'}): set TMPDIR to one, or "
            "mount a tmpfs at /tmp in a container whose root is read-only."
        ) from None


def _new_ids(observations: Iterable[Observation], random_hex: Callable[[int], str]) -> dict[bytes, bytes]:
    """By old bytes the new ones; a trace id is raw in protobuf, the others are texts and keep how they begin."""
    changes: dict[bytes, bytes] = {}
    texts: set[str] = set()
    for record in (observation.record for observation in observations):
        changes[bytes.fromhex(record.trace_id)] = bytes.fromhex(random_hex(len(record.trace_id)))
        texts.update(request.call_id for request in record.requests if request.call_id)
        texts.update(dispatch.call_id for dispatch in record.dispatches if dispatch.call_id)
        texts.update(generation.response_id for generation in record.generations if generation.response_id)
        texts.update({record.session_id} if record.session_id else ())
    for text in sorted(texts):
        found = HEAD.match(text)
        head = found.group() if found else ""
        changes[text.encode()] = (head + random_hex(len(text.encode()) - len(head))).encode()
    return changes


def _credentials(config: Config) -> dict[str, str]:
    token = config.receivers.bearer_token
    return {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}


def _settled(sidecar: "_Elsewhere", before: dict[str, float], traces: int) -> dict[str, float]:
    """The metrics once so many traces more were read."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (after := sidecar.metrics()).get(READ, 0.0) < before.get(READ, 0.0) + traces:
        if time.monotonic() > deadline:
            raise UnreachableError(
                " ".join(losses(before, after))
                or f"It took the recording, and did not read it within {PATIENCE_SECONDS:g} seconds. Is the page at "
                f"{sidecar.page.geturl()} that of the same sidecar? Is its assembler.quiet_after_root_seconds long?"
            )
        time.sleep(POLL_SECONDS)
    return after


class _Elsewhere:
    """A sidecar that is spoken to over HTTP alone."""

    def __init__(self, endpoint: str, metrics: str | None, credentials: dict[str, str]) -> None:
        self._otlp = _url(endpoint, "--endpoint", "http://127.0.0.1:4318")
        self.page = (
            urlsplit(f"http://{self._otlp.netloc.rpartition(':')[0] or self._otlp.netloc}:9464")
            if metrics is None
            else _url(metrics, "--metrics", "http://127.0.0.1:9464")
        )
        self._credentials = credentials

    def send(self, request: Recorded) -> None:
        """Export one request, compressed, as an OTLP/HTTP exporter does."""
        headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip", **self._credentials}
        _ask(self._otlp, "POST", f"/v1/{request.signal}", gzip.compress(request.body), headers)

    def metrics(self) -> dict[str, float]:
        """Its samples now."""
        path = "" if self.page.path.rstrip("/").endswith("/metrics") else "/metrics"
        return samples(_ask(self.page, "GET", path, None, {}).decode())


def _url(text: str, option: str, example: str) -> SplitResult:
    try:
        url = urlsplit(text)
        sound = url.scheme in {"http", "https"} and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        sound = False
    if not sound:
        raise AddressError(f"{option} takes an address like {example}")
    return url


def _ask(base: SplitResult, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> bytes:
    kind = http.client.HTTPSConnection if base.scheme == "https" else http.client.HTTPConnection
    connection = kind(base.hostname or "", base.port, timeout=10)
    place = f"{base.geturl().rstrip('/')}{path}"
    try:
        connection.request(method, base.path.rstrip("/") + path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise UnreachableError(f"Can't reach {place}: {why}. Is a sidecar running there (lanewatch run)?") from None
    finally:
        connection.close()
    if answer.status != http.client.OK:
        hint = {401: " Give its bearer token by LANEWATCH_RECEIVERS_BEARER_TOKEN.", 404: " Is this Lanewatch's port?"}
        raise UnreachableError(f"{place} answered {answer.status}.{hint.get(answer.status, '')}")
    return content
