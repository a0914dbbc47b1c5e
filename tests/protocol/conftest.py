"""The servers that the protocol tests talk to."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.protocol.served import Loop, Served


@pytest.fixture(scope="session")
def loop() -> Iterator[Loop]:
    """The event loop that serves, in its own thread."""
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def serve(loop: Loop) -> Iterator[Callable[..., Served]]:
    """Start both receivers; afterwards nothing may be held, and nothing may have been said by asyncio."""
    running: list[Served] = []

    def start(**options: Any) -> Served:
        running.append(Served(loop, **options))
        return running[-1]

    yield start
    for served in running:
        served.close()
        assert served.admission.in_flight_bytes == 0
        assert served.http.connections == 0
        assert served.grpc.reading == 0
    errors, loop.errors = loop.errors, []
    assert not errors


@pytest.fixture
def served(serve: Callable[..., Served]) -> Served:
    """Both receivers with their defaults."""
    return serve()
