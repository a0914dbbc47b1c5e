"""The Helm chart, rendered by Helm's own engine: both modes are valid, hardened, and start with what was asked for."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from lanewatch.config.reference import describe

from tests.deploy.manifests import (
    CHART,
    CUSTOM,
    DEPLOY,
    NEWEST,
    OLDEST,
    OURS,
    ROOT,
    UID,
    WORKLOADS,
    containers,
    deployment_of,
    faults,
    loaded,
    objects,
    rendered,
    variables,
)
from tests.deploy.rule_files import FILES

pytest.importorskip("helm_python", reason="Helm's engine comes as a library for Linux on x86-64 alone")

SECRETS = {name: {"existingSecret": f"{name}-secret"} for name in ("auth", "judge", "redaction")}
EVERYTHING: dict[str, Any] = {
    **SECRETS,
    "replicas": 3,
    "image": {"repository": "registry.example/lanewatch", "digest": f"sha256:{'0' * 64}", "pullSecrets": [{"name": "pull"}]},
    "config": {"drift": {"false_alarms_per_30_days": 0.5}, "receivers": {"max_connections": 2048}, "judge": {"base_url": "https://judge.example/v1", "model": "m"}},
    "extraConfig": '[tools.refund]\nrisk = "destructive"\n',
    "persistence": {"enabled": False},
    "podLabels": {"team": "a"}, "podAnnotations": {"a": "b"}, "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "a", "operator": "Exists"}], "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    "priorityClassName": "high", "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "extraVolumes": [{"name": "more", "emptyDir": {}}], "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    "networkPolicy": {"egress": [{"ports": [{"port": 443, "protocol": "TCP"}]}]},
    "service": {"annotations": {"a": "b"}}, "serviceAccount": {"annotations": {"a": "b"}},
    "podMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}, "dashboards": {"enabled": True},
}  # fmt: skip
CASES: dict[str, dict[str, Any]] = {
    "gateway": {},
    "gateway with everything": EVERYTHING,
    "sidecar": {"mode": "sidecar"},
    "sidecar with everything": {**EVERYTHING, "mode": "sidecar"},
    "sidecar beside a Collector": {
        "mode": "sidecar", "config": {"receivers": {"grpc_port": 14317, "http_port": 14318}, "metrics": {"port": 19464}},
    },
    "nothing beside": {
        "serviceAccount": {"create": False}, "networkPolicy": {"enabled": False}, "podDisruptionBudget": {"enabled": False},
        "fullnameOverride": "watch",
    },
}  # fmt: skip
REFUSED: tuple[dict[str, Any], ...] = (
    {"mode": "daemon"},
    {"replica": 2},
    {"image": {"tag": "latest"}},
    {"config": {"judge": {"api_key": "in plain sight"}}},
    {"config": {"receivers": {"bearer_token": "in plain sight"}}},
    {"terminationGracePeriodSeconds": 5},
    {"config": {"recievers": {"http_port": 14318}}},
    {"config": {"receivers": {"http_port": 70_000}}},
    {"config": {"metrics": {"port": "9464"}}},
    {"config": None},
    {"memory": None},
    {"fullnameOverride": "-watch"},
    {"fullnameOverride": "w" * 53},
    {"nameOverride": "a b"},
    {"runbook": "runbook.md"},
)


@pytest.fixture(scope="module")
def renderings() -> dict[str, dict[str, str]]:
    """Every case, once."""
    names = list(CASES)
    return dict(zip(names, rendered([CASES[name] for name in names]), strict=True))


def pod(texts: dict[str, str]) -> Any:
    """The pod of a rendering: of the StatefulSet, or what the notes tell to put into one's own."""
    workloads = [one for one in objects(texts) if one["kind"] in WORKLOADS]
    if workloads:
        return workloads[0]["spec"]["template"]["spec"]
    (notes,) = (text for name, text in texts.items() if name.endswith("NOTES.txt"))
    snippet = notes[notes.index("spec:") : notes.index("and let the application")]
    return yaml.safe_load(snippet)["spec"]["template"]["spec"]


def container(texts: dict[str, str]) -> Any:
    """Lanewatch's own."""
    spec = pod(texts)
    (one,) = (c for listed in ("containers", "initContainers") for c in spec.get(listed, ()) if c["name"] == OURS)
    return one


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("case", CASES)
def test_every_object_is_valid(renderings: dict[str, dict[str, str]], case: str, version: str) -> None:
    """With the defaults and with everything set, by Kubernetes' own schemas."""
    made = objects(renderings[case])

    assert [fault for one in made if one["kind"] not in CUSTOM for fault in faults(one, version)] == []
    assert all(one["metadata"]["namespace"] == "prod" for one in made)
    assert len({(one["kind"], one["metadata"]["name"]) for one in made}) == len(made)


