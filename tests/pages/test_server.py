"""The pages' connections: whoever holds them open, a scraper gets through."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from lanewatch.pages import connection as page_connection
from lanewatch.pages.connection import MAX_CONNECTIONS
from lanewatch.pages.server import PageServer, bind, page_server, pages

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Well:
    """Vitals without a fault."""

    def faults(self) -> dict[str, str]:
        """None."""
        return {}

    def unready(self) -> dict[str, str]:
        """No reason."""
        return {}


async def short(openmetrics: bool) -> bytes:
    """A page."""
    return b"openmetrics" if openmetrics else b"metrics"


@contextlib.asynccontextmanager
async def served(text: Callable[[bool], Awaitable[bytes]] = short) -> AsyncIterator[tuple[PageServer, int]]:
    """The server and its port."""
    listening = bind("127.0.0.1", 0)
    server = page_server(pages(text, Well()))
    task = asyncio.create_task(server.serve([listening]))
    await until(lambda: server.started)
    try:
        yield server, listening.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listening.close()


async def status(port: int, path: str = "/healthz") -> bytes:
    """The status line of a page on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    line = await reader.readline()
    writer.close()
    return line.strip()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what happens in the loop."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("sent", [b"", b"GET /metrics HT", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_held_connections_do_not_keep_a_scraper_out(sent: bytes) -> None:
    """Idle, within a head that never ends, or not reading what they asked for."""

    async def scenario() -> tuple[list[bytes], int]:
        async def large(_: bool) -> bytes:
            return bytes(1 << 20)

        async with served(large) as (server, port):
            held = []
            for _ in range(3 * MAX_CONNECTIONS):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 10)
                writer.write(sent)
                held.append((reader, writer))
            answers = [await status(port), await status(port, "/metrics")]
            n_open = len(server.server_state.connections)
            for _, writer in held:
                writer.transport.abort()
            return answers, n_open

    answers, n_open = asyncio.run(scenario())

    assert answers == [b"HTTP/1.1 200 OK"] * 2
    assert n_open <= MAX_CONNECTIONS


def test_the_one_that_idles_longest_makes_room() -> None:
    """A connection that was used since is spared."""

    async def scenario() -> list[bool]:
        async with served() as (server, port):
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MAX_CONNECTIONS)]
            await until(lambda: len(server.server_state.connections) == MAX_CONNECTIONS)
            held[0][1].write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            await held[0][0].readuntil(b"}}")
            newcomer = await asyncio.open_connection("127.0.0.1", port)
            async with asyncio.timeout(20):
                assert await held[1][0].read() == b""
            closed = [reader.at_eof() for reader, _ in held]
            for _, writer in (*held, newcomer):
                writer.transport.abort()
            return closed

    closed = asyncio.run(scenario())

    assert [place for place, gone in enumerate(closed) if gone] == [1]


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET"])
def test_a_connection_without_a_further_answer_ends(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its first request, within one, and after an answer."""
    monkeypatch.setattr(page_connection, "ANSWER_SECONDS", 0.05)

    async def scenario() -> None:
        async with served() as (server, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            with contextlib.suppress(ConnectionError):
                await reader.read()
            await until(lambda: not server.server_state.connections)
            writer.close()

    asyncio.run(asyncio.wait_for(scenario(), 20))
