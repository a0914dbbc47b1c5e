"""The client of a sidecar's pages: it comes to an end, whatever answers."""

import socket
from collections.abc import Iterator
from threading import Event, Thread

import pytest
from lanewatch.config.loading import Config
from lanewatch.pages.client import PageClient, PagesUnreachableError


@pytest.fixture(params=[b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"HTTP/1.1 200"], ids=["body", "head"])
def slow(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that begins an answer, and goes on with a byte at a time, for ever."""
    over = Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.sendall(request.param)
                while not over.wait(0.02):
                    connection.sendall(b"x")
            except OSError:  # the client has gone
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        over.set()
        thread.join()


def test_an_answer_that_trickles_is_given_up(slow: int) -> None:
    """A timeout that begins anew with each byte would never end: what has come until then is no answer."""
    client = PageClient(f"http://127.0.0.1:{slow}", Config())
    client.answer_seconds = 0.2

    with pytest.raises(PagesUnreachableError, match="TimeoutError"):
        client.get("/healthz")
