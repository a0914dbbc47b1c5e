"""`lanewatch run` as a process of its own on free loopback ports, and what a test asks of it."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

from prometheus_client.parser import text_string_to_metric_families

PATIENCE_SECONDS = 90.0  # a machine with a dozen processes waiting takes a minute to start one more
QUICK = {
    "LANEWATCH_ASSEMBLER_QUIET_AFTER_ROOT_SECONDS": "0.2",
    "LANEWATCH_JUDGE_ENABLED": "false",  # a second process for each test; those of the judge switch it on
}


def post(port: int, path: str, body: bytes, **headers: str) -> int:
    """Status of a POST; `_` in a header's name stands for `-`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


class Running:
    """A sidecar that is up."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
        self.process = process
        self._log = log
        found = self._await_line(rb"gRPC on port (\d+), HTTP on port (\d+); metrics on port (\d+)")
        self.grpc_port, self.http_port, self.page_port = (int(port) for port in found.groups())

    def log_lines(self) -> list[str]:
        """What it has logged so far."""
        self._log.seek(0)
        return self._log.read().decode().splitlines()

    def log_events(self) -> list[dict[str, Any]]:
        """The same, each line parsed."""
        return [json.loads(line) for line in self.log_lines()]

    def get(self, path: str, accept: str = "text/plain") -> tuple[int, str, str]:
        """(status, content type, body) of a page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.page_port, timeout=10)
        try:
            connection.request("GET", path, headers={"Accept": accept})
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type", ""), answer.read().decode()
        finally:
            connection.close()

    def post(self, path: str, body: bytes, **headers: str) -> int:
        """Status of an OTLP request."""
        return post(self.http_port, path, body, **headers)

    def samples(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Every sample of /metrics."""
        families = text_string_to_metric_families(self.get("/metrics")[2])
        return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}

    def total(self, name: str, **labels: str) -> float:
        """The sum of a metric over all labels that are not given."""
        wanted = set(labels.items())
        return sum(value for (sample, have), value in self.samples().items() if sample == name and wanted <= set(have))

    def wait_until_read(self, traces: int) -> None:
        """Wait until so many traces were closed and read, revisions among them."""
        self.wait_for(lambda: self.total("lanewatch_traces_read_total") >= traces)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds; a test fails that waits too long."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.02)

    def terminate(self) -> int:
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)

    def assert_conserved(self) -> None:
        """What came in is somewhere: the conservation law of the counters."""
        received = self.total("lanewatch_spans_received_total")
        names = ("assembled", "irrelevant", "rejected", "dropped")
        elsewhere = sum(self.total(f"lanewatch_spans_{name}_total") for name in names)
        elsewhere += self.total("lanewatch_late_spans_total") + self.total("lanewatch_duplicates_total")

        assert received == elsewhere
        opened, closed = (self.total(f"lanewatch_traces_{what}_total") for what in ("opened", "closed"))
        assert opened == closed + self.total("lanewatch_traces_open")

    def _await_line(self, pattern: bytes) -> "re.Match[bytes]":
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            self._log.seek(0)
            found = re.search(pattern, self._log.read())
            if found:
                return found
            assert self.process.poll() is None, f"ended with status {self.process.returncode}: {self.log_lines()}"
            time.sleep(0.02)
        raise AssertionError("the sidecar did not start in time")


@contextlib.contextmanager
def running(*before: str, **settings: str) -> Iterator[Running]:
    """A sidecar; `settings` are LANEWATCH_* variables, `before` stands before its command, as `prlimit` does."""
    ports = dict.fromkeys(
        ("LANEWATCH_RECEIVERS_GRPC_PORT", "LANEWATCH_RECEIVERS_HTTP_PORT", "LANEWATCH_METRICS_PORT"), "0"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LANEWATCH_", "OTEL_"))}
    environ = {**clean, **ports, "LANEWATCH_LOG_FORMAT": "json", **QUICK, **settings}
    with tempfile.TemporaryFile() as log:
        command = [*before, sys.executable, "-m", "lanewatch", "run"]
        process = subprocess.Popen(command, stderr=log, stdout=log, env=environ)
        try:
            yield Running(process, log)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
