"""The manifests for Kubernetes: valid by its own schemas, hardened, and a sidecar that never takes its pod out of service."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import (
    CUSTOM,
    DEPLOY,
    KUBERNETES,
    NEWEST,
    OLDEST,
    OURS,
    UID,
    WORKLOADS,
    containers,
    deployment_of,
    documents,
    faults,
    loaded,
    merged,
    variables,
)

FILES = sorted(path for path in KUBERNETES.rglob("*.yaml") if path.name != "collector.yaml")
WHOLE = [
    (path, one)
    for path in FILES
    if not path.name.endswith("patch.yaml")
    for one in documents(path)
    if one["kind"] not in CUSTOM
]
OVERLAYS = (
    "gateway", "overlays/gateway-with-collector", "overlays/gateway-with-judge", "overlays/sidecar-example",
    "prometheus-operator",
)  # fmt: skip
with_kubectl = pytest.mark.skipif(
    not shutil.which("kubectl"), reason="kubectl has kustomize; it is in no Debian package"
)
PATCH = documents(KUBERNETES / "sidecar" / "patch.yaml")[0]
SIDECAR = PATCH["spec"]["template"]["spec"]["initContainers"][0]
JUDGING = KUBERNETES / "judge" / "patch.yaml"
JUDGE = merged(documents(KUBERNETES / "gateway" / "statefulset.yaml")[0], documents(JUDGING)[0])
WORKING = [
    *(pair for pair in WHOLE if pair[1]["kind"] in WORKLOADS),
    (KUBERNETES / "sidecar" / "patch.yaml", PATCH),
    (JUDGING, JUDGE),
]


def named(pair: tuple[Path, Any]) -> str:
    """A test's name."""
    path, one = pair
    return f"{path.parent.name}/{one['kind']}"


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("pair", WHOLE, ids=named)
def test_every_object_is_valid(pair: tuple[Path, Any], version: str) -> None:
    """By the schema of the oldest version that is supported and of the newest one, unknown fields among it."""
    assert faults(pair[1], version) == []


def test_a_field_that_nobody_knows_is_found() -> None:
    """The check can fail."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"porst": []}}

    assert faults(service, NEWEST)


def test_the_sidecar_is_a_native_one_whose_trouble_is_not_its_pods() -> None:
    """Starts before the application, ends after it; alive is asked for, ready is not."""
    assert SIDECAR["restartPolicy"] == "Always"
    assert {name for name in SIDECAR if name.endswith("Probe")} == {"startupProbe", "livenessProbe"}
    assert SIDECAR["livenessProbe"]["httpGet"]["path"] == "/healthz"


def test_the_patch_is_valid_where_it_is_put_in() -> None:
    """A Deployment with the patch's pod in it, as kustomize would merge them."""
    pod = PATCH["spec"]["template"]["spec"]

    assert faults(deployment_of(pod), OLDEST) == []


@pytest.mark.parametrize("pair", WORKING, ids=named)
def test_every_container_is_hardened(pair: tuple[Path, Any]) -> None:
    """No root, no rights, a root that can't be written to, bounded memory, and mounts that are there."""
    pod = pair[1]["spec"]["template"]["spec"]
    of_pod = pod.get("securityContext", {})
    volumes = {volume["name"] for volume in pod["volumes"]}
    claims = {claim["metadata"]["name"] for claim in pair[1]["spec"].get("volumeClaimTemplates", ())}
    for _, container in containers(pair[1]):
        context = {**of_pod, **container["securityContext"]}

        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] == UID
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes | claims
        assert ":latest" not in container["image"]


@pytest.mark.parametrize("pair", WORKING, ids=named)
def test_what_it_is_started_with_is_a_valid_configuration(pair: tuple[Path, Any], tmp_path: Path) -> None:
    """File and variables together; there is time to drain, and memory is kept below the container's."""
    config_map = documents(KUBERNETES / "gateway" / "configmap.yaml")[0]["data"]["lanewatch.toml"]
    for _, container in containers(pair[1]):
        if container["name"] != OURS:
            continue
        toml = config_map if any(mount["name"] == "config" for mount in container["volumeMounts"]) else ""
        config = loaded(toml, variables(container), tmp_path)
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        limit = int(container["resources"]["limits"]["memory"].removesuffix("Gi")) * 2**30

        assert ports == {
            "otlp-grpc": config.receivers.grpc_port, "otlp-http": config.receivers.http_port, "metrics": config.metrics.port,
        }  # fmt: skip
        assert pair[1]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > config.shutdown.drain_seconds + 5
        assert config.metrics.host == "0.0.0.0"
        assert config.drift.state_folder.startswith("/var/lib/lanewatch/")
        assert config.judge.store.startswith("/var/lib/lanewatch/")
        assert 0 < config.limits.memory_soft_bytes < config.limits.memory_hard_bytes
        assert config.limits.memory_hard_bytes + config.judge.worker_memory_bytes <= limit


