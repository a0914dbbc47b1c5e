"""The pages of the sidecar: /metrics for Prometheus, /healthz and /readyz for whoever supervises it, / names them.

/healthz says whether the process works; /readyz whether it takes data. Overload makes it neither dead nor unready: a
sidecar's readiness is its pod's, and its trouble must not take the application out of service. Nothing here names
versions, paths or content.
"""

import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from lanewatch.pages.connection import ANSWER_SECONDS, MAX_CONNECTIONS, PageConnection

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
INDEX = """Lanewatch

/metrics   what Prometheus scrapes
/healthz   200 while the process works, else 503 and which part does not
/readyz    200 while data is taken, else 503 and why not
/drift     what has drifted, as JSON (where drift.enabled is true)

OTLP does not come in here but at ports of its own: 4318 for HTTP and 4317 for gRPC, unless set otherwise.
"""


class Vitals(Protocol):
    """What the pages ask the sidecar."""

    def faults(self) -> Mapping[str, str]:
        """Parts that do not work, by name, with the remedy; empty where all do."""

    def unready(self) -> Mapping[str, str]:
        """Why no data is taken, by name, with the remedy; empty where it is."""


def pages(exposition: Callable[[bool], Awaitable[bytes]], vitals: Vitals, more: Iterable[Route] = ()) -> Starlette:
    """The application. `exposition(openmetrics)` is the text of all metrics; `more` are pages of other parts."""

    async def index(_: Request) -> Response:
        return PlainTextResponse(INDEX)

    async def metrics(request: Request) -> Response:
        openmetrics = "application/openmetrics-text" in request.headers.get("accept", "")
        return Response(
            await exposition(openmetrics),
            media_type=None,
            headers={"Content-Type": OPENMETRICS if openmetrics else PROMETHEUS},
        )

    async def healthz(_: Request) -> Response:
        return _verdict(vitals.faults())

    async def readyz(_: Request) -> Response:
        return _verdict(vitals.unready())

    handlers = {"/": index, "/metrics": metrics, "/healthz": healthz, "/readyz": readyz}
    return Starlette(routes=[Route(path, handler) for path, handler in handlers.items()] + list(more))


def _verdict(reasons: Mapping[str, str]) -> Response:
    content = {"ok": not reasons, "reasons": list(reasons), "remedies": dict(reasons)}
    return JSONResponse(content, 503 if reasons else 200)


class PageServer(uvicorn.Server):
    """uvicorn without its signal handlers: the sidecar has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the process's signals alone."""
        yield


def page_server(application: Starlette) -> PageServer:
    """A server for the pages, in one loop with everything else."""
    config = uvicorn.Config(
        application,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        http=PageConnection,
        backlog=MAX_CONNECTIONS,  # also how many asyncio accepts in one turn
        timeout_keep_alive=int(ANSWER_SECONDS),
        timeout_graceful_shutdown=2,  # a client that does not read its answer must not keep the process
    )
    return PageServer(config)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; raises OSError where the address is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(64)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening
