"""`lanewatch doctor` beside a sidecar that runs: from nothing at all to content that is hidden, each with its remedy."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from lanewatch.sidecar.content_switches import remedy

from tests.system.captures import bodies
from tests.system.sidecar import Running, running

PROTOBUF = "application/x-protobuf"


def looked(sidecar: Running, *more: str) -> dict[str, dict[str, Any]]:
    """The checks by name; the first of those that share one."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LANEWATCH_")}
    command = [sys.executable, "-m", "lanewatch", "doctor", "--format", "json"]
    command += ["--metrics", f"http://127.0.0.1:{sidecar.page_port}", *more]
    done = subprocess.run(command, env=environ, capture_output=True, timeout=60, check=False)
    diagnosis = json.loads(done.stdout)
    assert done.returncode == (not diagnosis["sound"])
    return {check["name"]: check for check in reversed(diagnosis["checks"])}


def test_health_is_one_word_and_a_status() -> None:
    """What a container's health check runs; nobody who answers is no health."""
    with running() as sidecar:
        asked = [sys.executable, "-m", "lanewatch", "health", "--metrics"]
        well = subprocess.run(
            [*asked, f"http://127.0.0.1:{sidecar.page_port}", "--ready"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        gone = subprocess.run([*asked, "http://127.0.0.1:1"], capture_output=True, text=True, timeout=60, check=False)

        assert (well.returncode, well.stdout) == (0, "ok\n")
        assert (gone.returncode, gone.stdout) == (1, "")
        assert "no sidecar answers" in gone.stderr


@pytest.mark.parametrize(
    ("capture", "convention"),
    [
        ("langchain_double/15_no_content", "openinference"),
        ("openai_traceloop/15_no_content", "traceloop"),
        ("openai-v2-latest/15_no_content", "otel_genai"),
    ],
)
def test_what_is_missing_is_told_as_it_comes(capture: str, convention: str) -> None:
    """No spans, then spans whose content is hidden: the switch of the instrumentor that was seen, no session, no baseline."""
    with running() as sidecar:
        before = looked(sidecar)
        for signal, body in bodies(capture):
            assert sidecar.post(f"/v1/{signal}", body, Content_Type=PROTOBUF) == 200
        sidecar.wait_until_read(1)
        after = looked(sidecar, "--prometheus", "http://127.0.0.1:1")

        assert before["traffic"]["found"] == "no span has come since it started"
        assert before["drift"]["found"].startswith("no baseline yet")
        assert after["traffic"]["status"] == "ok"
        assert after["message content"]["remedy"] == f"set {remedy(convention)} in the application"
        assert after["Prometheus"]["status"] == "unknown"
        assert ("session ids" in after) is (convention != "otel_genai")
