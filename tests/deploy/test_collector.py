"""The Collector's configurations: Lanewatch's pipelines can't hold up the backend's, and replicas get whole traces.

Keys alone are looked at: no package here has the Collector. What they mean was read in its source and documentation.
"""

from typing import Any

import pytest
import yaml

from tests.deploy.manifests import DEPLOY, OURS

NAMES = ("fan-out", "load-balancing")


def configuration(name: str) -> dict[str, Any]:
    """One of them."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "collector" / f"{name}.yaml").read_text())
    return found


def pipelines(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(Lanewatch's, the others)."""
    all_of_them = configuration(name)["service"]["pipelines"]
    ours = {key: one for key, one in all_of_them.items() if key.endswith(f"/{OURS}")}
    return ours, {key: one for key, one in all_of_them.items() if key not in ours}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_pipeline_names_is_there_and_what_is_there_is_named(name: str) -> None:
    """The Collector does not start with the former, and warns of the latter."""
    whole = configuration(name)
    for kind in ("receivers", "processors", "exporters"):
        named = {one for pipeline in whole["service"]["pipelines"].values() for one in pipeline[kind]}

        assert named == set(whole[kind])
    assert set(whole.get("extensions", ())) == set(whole["service"].get("extensions", ()))


@pytest.mark.parametrize("name", NAMES)
def test_lanewatch_has_pipelines_of_its_own_that_never_hand_an_error_back(name: str) -> None:
    """A batch processor answers at once; a memory limiter, or an exporter that is shared, would let the application resend."""
    ours, others = pipelines(name)
    backend = {one for pipeline in others.values() for one in (*pipeline["processors"], *pipeline["exporters"])}

    assert {key.partition("/")[0] for key in ours} == {"traces", "logs"}
    for pipeline in ours.values():
        assert pipeline["processors"] == [f"batch/{OURS}"]
        assert len(pipeline["exporters"]) == 1
        assert not {*pipeline["processors"], *pipeline["exporters"]} & backend


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_is_dropped_and_what_fails_is_given_up(name: str) -> None:
    """The queue is bounded in bytes and never waits; trying again ends while Lanewatch's traces are still open."""
    ours, _ = pipelines(name)
    (exporter,) = {one for pipeline in ours.values() for one in pipeline["exporters"]}
    settings = configuration(name)["exporters"][exporter]
    queue, retry = settings["sending_queue"], settings["retry_on_failure"]

    assert (queue["enabled"], queue["sizer"], queue["block_on_overflow"]) == (True, "bytes", False)
    assert queue["queue_size"] <= 64 * 2**20
    assert retry["enabled"] is True
    assert retry["max_elapsed_time"] == "30s"


def test_replicas_get_whole_traces_and_their_logs() -> None:
    """By trace id, said aloud: the default of logs is the service's name. One queue stands before the choice of a replica."""
    settings = configuration("load-balancing")["exporters"][f"load_balancing/{OURS}"]
    inner = settings["protocol"]["otlp"]

    assert settings["routing_key"] == "traceID"
    assert settings["resolver"]["dns"]["port"] == "4317"
    assert (inner["sending_queue"]["enabled"], inner["retry_on_failure"]["enabled"]) == (False, False)


def test_both_treat_the_backend_alike() -> None:
    """They differ in how Lanewatch is reached, and in nothing else."""
    fan_out, load_balancing = (configuration(name) for name in NAMES)

    assert fan_out["processors"] == load_balancing["processors"]
    assert fan_out["receivers"] == load_balancing["receivers"]
    assert fan_out["exporters"]["otlp_grpc/primary"] == load_balancing["exporters"]["otlp_grpc/primary"]


@pytest.mark.parametrize("name", NAMES)
def test_it_listens_on_the_loopback_until_told_otherwise(name: str) -> None:
    """As the Collector itself does since 0.104."""
    protocols = configuration(name)["receivers"]["otlp"]["protocols"]

    assert {one["endpoint"] for one in protocols.values()} == {
        "${env:COLLECTOR_HOST:-127.0.0.1}:4317",
        "${env:COLLECTOR_HOST:-127.0.0.1}:4318",
    }
