"""What the doctor asks a Prometheus: whether it scrapes this very sidecar, once, and has the rules and an Alertmanager.

A sidecar is recognised by the second at which it started, which no two replicas share to the microsecond.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from lanewatch.doctor.check import Check, Status
from lanewatch.monitors.rates import Sample
from lanewatch.pages.client import PageClient, PagesUnreachableError, decoded
from lanewatch.pages.samples import total
from lanewatch.shown_text import counted

T = TypeVar("T")

STARTED = "lanewatch_started_timestamp_seconds"
OURS = "lanewatch"  # what the names of our metrics, jobs and alerts have in common
SHIPPED = "deploy/prometheus/prometheus.yml"


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, float]  # Prometheus writes the second as text


class _Vector(msgspec.Struct):
    result: list[_Series] = []


class _Target(msgspec.Struct, rename="camel"):
    labels: dict[str, str] = {}
    health: str = "unknown"
    last_error: str = ""


class _Targets(msgspec.Struct, rename="camel"):
    active_targets: list[_Target] = []


class _Rule(msgspec.Struct, rename="camel"):
    name: str = ""
    type: str = ""
    health: str = "unknown"


class _Group(msgspec.Struct):
    rules: list[_Rule] = []


class _Groups(msgspec.Struct):
    groups: list[_Group] = []


class _Alertmanagers(msgspec.Struct, rename="camel"):
    active_alertmanagers: list[dict[str, str]] = []


class _Answered(msgspec.Struct):
    data: Any


class _NotAskedError(Exception):
    """It could not be asked, or answered otherwise than Prometheus does."""


def prometheus(client: PageClient, samples: Sequence[Sample]) -> Iterator[Check]:
    """Every check of one Prometheus; `samples` are the sidecar's own."""
    try:
        yield from _scrape(client, total(samples, STARTED))
        yield from _rules(client)
    except _NotAskedError as error:
        yield Check("Prometheus", Status.UNKNOWN, str(error), "is --prometheus the address of its web page?")


def _scrape(client: PageClient, started: float | None) -> Iterator[Check]:
    """Whether the sidecar's own start is among its series."""
    seen = _ask(client, f"/api/v1/query?{urlencode({'query': STARTED})}", _Vector).result
    ours = [series.metric for series in seen if started is not None and series.value[1] == started]
    names = ", ".join(f"{one.get('job', '?')} {one.get('instance', '?')}" for one in ours)
    if len(ours) > 1:
        yield Check(
            "scrape",
            Status.WRONG,
            f"it scrapes this sidecar as {counted(len(ours), 'target')} ({names}): the rules add replicas up, so all counts",
            "keep one of the targets",
        )
    elif ours and OURS not in ours[0].get("job", ""):
        yield Check(
            "scrape",
            Status.NOTE,
            f"it scrapes this sidecar ({names}), in a job whose name does not hold `{OURS}`",
            "LanewatchSidecarDown goes by the job's name: call it lanewatch, or change the alert",
        )
    elif ours:
        yield Check("scrape", Status.OK, f"it scrapes this sidecar ({names})")
    else:
        yield from _not_scraped(client, len(seen), started)


def _not_scraped(client: PageClient, others: int, started: float | None) -> Iterator[Check]:
    targets = _ask(client, "/api/v1/targets?state=active", _Targets).active_targets
    down = [one for one in targets if OURS in one.labels.get("job", "") and one.health != "up"]
    if started is None:
        yield Check("scrape", Status.UNKNOWN, "the sidecar does not say when it started", "is it of the same version?")
    elif down:
        for one in down:
            told = f"it can't scrape {one.labels.get('instance', '?')} of job {one.labels.get('job')}: {one.last_error}"
            yield Check(
                "scrape",
                Status.WRONG,
                told.removesuffix(": "),
                "set metrics.host to an address that Prometheus reaches, and name that address and metrics.port as its target",
            )
    else:
        told = f"it scrapes {counted(others, 'other sidecar')}, and not this one" if others else "it scrapes no sidecar"
        yield Check(
            "scrape", Status.WRONG, told, f"add this sidecar's page to scrape_configs, as {SHIPPED} does, and reload"
        )


def _rules(client: PageClient) -> Iterator[Check]:
    rules = [rule for group in _ask(client, "/api/v1/rules", _Groups).groups for rule in group.rules]
    own = [rule for rule in rules if rule.name.lower().startswith(OURS)]
    alerts = sum(rule.type == "alerting" for rule in own)
    failing = sorted({rule.name for rule in own if rule.health == "err"})
    if failing:
        yield Check(
            "rules", Status.WRONG, f"they can't be evaluated: {', '.join(failing)}", "its page of rules says why"
        )
    elif alerts:
        yield Check("rules", Status.OK, f"{counted(alerts, 'alert')} of Lanewatch's are loaded")
    else:
        yield Check(
            "rules", Status.NOTE, "no alert of Lanewatch's is loaded", "add deploy/prometheus/*.rules.yml to rule_files"
        )
    if alerts and not _ask(client, "/api/v1/alertmanagers", _Alertmanagers).active_alertmanagers:
        yield Check(
            "Alertmanager",
            Status.NOTE,
            "nobody is told of an alert",
            f"add one to alerting.alertmanagers, as {SHIPPED} does",
        )


def _ask(client: PageClient, path: str, kind: type[T]) -> T:
    """The data of an answer. Raises _NotAskedError."""
    try:
        answer = client.get(path)
    except PagesUnreachableError:
        raise _NotAskedError(f"nobody answers at {client.address}") from None
    try:
        return msgspec.convert(decoded(answer.body, _Answered).data, kind, strict=False)
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise _NotAskedError(f"{client.address} answers {answer.status}, and not as Prometheus does") from None
