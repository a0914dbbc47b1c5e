"""Who may change something over the pages' port, and how large what they send may be.

Reading the pages is open to whoever reaches them; changing is not. With a bearer token set (receivers.bearer_token), it
must be sent. Without one, the client and the name it asks for must be this machine's own: the latter keeps a web page
that resolves its own name to 127.0.0.1 from asking (DNS rebinding). The media type must be JSON, which no web page may
send to another origin without being asked first, and Lanewatch answers no such question.
"""

import hmac
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lanewatch.config.values import is_loopback

MAX_BODY_BYTES = 4096


def refusal(request: Request, token: str | None) -> Response | None:
    """The answer to a request that may not change anything; None where it may."""
    if token is not None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        # Compared in constant time, and also where the scheme is wrong.
        if not hmac.compare_digest(given.strip().encode(), token.encode()) or scheme.lower() != "bearer":
            return told(
                401, "the bearer token is missing or wrong: send receivers.bearer_token as authorization: Bearer"
            )
    elif not _is_local(request):
        return told(403, "only this machine may ask that: ask 127.0.0.1 from here, or set receivers.bearer_token")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return told(415, "send content-type: application/json")
    return None


async def body_of(request: Request) -> bytes | None:
    """The body; None where it is larger than 4 KiB, of which no more is held."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            return None
    return body


def told(status: int, what: str) -> Response:
    """An answer that says what is wrong and what to do."""
    return JSONResponse({"ok": False, "error": what}, status)


def _is_local(request: Request) -> bool:
    try:
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return False
    return request.client is not None and is_loopback(request.client.host) and is_loopback(name)
