"""The supervisor, with real processes: one that crashes, hangs or grows is ended and started anew; nothing of it is waited for."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lanewatch.judging.worker import HANG_SECONDS, LONGEST_PAUSE_SECONDS, JudgeWorker
from lanewatch.monitors.judge.settings import StoreLimits, WorkerSettings
from lanewatch.monitors.judge.states import Finished, Restart
from lanewatch.monitors.judge.store_file import NAME
from lanewatch.monitors.judge.store_notes import Beat, fetch_said, last_beat
from lanewatch.monitors.judge.store_queue import add_jobs, finished_jobs, queue_state

from tests.monitors.judge.stores import MIB, a_job, a_store, closed_stores  # noqa: F401 - a fixture

PLAYED = (sys.executable, "-m", "tests.monitors.judge.played_worker")
PATIENCE = 30.0


class Bench:
    """A store, a supervisor and a clock that a test moves."""

    def __init__(self, folder: Path, command: tuple[str, ...] = PLAYED, memory: int = 1024 * MIB) -> None:
        self.db = a_store(folder)
        self.now = 1000.0
        self.failures: list[Restart] = []
        settings = WorkerSettings(str(folder), memory_bytes=memory)
        self.worker = JudgeWorker(settings, self.failures.append, clock=lambda: self.now, command=command)

    def add(self, *answers: str) -> None:
        """Jobs that have a worker do this."""
        add_jobs(self.db, [a_job(f"t{n}", answer=one) for n, one in enumerate(answers)], StoreLimits(), 0.0)

    def beat(self) -> Beat | None:
        """The worker's last sign of life."""
        return last_beat(self.db, self.worker.instance)

    def look(self) -> None:
        """As the sidecar does every second."""
        self.worker.look(self.beat())

    def until(self, condition: Callable[[], object]) -> None:
        """Look until a condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.01)
            self.look()

    def until_failures(self, n: int) -> None:
        """Look until so many have failed."""
        self.until(lambda: len(self.failures) == n)

    def again(self) -> None:
        """The pause is over: start anew."""
        self.now += LONGEST_PAUSE_SECONDS + 1
        assert self.worker.start()

    def finished(self) -> list[Finished]:
        """Jobs with an outcome."""
        return finished_jobs(self.db)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes benches on one folder, whose processes end with the test."""
    made: list[Bench] = []

    def new(**more: Any) -> Bench:
        made.append(Bench(tmp_path, **more))
        return made[-1]

    yield new
    for one in made:
        one.worker.stop(0.0)
        one.db.close()


@pytest.fixture
def bench(make: Callable[..., Bench]) -> Bench:
    """One with the played evaluator."""
    return make()


def test_a_job_that_crashes_its_worker_three_times_ends_and_the_others_are_judged(bench: Bench) -> None:
    """Each crash is counted, the pause between two doubles, and the queue moves on."""
    bench.add("crash", "fine", "raise")
    assert bench.worker.start()
    for crashes in (1, 2, 3):
        bench.until_failures(crashes)
        assert not bench.worker.start()  # it rests
        bench.again()
    bench.until(lambda: len(bench.finished()) == 3)
    said = " ".join(text for _, text in fetch_said(bench.db))
    results = {one.job.sample.answer: one.result for one in bench.finished()}

    assert bench.failures == [Restart.CRASHED] * 3
    assert results["crash"].reason == "worker_failed"
    assert results["fine"].value == 0.5
    assert results["raise"].reason == "worker_failed"
    assert "LookupError at played_worker.py" in said
    assert "content" not in said


SLOW = """
import sys, threading
from pathlib import Path
from lanewatch.monitors.judge.metrics import Evaluator
from lanewatch.monitors.judge.worker import main

def importing(means):
    Path(means.settings.store, "importing").touch()
    threading.Event().wait()

sys.exit(main(sys.argv[1:], {Evaluator.SUPPORT: importing}))
"""


@pytest.mark.parametrize("by", ["standard input", "SIGTERM"])
def test_a_worker_that_only_gets_ready_ends_at_once(make: Callable[..., Bench], tmp_path: Path, by: str) -> None:
    """Importing Ragas takes seconds in which no loop runs; a sidecar that stops would have waited for them. This import never ends."""
    bench = make(command=(sys.executable, "-c", SLOW))
    bench.add("fine")
    assert bench.worker.start()
    process = bench.worker._process
    assert process is not None
    bench.until((tmp_path / "importing").exists)
    bench.worker.ease() if by == "standard input" else process.terminate()
    status = process.wait(PATIENCE)

    assert status == 0
    assert queue_state(bench.db, 0.0).jobs["waiting"] == 1


