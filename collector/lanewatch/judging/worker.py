"""Supervises the judging process: starts it when there is something to judge, and ends one that hangs or grows too large.

Invariants: whatever the process does costs the sidecar a look every other second; it is never waited for outside of `stop`; one that
fails is started anew after a pause that doubles; it is told to end by the end of its standard input, so that it also ends with us.
"""

import contextlib
import logging
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import msgspec

from lanewatch.collector.resident_memory import resident_of
from lanewatch.monitors.judge.settings import WorkerSettings
from lanewatch.monitors.judge.states import Restart
from lanewatch.monitors.judge.store_notes import Beat

logger = logging.getLogger(__name__)

MODULE = "lanewatch.monitors.judge.worker"
COMMAND = (sys.executable, "-P", "-m", MODULE)  # -P: nothing is imported from the folder that we happen to run in
START_SECONDS = 180.0  # importing Ragas was seen to take 30 on a busy machine
HANG_SECONDS = 60.0
UNSEEN_SECONDS = 30.0  # between two looks, which come every other second
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 300.0
HEALTHY_SECONDS = 120.0  # of life, after which a failure is the first one again
OWN_VARIABLES = "LANEWATCH_"
STORE_FAILED = 3  # its exit status where it can't use the store

WORDS = {
    Restart.CRASHED: "has crashed",
    Restart.HUNG: "hangs",
    Restart.MEMORY: "has grown too large",
    Restart.STORE: "can't use its store",
}
REMEDIES = {
    Restart.CRASHED: "report it with the log line that names the place",
    Restart.HUNG: "report it, if the machine is not short of processor time",
    Restart.MEMORY: "raise judge.worker_memory_bytes, lower judge.max_in_flight, or ask for fewer metrics",
    Restart.STORE: "the sidecar opens that anew, and says what is wrong with it",
}


class JudgeWorker:
    """Belongs to one thread; `kill` may be called on any."""

    def __init__(
        self,
        settings: WorkerSettings,
        restarted: Callable[[Restart], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        """`restarted` is told of each failure. Nothing is started yet."""
        self._settings = settings
        self._restarted = restarted
        self._clock = clock
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._started = self._alive_at = self._looked = 0.0
        self._seen = 0  # the last sign of life
        self._memory: int | None = None
        self._failures = 0
        self._resume_at = 0.0
        self.instance = ""
        self.store_failed = False  # it could not use the store, and was not started since

    @property
    def running(self) -> bool:
        """Whether a process is there."""
        return self._process is not None

    @property
    def memory_bytes(self) -> int | None:
        """Its resident memory at the last look; None without a process, or where the system does not tell."""
        return self._memory

    def look(self, beat: Beat | None, *, excused: bool = False) -> None:
        """See how it is, and end it where that is not well. `beat` is its last sign of life; `excused` while nobody could give one,
        since the store can't be written.
        """
        process, now = self._process, self._clock()
        if process is None:
            return
        status = process.poll()
        if status is not None:
            self._failed(Restart.STORE if status == STORE_FAILED else Restart.CRASHED, *_ended_by(status))
            return
        # Who was not looking, since it was itself stopped (a paused container takes both), has not seen it hang.
        excused, self._looked = excused or now - self._looked > UNSEEN_SECONDS, now
        if excused or (beat is not None and beat.number != self._seen):
            self._seen = 0 if beat is None else beat.number
            self._alive_at = now
        starting = beat is None or beat.status.phase == "starting"
        if now - self._alive_at > (START_SECONDS if starting else HANG_SECONDS):
            self._failed(Restart.HUNG, f"no sign of life for {now - self._alive_at:.0f} s")
            return
        memory, limit = resident_of(process.pid), self._settings.memory_bytes
        self._memory = memory
        if memory is None and beat is not None:
            memory = beat.status.memory_bytes
        if memory is not None and memory > limit:
            self._failed(Restart.MEMORY, f"{memory} bytes resident, of {limit}")
        elif now - self._started > HEALTHY_SECONDS:
            self._failures = 0

    def start(self) -> bool:
        """Start one, unless one runs or the pause after a failure is not over; whether one was started."""
        if self._process is not None or self._clock() < self._resume_at:
            return False
        self.instance = secrets.token_hex(8)
        # Settings come by standard input: a variable that holds a key would stand in the process's environment for its life.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN_VARIABLES)}
        environ = {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            process = subprocess.Popen(  # noqa: S603 - our own module
                [*self._command, self.instance],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environ,
                start_new_session=True,
            )
        except OSError as error:  # no process or descriptor is left
            self._failed(Restart.CRASHED, f"it can't be started: {error.strerror or type(error).__name__}")
            return False
        self._process, self._seen, self.store_failed = process, 0, False
        self._started = self._alive_at = self._looked = self._clock()
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it ended already: seen at the next look
            process.stdin.write(msgspec.json.encode(self._settings) + b"\n")
            process.stdin.flush()
        return True

    def ease(self) -> None:
        """Tell it to end: it finishes what is in flight."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def stop(self, timeout_seconds: float) -> None:
        """Have it ended, after so long by force. What it had begun is put right by the next one."""
        process = self._process
        if process is None:
            return
        self.ease()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, timeout_seconds))
        self._end()

    def ended(self) -> bool:
        """Whether the process, after `ease`, is gone."""
        return self._process is None or self._process.poll() is not None

    def _failed(self, why: Restart, told: str, remedy: str = "") -> None:
        self._end()
        self._failures += 1
        self.store_failed = why is Restart.STORE
        pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (self._failures - 1))
        self._resume_at = self._clock() + pause
        self._restarted(why)
        logger.error(
            "the judging process %s (%s): %s; it is started anew in %.0f s",
            WORDS[why], told, remedy or REMEDIES[why], pause, extra={"fault": f"judge_worker_{why}"},
        )  # fmt: skip

    def _end(self) -> None:
        process, self._process, self._memory = self._process, None, None
        if process is None:
            return
        self._kill(process)
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        process.wait()

    @staticmethod
    def _kill(process: "subprocess.Popen[bytes]") -> None:
        """The process and whatever it started: its group, since it has a session of its own."""
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _ended_by(status: int) -> tuple[str, str]:
    """How a process ended, in words, and what to do where that is not a bug of ours."""
    if status != -signal.SIGKILL:
        return (f"status {status}" if status >= 0 else f"signal {-status}"), ""
    return f"signal {signal.SIGKILL:d}", (
        "it was killed from outside. Where memory is short the system does that, and its log says so: give the container more, "
        "or ask for fewer metrics (docs/judge.md tells what they take)"
    )
