"""Real processes, really killed: the sidecar's part, its worker, or both, while calls are under way over real sockets.

The many places between two statements are tried in tests/monitors/judge/test_kills.py; here is what only real processes show: locks
that the system lets go of, a worker that outlives its sidecar, an answer that comes to nobody.
"""

import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lanewatch.monitors.judge.store_queue import waiting_jobs

from tests.judge_server.server import JudgeServer
from tests.monitors.judge.stores import a_store, closed_stores  # noqa: F401 - a fixture

KILLS = int(os.environ.get("KILLS", "4"))  # KILLS=50 takes three minutes
JOBS, PATIENCE = 3 * KILLS + 2, 15.0 * KILLS


class Process:
    """A played sidecar."""

    def __init__(self, folder: Path, url: str) -> None:
        command = [sys.executable, "-m", "tests.monitors.judge.played_sidecar", str(folder), url, str(JOBS)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self._partial = b""
        self.lines: list[list[str]] = []

    def read(self, seconds: float = 0.02) -> None:
        """What it has printed so far."""
        assert self.process.stdout is not None
        if select.select([self.process.stdout], [], [], seconds)[0]:
            self._partial += os.read(self.process.stdout.fileno(), 65536)
        *whole, self._partial = self._partial.split(b"\n")
        self.lines += [line.decode().split() for line in whole]

    def said(self, word: str) -> list[list[str]]:
        """Lines that begin with a word."""
        return [line for line in self.lines if line[0] == word]

    def worker(self) -> int | None:
        """The process id of its worker."""
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():  # the thread that started it has it as its child
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text().split():
                    return int(child)
        return None

    def end(self) -> None:
        """It stops as it should."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.kill()

    def kill(self) -> None:
        """As the system does when memory is short."""
        self.process.kill()
        self.process.wait()
        self.read(0)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@contextlib.contextmanager
def slow_judge(seconds: float) -> Iterator[JudgeServer]:
    """A judge that takes its time, so that a kill comes while it thinks."""

    def answer(*_: Any) -> dict[str, bool]:
        time.sleep(seconds)
        return {"ok": True}

    with JudgeServer(answers=answer) as server:
        yield server


def test_killed_sidecars_and_workers_lose_no_job_and_pay_no_call_twice(tmp_path: Path) -> None:
    """Every job ends in an outcome, by the words of whoever was told; the server counts each call once."""
    rng = random.Random(7)
    plan = ["worker", "sidecar"] * (KILLS // 2)
    told: dict[str, set[str]] = {}
    with slow_judge(0.03) as server:
        process = Process(tmp_path, server.url)
        deadline = time.monotonic() + PATIENCE
        wait_for = len(server.calls) + rng.randint(1, 3)
        while len(told) < JOBS:
            assert time.monotonic() < deadline, (told, process.lines[-5:], len(server.calls))
            process.read()
            for _, trace, outcome, reason in process.said("told"):
                told.setdefault(trace, set()).add(f"{outcome} {reason}")
            if not plan or len(server.calls) < wait_for or (worker := process.worker()) is None:
                continue
            wait_for = len(server.calls) + rng.randint(1, 3)
            if plan.pop() == "worker":
                os.kill(worker, signal.SIGKILL)
            else:
                process.kill()
                process = Process(tmp_path, server.url)
        process.end()
        keys = server.keys
    db = a_store(tmp_path)

    assert set(told) == {f"job{number}" for number in range(JOBS)}
    assert all(len(outcomes) == 1 for outcomes in told.values()), told
    assert set().union(*told.values()) <= {"scored -", "unscored interrupted"}
    assert set(keys.values()) == {1}
    assert not plan
    assert sum(waiting_jobs(db).values()) == 0
    db.close()
