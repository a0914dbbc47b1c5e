"""Who may change something over the pages' port: those with the token, else this machine alone, and no web page."""

import asyncio
from typing import Any

import pytest
from lanewatch.pages.guard import MAX_BODY_BYTES, body_of, refusal
from starlette.requests import Request

JSON = ("content-type", "application/json")
LOCAL = ("host", "127.0.0.1:9464")


def request(*headers: tuple[str, str], client: str = "127.0.0.1", body: tuple[bytes, ...] = (b"",)) -> Request:
    """A POST with these headers."""
    parts = iter(body)

    async def receive() -> dict[str, Any]:
        part = next(parts, None)
        return {"type": "http.request", "body": part or b"", "more_body": part is not None}

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/drift/ack",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
        "client": (client, 50000),
    }
    return Request(scope, receive)


def status(asked: Request, token: str | None = None) -> int | None:
    """The status of the refusal."""
    refused = refusal(asked, token)
    return None if refused is None else refused.status_code


@pytest.mark.parametrize("host", ["127.0.0.1:9464", "localhost", "[::1]:9464", "127.0.0.5"])
def test_this_machine_may(host: str) -> None:
    """Under any of its own names."""
    assert status(request(JSON, ("host", host))) is None
    assert status(request(JSON, ("host", host), client="::1")) is None


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        ((JSON, LOCAL), "10.0.0.7"),
        ((JSON, ("host", "evil.example:9464")), "127.0.0.1"),  # a web page whose name resolves to 127.0.0.1
        ((JSON, ("host", "[")), "127.0.0.1"),
        ((JSON,), "127.0.0.1"),
    ],
)
def test_nobody_else_may_without_a_token(headers: tuple[tuple[str, str], ...], client: str) -> None:
    """Whoever can scrape can't change anything."""
    assert status(request(*headers, client=client)) == 403


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("Bearer right", None),
        ("bearer right", None),
        ("Bearer wrong", 401),
        ("Basic right", 401),
        ("right", 401),
        ("", 401),
    ],
)
def test_with_a_token_it_must_be_sent(sent: str, expected: int | None) -> None:
    """From anywhere then, and also from this machine."""
    asked = (JSON, ("host", "lanewatch.internal"), ("authorization", sent))

    assert status(request(*asked, client="10.0.0.7"), "right") == expected
    assert status(request(*asked), "right") == expected


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_a_web_page_may_send_unasked_is_refused(media: str) -> None:
    """Forms and plain text need no preflight."""
    assert status(request(LOCAL, ("content-type", media))) == 415


def test_a_body_is_bounded() -> None:
    """Whatever is claimed of its length."""
    assert asyncio.run(body_of(request(LOCAL, body=(b"ab", b"c")))) == b"abc"
    assert asyncio.run(body_of(request(LOCAL, body=(b"x" * MAX_BODY_BYTES, b"y")))) is None
