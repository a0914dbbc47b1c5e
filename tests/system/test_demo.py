"""The demonstration as a process of its own: what it shows, how a signal ends it, and playing into another sidecar."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import pytest
from lanewatch.config.keys import Config
from lanewatch.demo.elsewhere import renewed
from lanewatch.demo.stories import STORIES, Story, requests_of
from lanewatch.observation import Observation

from tests.system.sidecar import PATIENCE_SECONDS, Running, running

ROOT = Path(__file__).parents[2]
QUICK = {"LANEWATCH_ASSEMBLER_QUIET_AFTER_ROOT_SECONDS": "0.2"}
PORTS = dict.fromkeys(("LANEWATCH_RECEIVERS_GRPC_PORT", "LANEWATCH_RECEIVERS_HTTP_PORT", "LANEWATCH_METRICS_PORT"), "0")
SLOW = {"LANEWATCH_ASSEMBLER_QUIET_AFTER_ROOT_SECONDS": "50"}


def environ(**settings: str) -> dict[str, str]:
    """This environment with no settings but these."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LANEWATCH_", "OTEL_"))}
    return {**clean, "COLUMNS": "100", **settings}


def demo(*arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """`lanewatch demo` until it ends."""
    return subprocess.run(
        [sys.executable, "-m", "lanewatch", "demo", *arguments],
        env=environ(**settings),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_SECONDS,
        check=False,
    )


def stopped_by(number: signal.Signals, *arguments: str, after: str, **settings: str) -> tuple[int, str]:
    """(status, output) of a demonstration that gets one signal once `after` was printed."""
    return interrupted(number, [sys.executable, "-m", "lanewatch", "demo", *arguments], settings, after=after)


def interrupted(
    number: signal.Signals, command: list[str], settings: dict[str, str], *, after: str, cwd: Path | None = None
) -> tuple[int, str]:
    """(status, output) of a command whose process group gets one signal, as from a terminal, once `after` was printed."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            command, env=environ(**settings), stdout=out, stderr=out, cwd=cwd, start_new_session=True
        )
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while after not in _text(out):
                assert process.poll() is None, _text(out)
                assert time.monotonic() < deadline, _text(out)
                time.sleep(0.02)
            os.killpg(process.pid, number)
            status = process.wait(PATIENCE_SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return status, _text(out)


def _text(out: IO[bytes]) -> str:
    # pread: seeking would move the place where the process writes on.
    return os.pread(out.fileno(), 2**24, 0).decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_the_demonstration_and_is_not_taken_for_two(number: signal.Signals) -> None:
    """While it waits for a trace that closes in 50 seconds: it gives that wait up, drains, and ends well."""
    status, out = stopped_by(number, after="Five recordings", **SLOW)

    assert status == 0
    assert "second signal" not in out
    assert "stopped" in out


def test_one_signal_ends_a_demonstration_that_stays_up() -> None:
    """Ctrl-C is how it is meant to end."""
    status, out = stopped_by(signal.SIGINT, "--stay", after="The sidecar stays up", **QUICK, **PORTS)

    assert status == 0
    assert "second signal" not in out
    assert "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in out


@pytest.mark.skipif(not shutil.which("make"), reason="make: apt-get install make")
def test_make_run_shows_what_was_found_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    """The first command of a newcomer: the verb's own recipe, with an environment that is there already."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    command = tmp_path / ".venv" / "bin" / "lanewatch"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lanewatch "$@"\n')
    command.chmod(0o755)
    made = ["make", "--assume-old=.venv/installed-core", "run"]
    _, out = interrupted(signal.SIGINT, made, QUICK | PORTS, after="The sidecar stays up", cwd=tmp_path)

    assert all(story.title in out for story in STORIES)
    assert "lanewatch_divergences_total{" in out
    assert "second signal" not in out
    assert "stopped" in out


def moved(sidecar: Running) -> dict[str, float]:
    """The sums of what the demonstration moves."""
    names = ("tool_requests", "tool_dispatches", "divergences", "responses", "duplicates", "record_revisions")
    return {name: sidecar.total(f"lanewatch_{name}_total") for name in names}


def test_playing_into_a_running_sidecar_moves_its_metrics_by_the_same_each_time() -> None:
    """New traces each time: neither duplicates, nor the same model calls reported twice."""
    with running() as sidecar:
        where = ("--endpoint", f"http://127.0.0.1:{sidecar.http_port}")
        pages = ("--metrics", f"http://127.0.0.1:{sidecar.page_port}")
        first = demo(*where, *pages)
        once = moved(sidecar)
        second = demo(*where, *pages)
        twice = moved(sidecar)
        sidecar.assert_conserved()

    assert (first.returncode, second.returncode) == (0, 0), first.stdout + first.stderr
    assert once["divergences"] > 0
    assert once["duplicates"] == 0
    assert twice == {name: 2 * value for name, value in once.items()}
    assert all(story.title in first.stdout for story in STORIES)
    assert "lanewatch_tool_requests_total{" in first.stdout


