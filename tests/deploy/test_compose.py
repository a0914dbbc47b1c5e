"""The compose file: valid by the specification, exact versions, mounts that are there, and nothing published but to this machine."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import compose_spec
import pytest
import yaml
from lanewatch.config.loading import load_config

from tests.deploy.manifests import DEPLOY, OURS

FOLDER = DEPLOY / "compose"
FILE = FOLDER / "compose.yaml"
WHOLE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, Any] = WHOLE["services"]
SHIPPED = DEPLOY / "prometheus"
with_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool: apt-get install prometheus")


def mounts(service: dict[str, Any]) -> list[list[str]]:
    """Each volume's parts: source, target, mode."""
    return [one.split(":") for one in service.get("volumes", ())]


def test_it_is_valid_by_the_specification() -> None:
    """Keys, forms of ports and volumes, references to volumes and services."""
    compose_spec.PyCompose.from_yaml(FILE.read_text()).validate()


def test_the_validation_can_fail() -> None:
    """A key that nobody knows."""
    with pytest.raises(ValueError):
        compose_spec.PyCompose.from_yaml("services:\n  a:\n    imgae: b\n").validate()


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_has_an_exact_version(name: str) -> None:
    """What was tried is what runs; `latest` is another thing tomorrow."""
    assert re.fullmatch(r"[a-z0-9./-]+:v?\d+\.\d+\.\d+", SERVICES[name]["image"])


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_is_published_beyond_this_machine(name: str) -> None:
    """There is no TLS, and no token."""
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", ()))


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_rights_and_bounded_memory(name: str) -> None:
    """Whatever is in the image."""
    assert SERVICES[name]["cap_drop"] == ["ALL"]
    assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]
    assert SERVICES[name]["mem_limit"]


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_mounted_is_there_and_read_only(name: str) -> None:
    """A path that is not there becomes an empty folder; only named volumes are written to."""
    for source, _, *mode in mounts(SERVICES[name]):
        if source in WHOLE["volumes"]:
            continue

        assert (FOLDER / source).exists()
        assert mode == ["ro"]


def test_ours_is_built_and_started_with_a_valid_configuration() -> None:
    """From this checkout; there is time to drain, and what survives lies in a volume."""
    ours = SERVICES[OURS]
    config = load_config(None, ours["environment"])
    folders = [target for source, target, *_ in mounts(ours) if source in WHOLE["volumes"]]

    assert (FOLDER / ours["build"]["context"] / ours["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert float(ours["stop_grace_period"].removesuffix("s")) > config.shutdown.drain_seconds + 5
    assert any(config.drift.state_folder.startswith(folder) for folder in folders)
    assert any(config.handoff.file.startswith(folder) for folder in folders)
    assert any(config.judge.store.startswith(folder) for folder in folders)
    assert config.limits.memory_hard_bytes + config.judge.worker_memory_bytes <= 2**30
    assert ours["read_only"] is True
    assert (SERVICES["demo"]["image"], SERVICES["demo"]["read_only"]) == (ours["image"], True)


def test_a_judge_goes_on_top_with_its_key_from_a_file(tmp_path: Path) -> None:
    """The second file is valid with the first one, builds the image with Ragas, and what is not given is asked for."""
    more = yaml.safe_load((FOLDER / "judge.yaml").read_text())
    secret = tmp_path / "key"
    secret.write_text("0123456789\n")
    both = {
        **WHOLE,
        "secrets": more["secrets"],
        "services": {**SERVICES, OURS: {**SERVICES[OURS], **more["services"][OURS]}},
    }
    ours = more["services"][OURS]
    asked = {"JUDGE_BASE_URL": "https://judge.example.com/v1", "JUDGE_MODEL": "a-model"}
    given = {
        name: asked.get(re.sub(r"^\$\{(\w+):\?.*$", r"\1", value), value) for name, value in ours["environment"].items()
    }
    given["LANEWATCH_JUDGE_API_KEY_FILE"] = str(secret)
    config = load_config(None, {**SERVICES[OURS]["environment"], **given})
    compose_spec.PyCompose.from_yaml(yaml.safe_dump(both)).validate()

    assert (config.judge.base_url, config.judge.model) == (asked["JUDGE_BASE_URL"], "a-model")
    assert ours["environment"]["LANEWATCH_JUDGE_API_KEY_FILE"] == f"/run/secrets/{ours['secrets'][0]}"
    assert config.limits.memory_hard_bytes + config.judge.worker_memory_bytes <= 2 * 2**30
    assert ours["build"]["target"] == "lanewatch-ragas"
    assert ":?" in more["secrets"][ours["secrets"][0]]["file"]


def test_everything_is_reached_where_it_listens() -> None:
    """Names and ports: the Collector's two exporters, the demonstration, the scrape, the data source."""
    collector, grafana = SERVICES["collector"]["environment"], SERVICES["grafana"]["environment"]
    prometheus = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    targets = prometheus["scrape_configs"][0]["static_configs"][0]["targets"]

    assert collector["LANEWATCH_OTLP_ENDPOINT"] == f"http://{OURS}:4318"
    assert collector["PRIMARY_OTLP_ENDPOINT"] == "jaeger:4317"
    assert targets == [f"{OURS}:9464"]
    assert grafana["PROMETHEUS_URL"] == "http://prometheus:9090"
    assert {"http://collector:4318", f"http://{OURS}:9464"} <= set(SERVICES["demo"]["command"])
    named = {"jaeger", OURS, "prometheus", "collector", "alertmanager"}
    assert named <= set(SERVICES)


def test_grafana_reads_data_source_and_dashboards_from_where_they_are_mounted() -> None:
    """The provider's path is the mount's; each variable of the data source is set."""
    provider = yaml.safe_load((FOLDER / "../../dashboards/provisioning/dashboards/lanewatch.yml").read_text())
    folder = provider["providers"][0]["options"]["path"]
    sources = "".join(path.read_text() for path in (FOLDER / "../../dashboards/provisioning/datasources").iterdir())
    wanted = set(re.findall(r"(?<![$\w])\$([A-Z_]+)", "\n".join(re.findall(r"^[^#]*$", sources, re.MULTILINE))))

    assert [source for source, target, *_ in mounts(SERVICES["grafana"]) if target == folder] == [
        "../../dashboards/json"
    ]
    assert wanted
    assert wanted <= SERVICES["grafana"]["environment"].keys()


def test_prometheus_differs_from_the_shipped_one_in_names_alone() -> None:
    """The same rules at the same intervals; exemplars are kept."""
    here, shipped = (yaml.safe_load((folder / "prometheus.yml").read_text()) for folder in (FOLDER, SHIPPED))
    rules = sorted(path.name for path in SHIPPED.glob(here["rule_files"][0].removeprefix("rules/")))

    assert here["global"] == shipped["global"]
    assert rules == sorted(shipped["rule_files"])
    assert [one["job_name"] for one in here["scrape_configs"]] == [one["job_name"] for one in shipped["scrape_configs"]]
    assert "--enable-feature=exemplar-storage" in SERVICES["prometheus"]["command"]


@with_promtool
def test_prometheus_takes_its_configuration(tmp_path: Path) -> None:
    """As it is mounted: the file, and the rules in the folder beside it."""
    shutil.copy(FOLDER / "prometheus.yml", tmp_path)
    shutil.copytree(SHIPPED, tmp_path / "rules")
    done = subprocess.run(
        ["promtool", "check", "config", str(tmp_path / "prometheus.yml")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert f"{len(list(SHIPPED.glob('*.rules.yml')))} rule files found" in done.stdout
