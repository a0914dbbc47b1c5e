"""Prometheus and Alertmanager as processes of their own on free loopback ports, with the shipped configuration."""

import contextlib
import http.client
import json
import re
import socket
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).parents[2] / "deploy" / "prometheus"
INTERVAL_SECONDS = 2
WINDOW_SECONDS = 12
PATIENCE_SECONDS = 60.0


def free_port() -> int:
    """A port of the loopback that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until it holds; a test fails that waits too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.1)


class Webhook:
    """A receiver of Alertmanager's messages: (path, message) each, in order."""

    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, Any]]] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.append((self.path, json.loads(body)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
                """Nothing: the test's output is the test's."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def alerts(self, status: str) -> list[tuple[str, dict[str, str]]]:
        """(path, labels) of each alert that was told with this status."""
        told = [(path, one) for path, message in list(self.received) for one in message["alerts"]]
        return [(path, one["labels"]) for path, one in told if one["status"] == status]


class Prometheus:
    """A server that is up."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str, **query: str) -> Any:
        """The data of an API's answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", f"{path}?{urllib.parse.urlencode(query)}")
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The result of an expression now."""
        found: list[dict[str, Any]] = self.get("/api/v1/query", query=expr)["result"]
        return found

    def rules(self) -> list[dict[str, Any]]:
        """Every rule as the server has it, with its health and last error."""
        return [rule for group in self.get("/api/v1/rules")["groups"] for rule in group["rules"]]

    def first_time(self, selector: str, least: float = 1) -> float:
        """When the first sample of at least this value came, in seconds since the epoch."""
        samples = [sample for one in self.query(f"{selector}[10m]") for sample in one["values"]]
        return min(float(at) for at, value in samples if float(value) >= least)


def shipped(
    folder: Path, *, pages: int, alertmanager: int, webhook: int, interval_seconds: int = INTERVAL_SECONDS
) -> None:
    """The shipped files with other ports and with short intervals; the adapter alert's window of an hour is WINDOW_SECONDS."""
    for path in SHIPPED.glob("*.yml"):
        text = path.read_text()
        for port, other in ((9464, pages), (9093, alertmanager), (9095, webhook)):
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{other}")
        text = re.sub(r"(_interval|group_wait|\binterval): (15s|30s|1m|5m)\b", rf"\1: {interval_seconds}s", text)
        if path.name == "lanes.rules.yml":
            text = re.sub(r"(\[|offset )1h\b", rf"\g<1>{WINDOW_SECONDS}s", text).replace(
                "< 3600", f"< {WINDOW_SECONDS}"
            )
        (folder / path.name).write_text(text)


@contextlib.contextmanager
def server(port: int, log: Path, *command: str) -> Iterator[None]:
    """A server that answers on its port; killed at the end, by its id."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:

        def ready() -> bool:
            assert process.poll() is None, log.read_text()[-2000:]
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            try:
                connection.request("GET", "/-/ready")
                return connection.getresponse().status == 200
            except OSError:
                return False
            finally:
                connection.close()

        try:
            wait_for(ready, command[0])
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def scraping(folder: Path, pages: int, *, interval_seconds: int = INTERVAL_SECONDS) -> Iterator[Prometheus]:
    """Prometheus alone, with exemplars, as dashboards ask it; whom it would alert is not there."""
    own = free_port()
    shipped(folder, pages=pages, alertmanager=free_port(), webhook=free_port(), interval_seconds=interval_seconds)
    command = (
        "prometheus",
        "--enable-feature=exemplar-storage",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{own}",
    )
    with server(own, folder / "prometheus.log", *command):
        yield Prometheus(own)


@contextlib.contextmanager
def alerting(folder: Path, pages: int, webhook: int) -> Iterator[Prometheus]:
    """Both servers, scraping the pages at this port, telling the webhook at that one."""
    own, other = free_port(), free_port()
    shipped(folder, pages=pages, alertmanager=other, webhook=webhook)
    with (
        server(
            other,
            folder / "alertmanager.log",
            "prometheus-alertmanager",
            f"--config.file={folder}/alertmanager.yml",
            f"--storage.path={folder}/alertmanager",
            f"--web.listen-address=127.0.0.1:{other}",
            "--cluster.listen-address=",
        ),
        server(
            own,
            folder / "prometheus.log",
            "prometheus",
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{own}",
        ),
    ):
        yield Prometheus(own)
