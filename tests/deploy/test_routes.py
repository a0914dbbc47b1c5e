"""The shipped routes: every alert reaches somebody by its owner and lane, and no lane speaks or is silent for another."""

import shutil
import subprocess

import pytest

from tests.deploy.rule_files import ALERTS, FOLDER, TESTS, document

ROUTES = document(FOLDER / "alertmanager.yml")
# Each alert as a test beside the rules has it firing.
FIRING = [
    {"alertname": one["alertname"], **alert["exp_labels"]}
    for path in TESTS
    for test in document(path)["tests"]
    for one in test.get("alert_rule_test", ())
    for alert in one.get("exp_alerts") or ()
]
with_amtool = pytest.mark.skipif(not shutil.which("amtool"), reason="amtool: apt-get install prometheus-alertmanager")


def receivers(labels: dict[str, str]) -> set[str]:
    """Who is told of an alert with these labels."""
    command = ["amtool", "config", "routes", "test", f"--config.file={FOLDER / 'alertmanager.yml'}"]
    given = [f"{label}={value}" for label, value in labels.items()]
    done = subprocess.run([*command, *given], capture_output=True, text=True, timeout=30, check=True)
    return set(done.stdout.strip().split(","))


@with_amtool
@pytest.mark.parametrize("labels", FIRING, ids=lambda labels: labels["alertname"])
def test_every_alert_reaches_its_owner(labels: dict[str, str]) -> None:
    """Nothing of ours is unrouted, and what is critical reaches the person on call as well."""
    told = receivers(labels)

    assert "unrouted" not in told
    assert ("on-call" in told) is (labels["severity"] == "critical")
    assert told - {"on-call"}


@with_amtool
def test_owners_and_lanes_have_receivers_of_their_own() -> None:
    """By owner first, and by the lane where the owner is nobody in particular."""
    assert receivers({"owner": "producer mine", "lane": "tools"}) == {"adapters"}
    assert receivers({"owner": "agent runtime", "lane": "tools"}) == {"agent-runtime"}
    assert receivers({"owner": "instrumentation", "lane": "retrieval"}) == {"instrumentation"}
    assert receivers({"owner": "payments", "lane": "tools"}) == {"tools"}
    assert receivers({"owner": "retriever", "lane": "retrieval"}) == {"retrieval"}
    assert receivers({"owner": "somebody"}) == {"unrouted"}


def test_lanes_are_never_in_one_message() -> None:
    """Alerts are grouped by lane, on every route."""
    assert "lane" in ROUTES["route"]["group_by"]
    assert all("lane" in route.get("group_by", ["lane"]) for route in ROUTES["route"]["routes"])


def test_no_alert_keeps_back_one_of_another_lane() -> None:
    """An inhibition is within one lane, or among what is of no lane."""
    of_no_lane = {"LanewatchSidecarDown", "LanewatchNoSpans", "LanewatchReadingStuck", "LanewatchJudgeDown"}
    of_no_lane |= {"LanewatchJudgeAuthFailing", "LanewatchJudgeQueueOld"}
    assert of_no_lane <= {alert.name for alert in ALERTS if "lane" not in alert.labels}
    for rule in ROUTES["inhibit_rules"]:
        named = set(
            " ".join(rule["source_matchers"] + rule["target_matchers"]).replace("|", " ").replace('"', " ").split()
        )
        named = {word for word in named if word.startswith("Lanewatch")}

        assert "lane" in rule["equal"] or named <= of_no_lane


def test_every_receiver_is_used_and_has_an_address_of_its_own() -> None:
    """So that the routes can be tried as they are."""
    used = {ROUTES["route"]["receiver"], *(route["receiver"] for route in ROUTES["route"]["routes"])}
    addresses = {one["name"]: one["webhook_configs"][0]["url"] for one in ROUTES["receivers"]}

    assert set(addresses) == used
    assert all(url == f"http://127.0.0.1:9095/{name}" for name, url in addresses.items())