def test_a_worker_that_the_system_kills_is_told_apart_from_a_bug(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Where a container is short of memory the kernel ends the largest process: nothing to report to anybody."""
    bench.worker.start()
    process = bench.worker._process
    assert process is not None
    process.kill()
    bench.until_failures(1)

    assert bench.failures == [Restart.CRASHED]
    assert "signal 9): it was killed from outside. Where memory is short" in caplog.text


def test_a_worker_that_gives_no_sign_of_life_is_ended(bench: Bench) -> None:
    """By its beat in the store and our own clock; while the store can't be written nobody could give one."""
    bench.add("hang")
    bench.worker.start()
    bench.until(lambda: queue_state(bench.db, 0.0).jobs["running"] == 1)
    bench.look()
    bench.now += HANG_SECONDS + 1
    bench.worker.look(bench.beat(), excused=True)
    assert bench.worker.running
    bench.now += HANG_SECONDS * 10  # we were stopped ourselves, and it with us
    bench.look()
    for _ in range(3):
        bench.now += HANG_SECONDS / 3
        bench.look()
        assert bench.worker.running
    bench.now += 2
    bench.look()

    assert bench.failures == [Restart.HUNG]
    assert not bench.worker.running


def test_a_worker_that_grows_is_ended(make: Callable[..., Bench], caplog: pytest.LogCaptureFixture) -> None:
    """At the resident memory that is set, whatever its evaluator does; it is said in words, with the setting."""
    bench = make(memory=200 * MIB)
    bench.add("grow")
    bench.worker.start()
    bench.until(lambda: bench.failures)

    assert bench.failures == [Restart.MEMORY]
    assert "the judging process has grown too large (" in caplog.text
    assert "raise judge.worker_memory_bytes" in caplog.text
    assert not bench.worker.running


def test_a_worker_whose_sidecar_dies_stores_what_it_has_and_ends(bench: Bench) -> None:
    """The end of standard input is all it is told."""
    bench.add("fine")
    bench.worker.start()
    bench.until(bench.finished)
    process = bench.worker._process
    assert process is not None
    bench.worker.ease()

    assert process.wait(PATIENCE) == 0
    assert bench.finished()[0].result.value == 0.5


def test_a_second_worker_waits_for_the_first(make: Callable[..., Bench]) -> None:
    """One that a killed sidecar left behind still ends what it had in flight: two would judge the same twice."""
    first, second = make(), make()
    first.worker.start()
    first.until(lambda: (beat := first.beat()) and beat.status.phase == "working")
    second.worker.start()
    second.until(lambda: (beat := second.beat()) and beat.status.phase == "waiting")
    second.add("fine")
    first.worker.stop(PATIENCE)
    second.until(second.finished)

    assert second.failures == []


def test_a_store_that_is_gone_is_told_apart_from_a_crash(bench: Bench, tmp_path: Path) -> None:
    """The sidecar then opens it anew; a restart alone would mend nothing."""
    for path in tmp_path.glob(f"{NAME}*"):
        path.unlink()
    bench.worker.start()
    bench.until(lambda: bench.failures)

    assert bench.failures == [Restart.STORE]
    assert bench.worker.store_failed


def test_what_can_t_be_started_is_a_failure_and_no_exception(make: Callable[..., Bench], tmp_path: Path) -> None:
    """A machine without a free process must not cost the sidecar its thread."""
    bench = make(command=(str(tmp_path / "nothing"),))

    assert not bench.worker.start()
    assert bench.failures == [Restart.CRASHED]
    assert not bench.worker.start()
    bench.now += 2.0
    assert not bench.worker.start()
    assert len(bench.failures) == 2


def test_its_settings_are_in_no_argument_and_no_variable(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a key among them, which the sidecar itself may have been given as a variable."""
    monkeypatch.setenv("LANEWATCH_JUDGE_API_KEY", "the-endpoint's-key")
    bench.worker.start()
    process = bench.worker._process
    assert process is not None
    seen = b"".join(Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("cmdline", "environ"))

    assert b"memory_bytes" not in seen
    assert b"the-endpoint's-key" not in seen
    bench.until(bench.beat)
    assert 10 * MIB < (bench.worker.memory_bytes or 0) < 80 * MIB
