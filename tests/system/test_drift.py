"""A whole sidecar learns from recorded traffic, watches, finds what changed and nothing else, and survives a kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from lanewatch.monitors.drift.reference import load_reference, save_reference

from tests.system.drift_traffic import SERVICE, Traffic
from tests.system.sidecar import Running, running

LEARNT, USUAL, CHANGED = 1250, 250, 150  # traces
HOURS = 5


def feed(sidecar: Running, requests: Iterable[bytes], traces: int) -> None:
    """Send them, and wait until they were read and the page shows it."""
    before = sidecar.total("lanewatch_traces_read_total")
    for body in requests:
        while sidecar.post("/v1/traces", body, Content_Type="application/x-protobuf") != 200:
            time.sleep(0.1)  # it is busy, and says so
    sidecar.wait_until_read(int(before) + traces)
    time.sleep(2.5)  # drift looks at the time once a second


def alarms(sidecar: Running) -> set[str]:
    """The signals whose alarm stands."""
    return {
        dict(labels)["signal"]
        for (name, labels), value in sidecar.samples().items()
        if name == "lanewatch_alarm" and value == 1
    }


def command(sidecar: Running, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """`lanewatch` with that sidecar's pages."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LANEWATCH_")}
    return subprocess.run(
        [sys.executable, "-m", "lanewatch", *arguments, "--metrics", f"http://127.0.0.1:{sidecar.page_port}"],
        env=environ, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def hidden_content_is_unsure(sidecar: Running, traffic: Traffic) -> None:
    """Traces begin to hide what models said: what is read of it is unsure, and not ok."""
    feed(sidecar, traffic.requests(CHANGED, hidden=0.8), CHANGED)
    assert alarms(sidecar) == {"incomplete_responses", "incomplete_requests"}
    assert sidecar.total("lanewatch_drift_state", signal="refusal", state="unsure") == 1
    assert sidecar.total("lanewatch_drift_state", signal="refusal", state="ok") == 0
    assert sidecar.total("lanewatch_drift_held_back", signal="refusal") == 1
    assert sidecar.total("lanewatch_drift_state", signal="latency", state="ok") == 1


def an_adopted_reference_is_taken_up(sidecar: Running, folder: Path) -> None:
    """Too little was counted for a next reference; one that is put in place is taken up as it runs."""
    live = command(sidecar, "baseline", "propose", "--live", "--reason", "-", "--reference", str(folder / "reference"))
    assert (live.returncode, "counted too little" in live.stderr) == (2, True)
    in_use = load_reference(folder / "reference").reference
    assert in_use is not None
    adopted = msgspec.structs.replace(in_use, source="window")
    save_reference(folder / "reference", adopted)
    sidecar.wait_for(lambda: sidecar.total("lanewatch_reference_info", ref=adopted.id) == 1)
    assert sidecar.total("lanewatch_reference_info", ref=in_use.id) == 0
    assert alarms(sidecar) == set()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where drift survives."""
    return tmp_path_factory.mktemp("drift")


@pytest.mark.slow
def test_a_change_is_found_in_its_signal_alone_and_survives_a_kill(folder: Path) -> None:
    """Learnt from 1,250 traces over two hours; 250 of the same raise nothing; then three of ten tool runs fail."""
    settings = {
        "LANEWATCH_DRIFT_STATE_FOLDER": str(folder),
        "LANEWATCH_DRIFT_FIT_TRACES": "600",
        "LANEWATCH_DRIFT_LEARNING_SECONDS": "3000",
        "LANEWATCH_DRIFT_SNAPSHOT_SECONDS": "0.5",
    }
    traffic = Traffic(time.time() - HOURS * 3600)
    with running(**settings) as sidecar:
        assert sidecar.total("lanewatch_drift_phase", phase="learning") == 1
        feed(sidecar, traffic.requests(LEARNT), LEARNT)
        sidecar.wait_for(lambda: sidecar.total("lanewatch_drift_phase", phase="watching") == 1)
        feed(sidecar, traffic.requests(USUAL), USUAL)
        assert alarms(sidecar) == set()
        assert sidecar.total("lanewatch_drift_state", signal="tool_error", state="ok") == 1
        feed(sidecar, traffic.requests(CHANGED, tool_errors=0.4), CHANGED)

        assert alarms(sidecar) == {"tool_error"}
        assert sidecar.total("lanewatch_alarm", signal="tool_error", direction="up", lane="tools", service=SERVICE) == 1
        assert sidecar.total("lanewatch_alarms_total") == 1
        assert sidecar.total("lanewatch_drift_errors_total") == 0
        changed = sidecar.total("lanewatch_alarm_change_timestamp_seconds")
        assert abs(changed - (traffic.at - CHANGED * 5)) < 600
        if shutil.which("promtool"):
            page = sidecar.get("/metrics")[2]
            done = subprocess.run(
                ["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stdout + done.stderr) == (0, "")
        reference = next(
            dict(labels)["ref"] for name, labels in sidecar.samples() if name == "lanewatch_reference_info"
        )
        sidecar.process.send_signal(signal.SIGKILL)
        sidecar.process.wait()
    with running(**settings) as sidecar:
        assert alarms(sidecar) == {"tool_error"}
        assert sidecar.total("lanewatch_reference_info", ref=reference) == 1
        feed(sidecar, traffic.requests(50, tool_errors=0.4), 50)
        assert alarms(sidecar) == {"tool_error"}
        told = json.loads(command(sidecar, "doctor", "--format", "json").stdout)
        assert any(check["name"] == "drift alarm" and "tool_error" in check["found"] for check in told["checks"])
        done = command(sidecar, "drift", "ack", SERVICE, "tool_error")

        assert (done.returncode, done.stdout) == (0, "The alarm has ended.\n")
        assert alarms(sidecar) == set()
        assert command(sidecar, "drift", "ack", SERVICE, "tool_error").returncode == 1

        hidden_content_is_unsure(sidecar, traffic)
        an_adopted_reference_is_taken_up(sidecar, folder)
        assert sidecar.terminate() == 0


@pytest.mark.slow
def test_damaged_state_is_set_aside_said_and_begun_anew(tmp_path: Path) -> None:
    """The sidecar starts, the file is kept for whoever wants to look at it."""
    (tmp_path / "learning").write_bytes(b"\x00" * 50)
    with running(LANEWATCH_DRIFT_STATE_FOLDER=str(tmp_path)) as sidecar:
        told = [event["message"] for event in sidecar.log_events()]

        assert sidecar.total("lanewatch_drift_files_set_aside_total") == 1
        assert any("the file `learning` of drift.state_folder is damaged" in message for message in told)
    assert (tmp_path / "learning.damaged-1").read_bytes() == b"\x00" * 50