def test_where_no_sidecar_runs_that_is_said_with_the_remedy() -> None:
    """Status 1, no traceback."""
    ended = demo("--endpoint", "http://127.0.0.1:1", "--metrics", "http://127.0.0.1:1")

    assert ended.returncode == 1
    assert "lanewatch run" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "wrong", [("--endpoint", "127.0.0.1:4318"), ("--endpoint", "ftp://x"), ("--endpoint", "http://[")]
)
def test_an_endpoint_that_is_no_address_is_refused(wrong: tuple[str, str]) -> None:
    """With an example of one."""
    ended = demo(*wrong)

    assert ended.returncode == 2
    assert "http://127.0.0.1:4318" in ended.stderr


@pytest.mark.parametrize("wrong", [("--stay", "--endpoint", "http://127.0.0.1:4318"), ("--metrics", "http://x")])
def test_options_that_do_not_go_together_are_wrong_usage(wrong: tuple[str, ...]) -> None:
    """Rather than one of them being passed over in silence."""
    assert demo(*wrong).returncode == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"LANEWATCH_RECEIVERS_BEARER_TOKEN": "t0ken"},
        {f"LANEWATCH_{name}_HOST": "::1" for name in ("RECEIVERS_GRPC", "RECEIVERS_HTTP", "METRICS")},
        {f"LANEWATCH_{name}_HOST": "0.0.0.0" for name in ("RECEIVERS_GRPC", "RECEIVERS_HTTP", "METRICS")},
    ],
    ids=["token", "IPv6", "wildcard"],
)
def test_a_demonstration_that_stays_up_speaks_to_the_addresses_and_with_the_token_that_are_configured(
    settings: dict[str, str],
) -> None:
    """And says to an application which."""
    status, out = stopped_by(signal.SIGINT, "--stay", after="Ctrl-C ends", **QUICK, **PORTS, **settings)

    assert status == 0
    assert ("http://[::1]:" in out) is ("::1" in settings.values())
    assert "http://0.0.0.0" not in out
    assert ("OTEL_EXPORTER_OTLP_HEADERS" in out) is ("t0ken" in settings.values())
    assert "t0ken" not in out


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("LIMITS_MEMORY_SOFT_BYTES", "1000000", "memory_soft_bytes"),
        ("LIMITS_MAX_SPANS_PER_REQUEST", "1", "more spans or log records than the limit"),
        ("ASSEMBLER_QUIET_AFTER_ROOT_SECONDS", "60.5", "quiet_after_root_seconds"),
    ],
)
def test_settings_that_leave_nothing_to_show_are_named(setting: str, value: str, remedy: str) -> None:
    """At once, with the remedy; it is no bug, and no busy machine."""
    ended = demo(**{**QUICK, "LANEWATCH_ASSEMBLER_TRACE_TIMEOUT_SECONDS": "90", f"LANEWATCH_{setting}": value})

    assert ended.returncode == 1
    assert remedy in " ".join(ended.stdout.split())
    assert "bug" not in ended.stdout + ended.stderr
    assert "busy" not in ended.stdout


def _ids(observations: list[Observation]) -> set[str | None]:
    records = [observation.record for observation in observations]
    return (
        {record.trace_id for record in records}
        | {request.call_id for record in records for request in record.requests}
        | {generation.response_id for record in records for generation in record.generations}
        | {record.session_id for record in records}
    ) - {None}


def _found(observations: list[Observation]) -> list[tuple[object, ...]]:
    records = sorted(observations, key=lambda seen: seen.record.start_ns)
    return [
        (
            [(d.boundary, d.kind, d.tool) for d in seen.divergences],
            [(r.name, r.outcome) for r in seen.record.requests],
            [(d.name, d.executed, d.match_rule) for d in seen.record.dispatches],
        )
        for seen in records
    ]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.folder)
def test_new_ids_change_no_finding(story: Story) -> None:
    """All ids are new, and what is found is the same."""
    digits = iter(range(1, 1000))
    requests = requests_of(story)
    one, before = renewed(requests, Config(), lambda n: f"{next(digits):0{n}x}")
    two, after = renewed(one, Config(), lambda n: f"{next(digits):0{n}x}")

    assert [len(request.body) for request in two] == [len(request.body) for request in requests]
    assert not _ids(before) & _ids(after)
    assert _found(after) == _found(before) != []


def test_a_demonstration_that_goes_on_ends_well_by_sigterm() -> None:
    """As the one process of a container, whose sidecar may come later than it."""
    nobody = ("--endpoint", "http://127.0.0.1:1", "--every", "60")
    status, out = stopped_by(signal.SIGTERM, *nobody, after="Can't reach")

    assert status == 0
    assert "The demonstration was stopped." in out


def test_a_demonstration_without_a_folder_to_write_to_says_what_to_do() -> None:
    """A container with a read-only root and no tmpfs is no bug of ours."""
    code = (
        "import tempfile\n"
        "def none(**_): raise FileNotFoundError(2, 'No usable temporary directory found')\n"
        "tempfile.TemporaryDirectory = none\n"
        "from lanewatch.cli.main import main\n"
        "main()"
    )
    with running() as sidecar:
        ports = [f"http://127.0.0.1:{port}" for port in (sidecar.http_port, sidecar.page_port)]
        command = [sys.executable, "-c", code, "demo", "--endpoint", ports[0], "--metrics", ports[1]]
        done = subprocess.run(command, env=environ(), capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 1
    assert "TMPDIR" in done.stdout
    assert "bug" not in done.stdout + done.stderr
