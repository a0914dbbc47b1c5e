"""`lanewatch report`: a running sidecar and its recordings tell the same rates."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.system.captures import CORPUS, bodies
from tests.system.sidecar import running

CAPTURES = ("langchain_oi/02_wrong_tool", "langchain_oi/05_tool_error", "langchain_oi/03_parallel")


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command."""
    command = [sys.executable, "-m", "lanewatch", "report", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def told(*arguments: str) -> Any:
    """What it says, as JSON."""
    done = run(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_sidecar_and_its_recordings_tell_the_same() -> None:
    """Both count by the same counters."""
    with running() as sidecar:
        for capture in CAPTURES:
            for signal, body in bodies(capture):
                assert sidecar.post(f"/v1/{signal}", body, Content_Type="application/x-protobuf") == 200
        sidecar.wait_until_read(len(CAPTURES))
        live = told("--metrics", f"http://127.0.0.1:{sidecar.page_port}")
    recorded = told(*(str(CORPUS / capture) for capture in CAPTURES))

    assert live == recorded
    errors = next(rate for rate in recorded["services"][0]["rates"] if rate["name"] == "tool_error")
    assert 0 < errors["low"] < errors["rate"] < errors["high"] < 1


def test_the_report_stands_lanes_side_by_side() -> None:
    """Four lanes, whole words, and no line that adds them up."""
    done = run(str(CORPUS / CAPTURES[1]))

    assert done.returncode == 0
    assert all(
        f"\n {lane} " in done.stdout.replace("\n  ", "\n ") for lane in ("retrieval", "generation", "tools", "outcome")
    )
    assert "total" not in done.stdout.lower()
    assert "none judged" in done.stdout


def test_the_command_says_why_nothing_can_be_said(tmp_path: Path) -> None:
    """Nobody listens; nothing was read; no file."""
    nobody = run("--metrics", "http://127.0.0.1:9")
    (tmp_path / "empty").mkdir()
    nothing = run(str(tmp_path / "empty"))

    assert (nobody.returncode, nothing.returncode) == (1, 1)
    assert "127.0.0.1:9" in nobody.stderr
    assert "nothing can be said" in nothing.stderr
