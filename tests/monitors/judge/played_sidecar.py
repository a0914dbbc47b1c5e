"""A sidecar's judging part alone: `python -m tests.monitors.judge.played_sidecar FOLDER URL JOBS` stores so many jobs the first time,
has them judged, and prints a line for each that is told: trace, outcome, reason. It runs until it is killed, or stdin ends.
"""

import sys
import threading
from pathlib import Path

from lanewatch.judging import worker as judge_worker
from lanewatch.judging.figures import JudgeFigures
from lanewatch.judging.thread import JudgeThread
from lanewatch.judging.worker import JudgeWorker
from lanewatch.monitors.efficiency import Price
from lanewatch.monitors.judge.figures import Figures
from lanewatch.monitors.judge.settings import AskingSettings, EndpointSettings, WorkerSettings
from lanewatch.monitors.judge.states import Finished, Restart

from tests.monitors.judge.stores import PAID, a_job

PLAYED = (sys.executable, "-m", "tests.monitors.judge.played_worker")


def say(*words: str) -> None:
    """One line, at once."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def restarted(why: Restart) -> None:
    """Told of each failure of the worker."""
    say("restarted", why)


def told(one: Finished) -> None:
    """A job has ended."""
    say("told", one.job.sample.trace_id, one.result.outcome, one.result.reason or "-")


def main(folder: str, url: str, jobs: int) -> None:
    """Run."""
    judge_worker.FIRST_PAUSE_SECONDS = 0.01
    settings = WorkerSettings(
        folder,
        endpoint=EndpointSettings(url, "m"),
        metrics=(PAID,),
        asking=AskingSettings(timeout_seconds=5.0, max_in_flight=2),
        prices={"m": Price(1.0, 1.0)},
    )
    thread = JudgeThread(
        settings,
        JudgeFigures(Figures([PAID])),
        told,
        turn_seconds=0.02,
        worker=lambda settings: JudgeWorker(settings, restarted, command=PLAYED),
    )
    thread._is_due = lambda _what, _seconds: True  # type: ignore[method-assign,assignment]
    first = not (Path(folder) / "stored").exists()
    thread.start()
    for number in range(jobs if first else 0):
        thread.offer(a_job(f"job{number}", metric=PAID, answer="ask"))
    threading.Event().wait(0.2)
    (Path(folder) / "stored").touch()
    say("running")
    sys.stdin.read()
    thread.stop(10.0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
