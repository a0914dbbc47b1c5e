"""What a running sidecar is asked by `lanewatch doctor`, and what each answer means: checks with remedies, in order.

Each check is `ok`, `note` (works, and there is something to know), `wrong` (does not work as set), or `unknown` where it
could not be asked. No check guesses: what is not exported is unknown.
"""

import re
import socket
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from lanewatch.config_keys import Config
from lanewatch.config_reference import describe
from lanewatch.page_client import Answer, PageClient, PagesUnreachableError
from lanewatch.rules import summary

CONNECT_SECONDS = 2.0
OK = 200
STALE_STATE = 10  # times drift.snapshot_seconds
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')

Samples = list[tuple[str, dict[str, str], float]]


class Status(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"
    UNKNOWN = "unknown"


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at: what was found, and what to do where something is to be done."""

    name: str
    status: Status
    found: str
    remedy: str = ""


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
    *,
    connect: Callable[[str, int], bool] | None = None,
    clock: Callable[[], float] = time.time,
) -> Diagnosis:
    """Look at everything. `connect` tells whether somebody listens there."""
    checks = [_configuration(config)]
    if client.configured:  # else the listeners are those of another configuration
        checks += _listeners(config, connect or listens)
    checks += _page_checks(config, client, clock)
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


def read_samples(text: str) -> Samples:
    """The samples of a metrics page; lines that are none are left out.

    >>> read_samples('a_total{x="1"} 2.0')
    [('a_total', {'x': '1'}, 2.0)]
    """
    found: Samples = []
    for line in text.splitlines():
        match = None if line.startswith("#") else _SAMPLE.match(line)
        if match is not None:
            try:
                found.append((match[1], dict(_LABEL.findall(match[2] or "")), float(match[3])))
            except ValueError:
                continue
    return found


def total(samples: Samples, name: str, **labels: str) -> float | None:
    """The sum over all labels that are not given; None where there is no such sample."""
    wanted = labels.items()
    found = [value for sample, have, value in samples if sample == name and wanted <= have.items()]
    return sum(found) if found else None


def _configuration(config: Config) -> Check:
    warnings = config.warnings()
    if warnings:
        return Check("configuration", Status.NOTE, "valid, and unwise", " ".join(warnings))
    told = f"valid; {len(changed_settings(config))} settings differ from the defaults"
    return Check("configuration", Status.OK, "; ".join((told, *summary(config))))


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


def _page_checks(config: Config, client: PageClient, clock: Callable[[], float]) -> list[Check]:
    try:
        health, ready, metrics = (client.get(path) for path in ("/healthz", "/readyz", "/metrics"))
        drift = client.get("/drift")
    except PagesUnreachableError as error:
        return [Check("sidecar", Status.WRONG, str(error), "start it, or say where it is: --metrics URL")]
    samples = read_samples(metrics.body.decode("utf-8", "replace"))
    return [
        _verdict("works", health, "all of its parts work"),
        _verdict("takes data", ready, "it takes data"),
        *_traffic(samples),
        *_evidence(samples),
        *_drift(config, drift, samples, clock),
    ]


def _verdict(name: str, answer: Answer, fine: str) -> Check:
    if answer.status == OK:
        return Check(name, Status.OK, fine)
    try:
        told = msgspec.json.decode(answer.body, type=_Verdict)
    except msgspec.DecodeError:
        return Check(name, Status.UNKNOWN, f"it answers {answer.status}", "is it Lanewatch that listens there?")
    remedies = " ".join(f"{reason}: {remedy}." for reason, remedy in told.remedies.items())
    return Check(name, Status.WRONG, ", ".join(told.reasons), remedies)


class _Verdict(msgspec.Struct):
    reasons: list[str] = []
    remedies: dict[str, str] = {}


def _traffic(samples: Samples) -> Iterator[Check]:
    spans, refused = (total(samples, f"lanewatch_{n}_total") for n in ("spans_received", "requests_refused"))
    irrelevant, read = (total(samples, f"lanewatch_{n}_total") for n in ("spans_irrelevant", "traces_read"))
    if spans is None or read is None:
        yield Check("traffic", Status.UNKNOWN, "the page has no counters", "is it Lanewatch that listens there?")
        return
    if refused:
        by_reason = {have["reason"]: v for n, have, v in samples if n == "lanewatch_requests_refused_total" and v}
        told = ", ".join(f"{reason} {n:g}" for reason, n in sorted(by_reason.items()))
        yield Check("refusals", Status.NOTE, f"requests were refused: {told}", "the README has a row for each reason")
    if not spans:
        yield Check(
            "traffic",
            Status.NOTE,
            "no span has come since it started",
            "set OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 and OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf in the "
            "application; `lanewatch demo --endpoint` sends recorded traces",
        )
    elif not read and irrelevant == spans:
        yield Check(
            "traffic",
            Status.NOTE,
            f"{spans:g} spans came, none of a convention for models, tools or retrieval",
            "instrument the model client or the framework: docs/conventions.md lists what is read",
        )
    else:
        yield Check("traffic", Status.OK, f"{spans:g} spans came, {read:g} traces were read")


def _evidence(samples: Samples) -> Iterator[Check]:
    """Of each kind of record, the share of traces that show all of it; far fewer than all can't be judged."""
    for kind in ("requests", "responses"):
        seen = total(samples, "lanewatch_evidence_total", record=kind)
        whole = total(samples, "lanewatch_evidence_total", record=kind, state="complete")
        if not seen or whole is None:
            continue
        found = f"{whole / seen:.0%} of {seen:g} traces show all {kind}"
        if whole / seen >= 0.5:  # noqa: PLR2004 - more are judged than not
            yield Check(f"evidence of {kind}", Status.OK, found)
        else:
            yield Check(
                f"evidence of {kind}",
                Status.NOTE,
                found,
                "switch on the capture of message content in the application: docs/content.md has each stack's switch",
            )


def _drift(config: Config, answer: Answer, samples: Samples, clock: Callable[[], float]) -> Iterator[Check]:
    if answer.status != OK:
        status = Status.NOTE if not config.drift.enabled else Status.UNKNOWN
        yield Check("drift", status, "it is not watched", "set drift.enabled = true, and start anew")
        return
    try:
        seen = msgspec.json.decode(answer.body, type=_Drift)
    except msgspec.DecodeError:
        yield Check("drift", Status.UNKNOWN, "its page can't be read", "is the sidecar of the same version?")
        return
    yield _phase(seen)
    if total(samples, "lanewatch_drift_errors_total"):
        yield Check("drift errors", Status.WRONG, "drift failed on some traces", "report it, with the log's line")
    yield from _alarms(seen)
    yield _state(config, seen, clock())


class _Learning(msgspec.Struct):
    fitted: int
    fit_traces: int
    counted_seconds: float
    learning_seconds: float


class _Storage(msgspec.Struct):
    failed: int = 0
    set_aside: int = 0
    since: float = 0.0


class _Series(msgspec.Struct):
    service: str
    lane: str
    signal: str
    state: str
    because: list[str] = []


class _Drift(msgspec.Struct):
    phase: str
    because: str
    reference: str
    false_alarms_per_30_days: float
    budget_of: str
    storage: _Storage
    series: list[_Series]
    learning: _Learning | None = None


def _phase(seen: _Drift) -> Check:
    if seen.phase == "no_reference":
        told = f"nothing is watched: the reference that is set is {seen.because}"
        return Check(
            "drift", Status.WRONG, told, "make one with `lanewatch baseline`, or set drift.reference_file to none"
        )
    if seen.learning is not None:
        learning = seen.learning
        if learning.fitted < learning.fit_traces:
            told = f"it learns what is usual: {learning.fitted} of {learning.fit_traces} traces that bins are fitted to"
        else:
            days = (learning.counted_seconds / 86_400, learning.learning_seconds / 86_400)
            told = f"it learns what is usual: {days[0]:.1f} of {days[1]:.1f} days are counted"
        return Check(
            "drift", Status.NOTE, told, "wait, or give it a reference of recorded traffic: `lanewatch baseline`"
        )
    promised = f"{seen.false_alarms_per_30_days:g} false alarms in 30 days at most"
    of = "all together" if seen.budget_of == "instance" else "each"
    return Check(
        "drift", Status.OK, f"{len(seen.series)} signals are watched against {seen.reference}; {promised}, {of}"
    )


def _alarms(seen: _Drift) -> Iterator[Check]:
    for series in seen.series:
        if series.state == "alarm":
            found = f"{series.signal} of {series.service} has drifted ({series.lane} lane)"
            remedy = (
                f"see lanewatch_alarm_moved; once dealt with: lanewatch drift ack {series.service!r} {series.signal}"
            )
            yield Check("drift alarm", Status.NOTE, found, remedy)
    for because in dict.fromkeys(reason for series in seen.series for reason in series.because):
        held = sum(because in series.because for series in seen.series)
        if because == "no_observations":
            remedy = "nothing to observe since it started or for a day; docs/drift.md says what each signal needs"
        else:
            remedy = "traces began to hide what these signals need: see the alarms of incomplete_..."
        yield Check("drift unsure", Status.NOTE, f"nothing can be said of {held} signals: {because}", remedy)


def _state(config: Config, seen: _Drift, now: float) -> Check:
    storage = seen.storage
    if not config.drift.state_folder:
        return Check(
            "drift state",
            Status.NOTE,
            "nothing survives a restart: what was learnt, evidence, standing alarms",
            "set drift.state_folder to a folder that stays",
        )
    if storage.failed:
        remedy = "is drift.state_folder there, writable by its user, and not full?"
        return Check("drift state", Status.WRONG, f"{storage.failed} writings failed", remedy)
    if storage.set_aside:
        remedy = "they stay beside as NAME.damaged-N: look at the disk, and delete them"
        return Check("drift state", Status.NOTE, f"{storage.set_aside} damaged files were set aside", remedy)
    age = now - storage.since
    if storage.since and age > STALE_STATE * config.drift.snapshot_seconds:
        return Check("drift state", Status.WRONG, f"it was written {age:.0f} s ago", "see the log: the disk may hang")
    return Check("drift state", Status.OK, "it is written" if storage.since else "nothing had to be written yet")
