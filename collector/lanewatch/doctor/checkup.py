"""What `lanewatch doctor` asks a running sidecar, and the Prometheus that is to scrape it: checks with remedies, in order.

No check guesses: what is not exported, or could not be asked, is unknown.
"""

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from lanewatch.config.keys import Config
from lanewatch.config.reference import describe
from lanewatch.doctor.check import Check, Status
from lanewatch.doctor.drift import drift
from lanewatch.doctor.judge import judge
from lanewatch.doctor.judge_cost import judge_cost
from lanewatch.doctor.prometheus import prometheus
from lanewatch.doctor.traffic import traffic
from lanewatch.monitors.rates import Sample
from lanewatch.pages.client import Answer, PageClient, PagesUnreachableError, decoded
from lanewatch.pages.samples import samples_of
from lanewatch.rules import summary
from lanewatch.shown_text import counted

CONNECT_SECONDS = 2.0
OK = 200
OWN = "lanewatch_"  # what the names of its metrics begin with


class Diagnosis(msgspec.Struct, frozen=True):
    """All checks, and the settings that are not at their defaults (secrets hidden)."""

    address: str
    settings: dict[str, Any]
    checks: tuple[Check, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return all(check.status is not Status.WRONG for check in self.checks)


def diagnose(
    config: Config,
    client: PageClient,
    scraper: PageClient | None = None,
    *,
    connect: Callable[[str, int], bool] | None = None,
    clock: Callable[[], float] = time.time,
) -> Diagnosis:
    """Look at everything. `scraper` is a Prometheus that is to scrape the sidecar; `connect` tells whether somebody listens."""
    checks = [_configuration(config)]
    if client.configured:  # else the listeners are those of another configuration
        checks += _listeners(config, connect or listens)
    checks += _page_checks(config, client, scraper, clock)
    return Diagnosis(client.address, changed_settings(config), tuple(checks))


def changed_settings(config: Config) -> dict[str, Any]:
    """What was set to something else than its default, by name; a secret as `set`."""
    default = Config()
    found: dict[str, Any] = {}
    for row in describe():
        value = getattr(getattr(config, row.section), row.key)
        if value != getattr(getattr(default, row.section), row.key):
            found[row.name] = "set" if row.secret else value
    return found


def listens(host: str, port: int) -> bool:
    """Whether a connection can be made."""
    try:
        with socket.create_connection((host, port), CONNECT_SECONDS):
            return True
    except OSError:
        return False


def _configuration(config: Config) -> Check:
    warnings = config.warnings()
    if warnings:
        return Check("configuration", Status.NOTE, "valid, and unwise", " ".join(warnings))
    n = len(changed_settings(config))
    told = f"valid; {counted(n, 'setting')} {'differs' if n == 1 else 'differ'} from the defaults"
    return Check("configuration", Status.OK, "; ".join((told, *(line.rstrip(".") for line in summary(config)))))


def _listeners(config: Config, connect: Callable[[str, int], bool]) -> Iterator[Check]:
    receivers, metrics = config.receivers, config.metrics
    for name, host, port, setting in (
        ("OTLP/gRPC", receivers.grpc_host, receivers.grpc_port, "receivers.grpc_port"),
        ("OTLP/HTTP", receivers.http_host, receivers.http_port, "receivers.http_port"),
        ("pages", metrics.host, metrics.port, "metrics.port"),
    ):
        if port == 0:
            told = f"any free port ({setting} is 0): the log's line `taking OTLP` names it"
            yield Check(name, Status.UNKNOWN, told, f"set {setting} to be able to ask")
        elif connect(host, port):
            yield Check(name, Status.OK, f"somebody listens on {host}, port {port}")
        else:
            yield Check(
                name,
                Status.WRONG,
                f"nobody listens on {host}, port {port}",
                "start it with `lanewatch run`, with the same configuration (LANEWATCH_CONFIG); in a container or "
                "another pod, its address is another",
            )


def _page_checks(
    config: Config, client: PageClient, scraper: PageClient | None, clock: Callable[[], float]
) -> list[Check]:
    try:
        health, ready, metrics, drift_page = (
            client.get(path) for path in ("/healthz", "/readyz", "/metrics", "/drift")
        )
    except PagesUnreachableError as error:
        return [Check("sidecar", Status.WRONG, str(error), "start it, or say where it is: --metrics URL")]
    samples = _samples(metrics)
    if not any(name.startswith(OWN) for name, _, _ in samples):
        # Many a server answers any path with 200: what it says of itself is no news of a sidecar.
        found = f"what answers at {client.address} is no sidecar: its /metrics answers {metrics.status}, without counters of Lanewatch"
        other = Check(
            "sidecar", Status.WRONG, found, "say where its pages are: --metrics URL (metrics.host, metrics.port)"
        )
        return [other, *(() if scraper is None else prometheus(scraper, samples))]
    return [
        _verdict("works", health, "all of its parts work"),
        _verdict("takes data", ready, "it takes data"),
        *traffic(samples, config.receivers.http_port),
        *judge(config, samples),
        *judge_cost(config, samples),
        *drift(config, drift_page, samples, clock()),
        *(() if scraper is None else prometheus(scraper, samples)),
    ]


def _samples(page: Answer) -> list[Sample]:
    """None of a page that is no exposition: then the checks say what is missing."""
    try:
        return list(samples_of(page.body.decode("utf-8", "replace"))) if page.status == OK else []
    except ValueError:
        return []


def _verdict(name: str, answer: Answer, fine: str) -> Check:
    try:
        told = decoded(answer.body, _Verdict)
    except msgspec.DecodeError:
        return Check(name, Status.UNKNOWN, f"it answers {answer.status}", "is it Lanewatch that listens there?")
    if answer.status == OK and told.ok:
        return Check(name, Status.OK, fine)
    remedies = " ".join(f"{reason}: {remedy}." for reason, remedy in told.remedies.items())
    return Check(name, Status.WRONG, ", ".join(told.reasons), remedies)


class _Verdict(msgspec.Struct):
    ok: bool
    reasons: list[str] = []
    remedies: dict[str, str] = {}