@pytest.mark.parametrize("case", ["sidecar", "sidecar with everything"])
def test_what_the_notes_tell_to_put_in_is_valid(renderings: dict[str, dict[str, str]], case: str) -> None:
    """In a Deployment of one's own; it is a native sidecar without a readiness of its own."""
    spec = pod(renderings[case])

    assert faults(deployment_of(spec), OLDEST) == []
    assert spec["initContainers"][0]["restartPolicy"] == "Always"
    assert "readinessProbe" not in spec["initContainers"][0]
    assert not [one for one in objects(renderings[case]) if one["kind"] in WORKLOADS]


@pytest.mark.parametrize("case", CASES)
def test_every_container_is_hardened_and_mounts_what_is_there(renderings: dict[str, dict[str, str]], case: str) -> None:
    """As the plain manifests are."""
    one, spec = container(renderings[case]), pod(renderings[case])
    context = one["securityContext"]
    workloads = [made for made in objects(renderings[case]) if made["kind"] in WORKLOADS]
    claims = {claim["metadata"]["name"] for made in workloads for claim in made["spec"].get("volumeClaimTemplates", ())}

    assert (context["runAsNonRoot"], context["runAsUser"], context["readOnlyRootFilesystem"]) == (True, UID, True)
    assert (context["allowPrivilegeEscalation"], context["capabilities"]) == (False, {"drop": ["ALL"]})
    assert {mount["name"] for mount in one["volumeMounts"]} <= {v["name"] for v in spec["volumes"]} | claims


@pytest.mark.parametrize("case", CASES)
def test_what_it_is_started_with_is_a_valid_configuration(
    renderings: dict[str, dict[str, str]], case: str, tmp_path: Path
) -> None:
    """The file of the ConfigMap and the variables together, and the values that were asked for among them."""
    (config_map,) = (
        one for one in objects(renderings[case]) if one["kind"] == "ConfigMap" and "lanewatch.toml" in one["data"]
    )
    config = loaded(config_map["data"]["lanewatch.toml"], variables(container(renderings[case])), tmp_path)
    sidecar = case.startswith("sidecar")

    assert config.receivers.http_host == ("127.0.0.1" if sidecar else "0.0.0.0")
    assert config.metrics.host == "0.0.0.0"
    assert config.judge.store.startswith("/var/lib/lanewatch/")
    assert config.limits.memory_hard_bytes + config.judge.worker_memory_bytes <= 2**30
    if "everything" in case:
        assert config.drift.false_alarms_per_30_days == 0.5
        assert config.receivers.max_connections == 2048
        assert config.tools["refund"].risk == "destructive"
        assert config.judge.model == "m"
        assert all((config.receivers.bearer_token, config.judge.api_key, config.redaction.key))
    ports = {port["name"]: port["containerPort"] for port in container(renderings[case])["ports"]}
    assert list(ports.values()) == [config.receivers.grpc_port, config.receivers.http_port, config.metrics.port]
    if sidecar:
        assert f"http://127.0.0.1:{config.receivers.http_port}\n" in renderings[case]["lanewatch/templates/NOTES.txt"]


