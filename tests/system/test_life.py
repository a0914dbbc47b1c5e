"""The life of the process: pages, signals, configuration, ports."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.captures import bodies
from tests.system.sidecar import Running, running

PORTS = ("METRICS_PORT", "RECEIVERS_HTTP_PORT", "RECEIVERS_GRPC_PORT")


@pytest.fixture(scope="module")
def sidecar() -> Iterator[Running]:
    """One sidecar for the tests that only look at it."""
    with running() as up:
        yield up


def test_the_pages_answer(sidecar: Running) -> None:
    """Alive, ready, and scrapable in both formats."""
    assert sidecar.get("/healthz")[0] == 200
    assert sidecar.get("/readyz")[0] == 200
    assert sidecar.get("/metrics")[1].startswith("text/plain")
    assert sidecar.get("/metrics", "application/openmetrics-text;version=1.0.0")[1].startswith(
        "application/openmetrics-text"
    )
    assert sidecar.get("/nothing")[0] == 404


def test_the_first_page_names_the_others(sidecar: Running) -> None:
    """Whoever opens the port in a browser learns what it is."""
    status, content_type, text = sidecar.get("/")

    assert (status, content_type) == (200, "text/plain; charset=utf-8")
    assert all(page in text for page in ("/metrics", "/healthz", "/readyz"))


def test_known_label_values_are_zero_before_the_first_request(sidecar: Running) -> None:
    """A rate over a counter that is not there yet is nothing, not 0."""
    samples = sidecar.samples()

    assert samples["lanewatch_spans_received_total", (("protocol", "grpc"), ("signal", "traces"))] == 0
    assert samples["lanewatch_traces_closed_total", (("reason", "timeout"),)] == 0


def test_everything_listens_on_loopback_alone(sidecar: Running) -> None:
    """Whoever wants more has to say so."""
    listening = subprocess.run(
        ["/bin/cat", f"/proc/{sidecar.process.pid}/net/tcp"], capture_output=True, text=True, check=True
    )
    ports = {f"{port:04X}" for port in (sidecar.grpc_port, sidecar.http_port, sidecar.page_port)}
    addresses = {
        line.split()[1].split(":")[0] for line in listening.stdout.splitlines()[1:]
        if line.split()[1].split(":")[1] in ports and line.split()[3] == "0A"
    }  # fmt: skip

    assert addresses == {"0100007F"}


def test_sigterm_closes_and_reads_open_traces_and_ends_well() -> None:
    """A trace whose quiet time has not passed is not lost."""
    with running(LANEWATCH_ASSEMBLER_QUIET_AFTER_ROOT_SECONDS="50") as sidecar:
        for signal_name, body in bodies("openai_oi/01_right_tool"):
            assert sidecar.post(f"/v1/{signal_name}", body, Content_Type="application/x-protobuf") == 200
        assert sidecar.total("lanewatch_traces_open") == 1
        status = sidecar.terminate()

        assert status == 0
        assert "closed 1 open traces and read them" in sidecar.log_events()[-1]["message"]


def test_a_second_signal_ends_at_once() -> None:
    """An operator who asks twice does not want to wait for the drain time."""
    begun = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    with (
        running(LANEWATCH_SHUTDOWN_DRAIN_SECONDS="60", LANEWATCH_RECEIVERS_REQUEST_DEADLINE_SECONDS="60") as sidecar,
        socket.create_connection(("127.0.0.1", sidecar.http_port)) as client,
    ):
        client.sendall(begun)  # an open request keeps the first signal waiting
        sidecar.wait_for(lambda: sidecar.total("lanewatch_bytes_in_flight") > 0)
        sidecar.process.send_signal(signal.SIGTERM)
        sidecar.wait_for(lambda: "stopping" in sidecar.log_lines()[-1])
        sidecar.process.send_signal(signal.SIGTERM)

        assert sidecar.process.wait(10) == 3


def test_the_log_is_one_json_object_a_line(sidecar: Running) -> None:
    """So that nothing in it can look like two events."""
    assert all({"time", "level", "message"} <= event.keys() for event in sidecar.log_events())


def test_pages_for_everybody_are_warned_of_in_the_log() -> None:
    """Once, as a line like any other: whoever reaches them learns the names of services and tools."""
    with running(LANEWATCH_METRICS_HOST="0.0.0.0") as sidecar:
        warnings = [event["message"] for event in sidecar.log_events() if event["level"] == "warning"]

    assert len(warnings) == 1
    assert warnings[0].startswith("metrics.host is not a loopback address")


@pytest.mark.parametrize("setting", PORTS)
def test_a_taken_port_is_said_with_the_setting_to_change(setting: str) -> None:
    """Status 2, no traceback."""
    free = dict.fromkeys((f"LANEWATCH_{name}" for name in PORTS), "0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        environ = {**os.environ, **free, f"LANEWATCH_{setting}": port}
        ended = subprocess.run(
            [sys.executable, "-m", "lanewatch", "run"],
            env=environ,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    assert ended.returncode == 2
    assert re.search(rf"can't listen for .* on 127\.0\.0\.1, port {port}: .*LANEWATCH_{setting}", ended.stderr)
    assert "Traceback" not in ended.stderr


def test_a_faulty_configuration_names_every_fault_and_starts_nothing(tmp_path: Path) -> None:
    """All at once: nobody likes to fix ten faults in ten runs."""
    file = tmp_path / "lanewatch.toml"
    file.write_text("[metrics]\nprot = 9464\n[assembler]\ntrace_timeout_seconds = -1\n")
    command = [sys.executable, "-m", "lanewatch", "run", "--config", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert ended.returncode == 2
    assert "metrics.prot" in ended.stderr
    assert "trace_timeout_seconds" in ended.stderr
