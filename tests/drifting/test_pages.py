"""The pages of drift: what they show, and how an acknowledgement is answered."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from lanewatch.drifting.pages import LAST, Take, drift_pages, on_thread
from lanewatch.monitors.drift.layout import Layout
from lanewatch.monitors.drift.reference import Reference
from lanewatch.monitors.drift.view import DriftView, Learning, Phase
from starlette.applications import Starlette

View = Callable[[], DriftView]
LEARNING = DriftView(Phase.LEARNING, learning=Learning(3, 5, 0.0, 60.0))


def ask(
    acknowledge: Callable[[str, str], Awaitable[bool]],
    method: str,
    path: str,
    body: bytes = b"",
    take: Take | None = None,
) -> tuple[int, Any]:
    """(status, JSON) of one request."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 9464), "scheme": "http",
        "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    application = Starlette(routes=drift_pages(lambda: LEARNING, acknowledge, take or nothing, None))
    asyncio.run(application(scope, receive, send))  # type: ignore[arg-type]
    content = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(content) if content.startswith(b"{") else None


async def nothing(since: int, until: int) -> Reference | None:
    """No counts are kept."""
    return None


def answering(outcome: bool | Exception) -> Callable[[str, str], Awaitable[bool]]:
    """Drift that ends an alarm, has none, or is too busy."""

    async def acknowledge(service: str, signal: str) -> bool:
        assert (service, signal) == ("shop", "refusal")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return acknowledge


def test_the_page_shows_what_drift_does() -> None:
    """As one JSON object."""
    status, shown = ask(answering(True), "GET", "/drift")

    assert status == 200
    assert shown["phase"] == "learning"
    assert shown["learning"] == {"fitted": 3, "fit_traces": 5, "counted_seconds": 0.0, "learning_seconds": 60.0}
    assert shown["series"] == []


@pytest.mark.parametrize(("outcome", "status"), [(True, 200), (False, 404), (TimeoutError(), 503)])
def test_an_acknowledgement_is_answered_by_what_became_of_it(outcome: bool | Exception, status: int) -> None:
    """No alarm that stands is not a success."""
    assert ask(answering(outcome), "POST", "/drift/ack", b'{"service":"shop","signal":"refusal"}')[0] == status


@pytest.mark.parametrize("body", [b"", b"[]", b'{"service":"shop"}', b'{"service":1,"signal":"x"}', b"[" * 3000])
def test_what_is_no_acknowledgement_is_refused(body: bytes) -> None:
    """With what to send."""
    status, told = ask(answering(True), "POST", "/drift/ack", body)

    assert status == 400
    assert "service" in told["error"]


def test_a_get_changes_nothing() -> None:
    """Crawlers and browsers fetch whatever they see."""
    assert ask(answering(True), "GET", "/drift/ack")[0] == 405


def test_an_alarm_is_ended_on_the_thread_that_drift_belongs_to() -> None:
    """The event loop waits for it, one at a time."""
    done: list[str] = []

    def acknowledge(service: str, signal: str) -> bool:
        done.append(f"{service} {signal} {threading.current_thread().name}")
        return True

    async def asked() -> bool:
        def do_soon(work: Callable[[], None]) -> None:
            threading.Thread(target=work, name="reading").start()

        return await on_thread(acknowledge, do_soon)("shop", "refusal")

    assert asyncio.run(asked())
    assert done == ["shop refusal reading"]


def test_a_window_of_live_counts_is_given_as_a_reference() -> None:
    """Between the times that are asked for, or all; what is asked wrongly, or can't be had, is said."""
    asked: list[tuple[int, int]] = []

    async def take(since: int, until: int) -> Reference | None:
        asked.append((since, until))
        return Reference(Layout(), {}, source="window")

    status, shown = ask(answering(True), "POST", "/drift/window", b'{"since": 5, "until": 9}', take)
    ask(answering(True), "POST", "/drift/window", b"{}", take)

    assert (status, shown["source"]) == (200, "window")
    assert asked == [(5, 9), (0, LAST)]
    assert ask(answering(True), "POST", "/drift/window", b'{"since": "now"}', take)[0] == 400
    assert ask(answering(True), "POST", "/drift/window", b"{}")[0] == 409