def test_a_change_of_the_settings_starts_the_pods_anew() -> None:
    """Else a release would run on with the old ones."""
    annotations = [
        one["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        for texts in rendered([{}, {}, {"config": {"log": {"level": "debug"}}}])
        for one in objects(texts)
        if one["kind"] == "StatefulSet"
    ]

    assert annotations[0] == annotations[1] != annotations[2]


def test_rules_and_dashboards_are_the_shipped_ones(renderings: dict[str, dict[str, str]]) -> None:
    """All of them, each in an object of its own, found by the labels that their operators go by."""
    made = objects(renderings["gateway with everything"])
    rules = [one["spec"] for one in made if one["kind"] == "PrometheusRule"]
    boards = [
        text
        for one in made
        if one["kind"] == "ConfigMap" and one["metadata"]["labels"].get("grafana_dashboard") == "1"
        for text in one["data"].values()
    ]
    (monitor,) = (one for one in made if one["kind"] == "PodMonitor")
    shipped = sorted((ROOT / "dashboards" / "json").glob("*.json"))

    assert rules == [yaml.safe_load(path.read_text()) for path in FILES]
    assert [json.loads(text) for text in boards] == [json.loads(path.read_text()) for path in shipped]
    assert OURS in monitor["metadata"]["name"]  # LanewatchSidecarDown goes by the job's name


@pytest.mark.parametrize("values", REFUSED, ids=str)
def test_values_that_can_not_be_meant_are_refused(values: dict[str, Any]) -> None:
    """By values.schema.json, before anything is applied."""
    (told,) = rendered([values])

    assert isinstance(told, str)
    assert "schema" in told


def test_the_sections_that_the_chart_takes_are_those_of_the_settings() -> None:
    """One that is misspelled is refused before anything is applied, and not by a pod that does not start."""
    schema = json.loads((CHART / "values.schema.json").read_text())

    assert schema["properties"]["config"]["propertyNames"]["enum"] == list(
        dict.fromkeys(row.section for row in describe())
    )


def test_the_notes_say_what_several_replicas_need(renderings: dict[str, dict[str, str]]) -> None:
    """A trace that is spread over replicas is seen by none of them."""
    notes = {case: texts["lanewatch/templates/NOTES.txt"] for case, texts in renderings.items()}

    assert "deploy/collector/load-balancing.yaml" in notes["gateway with everything"]
    assert "LANEWATCH_REPLICAS=demo-lanewatch-headless.prod.svc.cluster.local" in notes["gateway with everything"]
    assert "load-balancing" not in notes["gateway"]
    assert "anybody in the cluster may" in notes["nothing beside"]
    assert (DEPLOY / "collector" / "load-balancing.yaml").exists()


def test_helm_has_nothing_against_the_chart() -> None:
    """`helm lint`; that an icon would be nice is all."""
    (told,) = rendered(["lint"])  # type: ignore[list-item]

    assert told["errors"] == []
    assert [one for one in told["messages"] if "icon" not in one["error"]] == []


def test_a_chart_of_your_own_can_put_the_sidecar_in(tmp_path: Path) -> None:
    """As a dependency: its template gives the container, its values stand under `lanewatch`."""
    parent = tmp_path / "app"
    shutil.copytree(CHART, parent / "charts" / "lanewatch")
    (parent / "templates").mkdir()
    (parent / "Chart.yaml").write_text("apiVersion: v2\nname: app\nversion: 1.0.0\n")
    (parent / "values.yaml").write_text("lanewatch:\n  mode: sidecar\n")
    (parent / "templates" / "deployment.yaml").write_text("""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  namespace: {{ .Release.Namespace }}
spec:
  selector:
    matchLabels: {app: app}
  template:
    metadata:
      labels: {app: app}
    spec:
      containers:
        - {name: app, image: "app:1"}
      initContainers:
        {{- include "lanewatch.container" .Subcharts.lanewatch | nindent 8 }}
      volumes:
        {{- include "lanewatch.volumes" .Subcharts.lanewatch | nindent 8 }}
""")
    (texts,) = rendered([{}], parent)
    made = objects(texts)
    (app,) = (one for one in made if one["kind"] == "Deployment")

    assert faults(app, OLDEST) == []
    assert [name for listed, one in containers(app) for name in (listed, one["name"])] == [
        "initContainers", OURS, "containers", "app",
    ]  # fmt: skip
    assert {
        volume["configMap"]["name"] for volume in app["spec"]["template"]["spec"]["volumes"] if "configMap" in volume
    } <= {one["metadata"]["name"] for one in made if one["kind"] == "ConfigMap"}


@pytest.mark.parametrize("address", ["", "https://git.example/lanewatch/raw/v1/runbook.md"])
def test_links_to_the_runbook_go_to_the_address_that_is_set(address: str) -> None:
    """A path in the repository leads nowhere from a pager: where none is set, the notes say so."""
    shown = {"prometheusRule": {"enabled": True}, "dashboards": {"enabled": True}}
    (texts,) = rendered([{**shown, "runbook": address}])
    linking = {name: text for name, text in texts.items() if name.endswith(("monitoring.yaml", "dashboards.yaml"))}
    (notes,) = (text for name, text in texts.items() if name.endswith("NOTES.txt"))

    assert len(linking) == 2
    assert all(text.count(address or "deploy/prometheus/runbook.md") > 4 for text in linking.values())
    assert not address or not any("deploy/prometheus/runbook.md" in text for text in linking.values())
    assert ("Links of alerts" in notes) is not bool(address)