def test_a_sidecar_takes_spans_from_its_own_pod_alone(tmp_path: Path) -> None:
    """A gateway has to take them from others, and a network policy says from whom."""
    config = loaded("", variables(SIDECAR), tmp_path)
    (policy,) = documents(KUBERNETES / "gateway" / "network.yaml")

    assert (config.receivers.grpc_host, config.receivers.http_host) == ("127.0.0.1", "127.0.0.1")
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert policy["spec"]["egress"] == []


def test_services_and_probes_name_ports_that_are_there() -> None:
    """A name that is wrong is an endpoint without an address."""
    (gateway,) = documents(KUBERNETES / "gateway" / "statefulset.yaml")
    (_, container), = containers(gateway)  # fmt: skip
    names = {port["name"] for port in container["ports"]}
    services = documents(KUBERNETES / "gateway" / "services.yaml")
    labels = gateway["spec"]["template"]["metadata"]["labels"]

    assert gateway["spec"]["serviceName"] in {one["metadata"]["name"] for one in services}
    for service in services:
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= names
        assert service["spec"]["selector"].items() <= labels.items()
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] in names


def test_the_collectors_configuration_is_the_shipped_one() -> None:
    """Kustomize reads nothing from outside of its folders, so a copy stands there: cp it again."""
    copy = KUBERNETES / "overlays" / "gateway-with-collector" / "collector.yaml"

    assert copy.read_text() == (DEPLOY / "collector" / "load-balancing.yaml").read_text()


def test_every_kustomization_names_files_that_are_there_and_leaves_none_out() -> None:
    """A resource that nobody lists is never applied."""
    for path in KUBERNETES.rglob("kustomization.yaml"):
        (one,) = documents(path)
        listed = [*one.get("resources", ()), *one.get("components", ())]
        listed += [patch["path"] for patch in one.get("patches", ())]
        listed += [file for made in one.get("configMapGenerator", ()) for file in made["files"]]

        assert [name for name in listed if not (path.parent / name).exists()] == []
        assert {file.name for file in path.parent.glob("*.yaml")} - set(listed) == {"kustomization.yaml"}


def test_a_judge_is_put_into_the_gateway_with_its_key_from_a_secret(tmp_path: Path) -> None:
    """The image with Ragas, memory for it, a way out; the same by kustomize, where it is installed."""
    (network,) = documents(KUBERNETES / "gateway" / "network.yaml")
    (way_out,) = documents(KUBERNETES / "judge" / "network-patch.yaml")
    (_, container), = containers(JUDGE)  # fmt: skip
    config = loaded("", variables(container), tmp_path)

    assert faults(JUDGE, OLDEST) == faults(merged(network, way_out), OLDEST) == []
    assert config.judge.base_url.startswith("https://")
    assert config.judge.api_key is not None
    assert {port["port"] for rule in way_out["spec"]["egress"] for port in rule["ports"]} == {53, 443}
    if shutil.which("kubectl"):
        built = yaml.safe_load_all(kustomized("overlays/gateway-with-judge"))
        (whole,) = (one for one in built if one["kind"] == "StatefulSet")
        expected = JUDGE["spec"]["template"]["spec"]["containers"][0]
        made = whole["spec"]["template"]["spec"]["containers"][0]
        assert sorted(made.pop("env"), key=str) == sorted(expected["env"], key=str)
        assert made["volumeMounts"][0]["name"] == "judge"
        assert made["image"] == "lanewatch:0.1.0-ragas"


def kustomized(overlay: str) -> str:
    """What kustomize makes of an overlay, without a word."""
    done = subprocess.run(
        ["kubectl", "kustomize", str(KUBERNETES / overlay)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout


@with_kubectl
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kustomize_builds_what_kubernetes_takes(overlay: str) -> None:
    """The whole, merged and named, by kustomize itself; no network is asked."""
    built = [one for one in yaml.safe_load_all(kustomized(overlay)) if one["kind"] not in CUSTOM]

    assert [fault for one in built for fault in faults(one, OLDEST)] == []
    if overlay == "overlays/sidecar-example":
        (app,) = built
        assert [(listed, one["name"]) for listed, one in containers(app)] == [
            ("initContainers", OURS),
            ("containers", "app"),
        ]
        assert {one["image"] for _, one in containers(app)} == {"lanewatch:0.1.0"}
    if overlay == "overlays/gateway-with-collector":
        replicas = {one["metadata"]["name"]: one["spec"]["replicas"] for one in built if one["kind"] in WORKLOADS}
        assert replicas == {"lanewatch": 3, "collector": 2}
