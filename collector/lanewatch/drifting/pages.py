"""The pages of drift: GET /drift shows what /metrics has as one JSON object, POST /drift/ack ends a standing alarm, POST
/drift/window gives a reference of the live traffic between two times: counts, and nothing else.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Annotated, ParamSpec, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lanewatch.monitors.drift.reference import Reference
from lanewatch.monitors.drift.view import DriftView
from lanewatch.pages.guard import body_of, refusal, told

ACKNOWLEDGE_SECONDS = 5.0
LAST = 1 << 40


class Acknowledgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which alarm a person has seen; the service as its label has it."""

    service: str
    signal: str


class Stretch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From when to when (not included), in seconds since the epoch."""

    since: Annotated[int, msgspec.Meta(ge=0)] = 0
    until: Annotated[int, msgspec.Meta(le=LAST)] = LAST


_decode = msgspec.json.Decoder(Acknowledgement).decode
_decode_stretch = msgspec.json.Decoder(Stretch).decode

Acknowledge = Callable[[str, str], Awaitable[bool]]
Take = Callable[[int, int], Awaitable[Reference | None]]
P = ParamSpec("P")
T = TypeVar("T")


def drift_pages(look: Callable[[], DriftView], acknowledge: Acknowledge, take: Take, token: str | None) -> list[Route]:
    """`acknowledge` and `take` raise TimeoutError where reading is too busy to be asked."""

    async def show(_: Request) -> Response:
        return Response(shown(look()), media_type="application/json")

    async def ack(request: Request) -> Response:
        refused = refusal(request, token)
        if refused is not None:
            return refused
        body = await body_of(request)
        if body is None:
            return told(413, "an acknowledgement has less than 4 KiB")
        try:
            asked = _decode(body)
        except (msgspec.DecodeError, RecursionError):
            return told(400, 'send {"service": "...", "signal": "..."}, as the labels of lanewatch_alarm have them')
        try:
            ended = await acknowledge(asked.service, asked.signal)
        except TimeoutError:
            return told(503, "traces are being read; try again in a few seconds")
        if not ended:
            return told(404, "no alarm of that signal stands: GET /drift lists those that do")
        return JSONResponse({"ok": True})

    async def window(request: Request) -> Response:
        refused = refusal(request, token)
        if refused is not None:
            return refused
        body = await body_of(request)
        try:
            asked = _decode_stretch(body or b"")
        except (msgspec.DecodeError, RecursionError):
            return told(400, 'send {"since": ..., "until": ...} in seconds since 1970, or {} for all that is kept')
        try:
            found = await take(asked.since, asked.until)
        except TimeoutError:
            return told(503, "traces are being read; try again in a few seconds")
        if found is None:
            return told(409, "no live counts are kept: drift.window_days is 0, or there is no reference yet")
        return Response(await asyncio.to_thread(msgspec.json.encode, found), media_type="application/json")

    return [
        Route("/drift", show, methods=["GET"]),
        Route("/drift/ack", ack, methods=["POST"]),
        Route("/drift/window", window, methods=["POST"]),
    ]


def on_thread(asked: Callable[P, T], do_soon: Callable[[Callable[[], None]], None]) -> Callable[P, Awaitable[T]]:
    """The same, done where `do_soon` has it done. Raises TimeoutError where that takes more than five seconds."""
    turns = asyncio.Lock()  # one at a time, so that no crowd of them waits

    async def ask(*arguments: P.args, **named: P.kwargs) -> T:
        done: Future[T] = Future()

        def work() -> None:
            if done.set_running_or_notify_cancel():
                done.set_result(asked(*arguments, **named))

        async with turns:
            do_soon(work)
            return await asyncio.wait_for(asyncio.wrap_future(done), ACKNOWLEDGE_SECONDS)

    return ask


def shown(view: DriftView) -> bytes:
    """A view as JSON; a number that is none is null. Bins' counts are for Prometheus, and left out."""
    return msgspec.json.encode(
        {
            "phase": view.phase,
            "because": view.because,
            "reference": view.reference,
            "reference_created": view.reference_created,
            "false_alarms_per_30_days": view.budget,
            "budget_of": view.budget_of,
            "learning": view.learning,
            "storage": view.storage,
            "traces": view.told,
            "not_observed": [
                {"service": service, "signal": signal, "incomplete": incomplete, "absent": absent}
                for (service, signal), (incomplete, absent) in view.missed.items()
            ],
            "series": [msgspec.structs.replace(reading, bins=()) for reading in view.readings],
        }
    )
