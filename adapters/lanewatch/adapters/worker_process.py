"""A process of our own that is asked one JSON line at a time, within limits of time, memory and bytes.

Invariants:

- `ask` returns or raises within its time limit (and once the start limit), whatever the process does; one that did not
  answer in time is killed with all that it started, and the next call starts a new one.
- A process that keeps failing to answer is left alone for a while: `BREAK_AFTER` in a row, then one try every
  `rest_seconds`.
- Its answer is bounded in bytes before it is held: what runs in it is not trusted.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

BREAK_AFTER = 3
MIB = 2**20
CHUNK = 64 * 1024


class WorkerLimits(msgspec.Struct, frozen=True):
    """What one process may take. Starting has its own limit: importing ragas takes 3 s, and 30 on a busy machine."""

    call_seconds: float = 5.0
    start_seconds: float = 60.0
    rest_seconds: float = 60.0
    answer_bytes: int = 4 * MIB
    memory_bytes: int = 4096 * MIB  # of address space; ragas with its libraries maps 1.5 GiB


class WorkerFailed(Exception):  # noqa: N818 - a finding about what runs in it
    """It ended, or its answer is of no known form. `str()` is a type and a place, never content."""


class WorkerTimedOut(WorkerFailed):
    """It did not answer in time."""


class WorkerUnavailable(WorkerFailed):
    """It can't be loaded here, or rests after failing. `str()` says the remedy where there is one."""


class WorkerProcess:
    """One process. Not for several threads at once; `close` ends it."""

    def __init__(
        self,
        module: str,
        arguments: tuple[str, ...],
        limits: WorkerLimits,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`module` is one of ours that serves (`producer_worker.serve`). Nothing is started before the first call."""
        self._command = [sys.executable, "-m", module, *arguments]
        self._limits = limits
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._silent = 0  # calls in a row without an answer
        self._rests_until = 0.0

    def start(self) -> None:
        """Start it now, so that what keeps it from starting is known. Raises WorkerUnavailable and its kinds."""
        try:
            self._started()
        except WorkerFailed:
            self.close()
            raise

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Its answer. Raises WorkerFailed and its kinds."""
        if self._clock() < self._rests_until:
            raise WorkerUnavailable("rests after failing to answer")
        line = json.dumps(question).encode() + b"\n"
        try:
            answer = self._exchange(self._started(), line, self._limits.call_seconds)
        except WorkerFailed:
            self.close()
            self._silent += 1
            if self._silent >= BREAK_AFTER:
                self._rests_until = self._clock() + self._limits.rest_seconds
            raise
        self._silent = 0
        return answer

    def kill(self) -> None:
        """End the process and whatever it started; from any thread. Who waits for an answer gets WorkerFailed."""
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # its group, since it was started in a session of its own
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, and whatever it started."""
        self.kill()
        process, self._process = self._process, None
        if process is None:
            return
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        limits = self._limits
        bounds = [str(int(limits.start_seconds) + 1), str(int(limits.call_seconds) + 1), str(limits.memory_bytes)]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "RAGAS_DO_NOT_TRACK": "true"}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module, and a name that `identify` knows
                [*self._command, *bounds],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environ,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:  # no process or descriptor is left
            raise WorkerUnavailable(f"can't be started: {error.strerror or type(error).__name__}") from None
        answer = self._exchange(self._process, b"", limits.start_seconds)
        if "ready" not in answer:
            raise WorkerUnavailable(str(answer.get("unavailable", "can't be started")))
        return self._process

    def _exchange(self, process: "subprocess.Popen[bytes]", question: bytes, seconds: float) -> dict[str, Any]:
        """Write a line and read a line, both at once: a producer that reads nothing must not block its caller."""
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = self._clock() + seconds
        answer = bytearray()
        left = memoryview(question)
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            if left:
                os.set_blocking(process.stdin.fileno(), False)
                ready.register(process.stdin, selectors.EVENT_WRITE)
            while not answer.endswith(b"\n"):
                remaining = deadline - self._clock()
                events = ready.select(remaining) if remaining > 0 else []
                if not events:
                    raise WorkerTimedOut(f"no answer within {seconds:g} s")
                for key, _ in events:
                    if key.fileobj is process.stdin:
                        try:
                            left = left[os.write(process.stdin.fileno(), left[:CHUNK]) :]
                        except BrokenPipeError:
                            raise WorkerFailed("its process ended") from None
                        if not left:
                            ready.unregister(process.stdin)
                    else:
                        chunk = os.read(process.stdout.fileno(), CHUNK)
                        if not chunk:
                            raise WorkerFailed("its process ended")
                        answer += chunk
                if len(answer) > self._limits.answer_bytes:
                    raise WorkerFailed(f"its answer is longer than {self._limits.answer_bytes} bytes")
        try:
            value = json.loads(answer)
        except ValueError:
            raise WorkerFailed("its answer is no JSON") from None
        if not isinstance(value, dict):
            raise WorkerFailed("its answer is no JSON object")
        return value
