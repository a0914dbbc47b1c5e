"""A process that serves, attacks itself, and prints how far each attack drove its peak memory (for test_memory.py)."""

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from lanewatch.collector.intake import IntakeLimits
from lanewatch.collector.outcomes import Code

from tests.protocol.clients import Answer, call_raw, framed, post, talk
from tests.protocol.export_requests import bomb
from tests.protocol.served import Loop, Served

MIB = 1 << 20
BOMB_BYTES = 256 * MIB


def kilobytes(name: str) -> int:
    """A line of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def peak_of(attack: Callable[[], None]) -> float:
    """MiB between where the memory stood and the highest it went."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = kilobytes("VmRSS")
    attack()
    return (kilobytes("VmHWM") - before) / 1024


def main(limit_bytes: int) -> dict[str, float]:
    """Each attack once, after one that only warms up."""
    loop = Loop()
    served = Served(loop, limits=IntakeLimits(max_request_bytes=limit_bytes))

    def refused(answer: Answer) -> None:
        assert answer.code == Code.RESOURCE_EXHAUSTED

    def endless() -> None:
        head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        with socket.create_connection(("127.0.0.1", served.http.port), timeout=20) as sock:
            sock.sendall(head)
            for _ in range(BOMB_BYTES // MIB):
                try:
                    sock.sendall(b"%x\r\n" % MIB + bytes(MIB) + b"\r\n")
                except OSError:
                    return

    bombs = {coding: bomb(BOMB_BYTES, coding) for coding in ("gzip", "deflate")}
    attacks: dict[str, Callable[[], None]] = {"warming up": lambda: refused(post(served, bytes(limit_bytes + 1)))}
    for coding, raw in bombs.items():
        attacks[f"http {coding}"] = lambda coding=coding, raw=raw: refused(  # type: ignore[misc]
            post(served, raw, headers={"Content-Encoding": coding})
        )
        attacks[f"grpc {coding}"] = lambda coding=coding, raw=raw: refused(  # type: ignore[misc]
            call_raw(served, framed(raw, flag=1), encoding=coding)
        )
    attacks["grpc claim"] = lambda: refused(call_raw(served, framed(b"", claimed=1 << 30), end=False))
    attacks["http claim"] = lambda: refused_head(
        talk(served, b"POST /v1/traces HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\n")
    )
    attacks["http endless"] = endless
    found = {name: peak_of(attack) for name, attack in attacks.items()}
    served.close()
    loop.close()
    del found["warming up"]
    return found


def refused_head(answer: bytes) -> None:
    """415 or 413: refused by its head alone."""
    assert answer.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 415 "))


if __name__ == "__main__":
    json.dump(main(int(sys.argv[1]) * MIB), sys.stdout)
