"""What the doctor asks a Prometheus: whether this very sidecar is scraped, once, with rules and routes."""

import json
from typing import Any

import pytest
from lanewatch.config.loading import Config
from lanewatch.doctor.check import Check, Status
from lanewatch.doctor.prometheus import STARTED, prometheus
from lanewatch.pages.client import Answer, PageClient, PagesUnreachableError

OURS = 1790000000.123456
SAMPLES: list[Any] = [(STARTED, {}, OURS)]
ALERT = {"name": "LanewatchSidecarDown", "type": "alerting", "health": "ok", "query": "up == 0"}
RECORD = {"name": "lanewatch:rate_trials:1h", "type": "recording", "health": "ok"}


class Server(PageClient):
    """A Prometheus that answers from a table of its API's data, by path."""

    def __init__(self, **answers: Any) -> None:
        super().__init__("http://127.0.0.1:9090", Config(), "--prometheus")
        self._data: dict[str, Any] = {
            "query": [series()],
            "targets": {"activeTargets": []},
            "rules": {"groups": [{"name": "g", "rules": [ALERT, RECORD]}]},
            "alertmanagers": {"activeAlertmanagers": [{"url": "http://127.0.0.1:9093/api/v2/alerts"}]},
            **answers,
        }

    def get(self, path: str) -> Answer:
        """As the API answers."""
        name = path.removeprefix("/api/v1/").partition("?")[0]
        data = self._data[name]
        if isinstance(data, Answer):
            return data
        data = {"resultType": "vector", "result": data} if name == "query" else data
        return Answer(200, json.dumps({"status": "success", "data": data}).encode())


def series(started: float = OURS, job: str = "lanewatch", instance: str = "127.0.0.1:9464") -> dict[str, Any]:
    """One series of a vector."""
    return {"metric": {"__name__": STARTED, "job": job, "instance": instance}, "value": [1.0, repr(started)]}


def looked(**answers: Any) -> dict[str, Check]:
    """The checks by name."""
    return {check.name: check for check in prometheus(Server(**answers), SAMPLES)}


def test_a_sidecar_that_is_scraped_with_rules_and_routes_is_well() -> None:
    """Nothing is to be done."""
    checks = looked()

    assert {name: check.status for name, check in checks.items()} == {"scrape": Status.OK, "rules": Status.OK}
    assert checks["rules"].found == "1 alert of Lanewatch's are loaded"


def test_a_sidecar_that_is_not_scraped_is_wrong() -> None:
    """Others may be: then it is this one's target that is missing."""
    none, others = looked(query=[])["scrape"], looked(query=[series(OURS - 60)])["scrape"]

    assert (none.status, none.found) == (Status.WRONG, "it scrapes no sidecar")
    assert (others.status, others.found) == (Status.WRONG, "it scrapes 1 other sidecar, and not this one")
    assert "scrape_configs" in none.remedy


def test_a_target_that_can_not_be_reached_is_told_with_its_error() -> None:
    """The configuration is there; the address is not reached, as 127.0.0.1 from another container."""
    target = {"labels": {"job": "lanewatch", "instance": "app:9464"}, "health": "down", "lastError": "refused"}
    check = looked(query=[], targets={"activeTargets": [target]})["scrape"]

    assert (check.status, check.found) == (Status.WRONG, "it can't scrape app:9464 of job lanewatch: refused")
    assert "metrics.host" in check.remedy


def test_a_sidecar_that_is_scraped_twice_is_wrong() -> None:
    """The rules add replicas up: each count would be double."""
    check = looked(query=[series(), series(instance="localhost:9464")])["scrape"]

    assert check.status is Status.WRONG
    assert "2 targets" in check.found


def test_a_job_that_the_alert_does_not_know_is_a_note() -> None:
    """LanewatchSidecarDown would stay silent."""
    assert looked(query=[series(job="apps")])["scrape"].status is Status.NOTE


def test_rules_that_are_not_loaded_or_fail_are_told() -> None:
    """Without alerts nobody needs an Alertmanager."""
    none = looked(rules={"groups": []}, alertmanagers={"activeAlertmanagers": []})
    failing = looked(rules={"groups": [{"rules": [{**ALERT, "health": "err"}]}]})

    assert none["rules"].status is Status.NOTE
    assert "Alertmanager" not in none
    assert failing["rules"].status is Status.WRONG
    assert "LanewatchSidecarDown" in failing["rules"].found


def test_alerts_that_reach_nobody_are_a_note() -> None:
    """Prometheus evaluates them all the same."""
    assert looked(alertmanagers={"activeAlertmanagers": []})["Alertmanager"].status is Status.NOTE


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b"<html>"),
        Answer(401, b"{}"),
        Answer(200, b'{"data": [1]}'),
        Answer(200, b'{"data": {"result": [{"metric": {}, "value": [1, "much"]}]}}'),
        Answer(200, b'{"data":' + b"[" * 100_000),
    ],
)
def test_what_does_not_answer_as_prometheus_does_is_unknown(answer: Answer) -> None:
    """Of the sidecar nothing is said."""
    (check,) = prometheus(Server(query=answer), SAMPLES)

    assert (check.name, check.status) == ("Prometheus", Status.UNKNOWN)


def test_a_prometheus_that_is_not_there_is_unknown() -> None:
    """The sidecar may be well."""

    class Gone(Server):
        def get(self, path: str) -> Answer:
            raise PagesUnreachableError("nobody")

    (check,) = prometheus(Gone(), SAMPLES)

    assert (check.status, check.found) == (Status.UNKNOWN, "nobody answers at http://127.0.0.1:9090")


def test_a_sidecar_that_does_not_tell_its_start_is_not_guessed_at() -> None:
    """Nothing tells it from another one."""
    checks = {check.name: check for check in prometheus(Server(), [])}

    assert checks["scrape"].status is Status.UNKNOWN
