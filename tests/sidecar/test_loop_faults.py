"""Faults of the event loop: one line a kind and minute, with a count, and nothing of the peer."""

import asyncio
import logging

import pytest
from lanewatch.sidecar.loop_faults import EVERY_SECONDS, KINDS, LoopFaults

ACCEPT = {"message": "socket.accept() out of system resource", "exception": OSError(24, "secret"), "socket": "peer"}


def test_a_flood_is_one_line_and_a_count(caplog: pytest.LogCaptureFixture) -> None:
    """Asyncio reports each accept that fails, a thousand times a second."""
    now = 0.0
    faults, loop = LoopFaults(lambda: now), asyncio.new_event_loop()
    loop.close()
    for _ in range(1000):
        faults(loop, ACCEPT)
    now = EVERY_SECONDS
    faults(loop, ACCEPT)

    assert [record.getMessage() for record in caplog.records] == [
        "event loop: socket.accept() out of system resource (OSError)",
        "event loop: socket.accept() out of system resource (OSError), 999 more since the last line of this kind",
    ]


def test_kinds_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """A message with a number in it must not make a line for each number."""
    caplog.set_level(logging.ERROR)
    faults, loop = LoopFaults(lambda: 0.0), asyncio.new_event_loop()
    loop.close()
    for number in range(500):
        faults(loop, {"message": f"fault {number}\nof {ACCEPT['exception']}"})

    assert len(caplog.records) == KINDS + 1
    assert not any("secret" in record.getMessage() for record in caplog.records)
