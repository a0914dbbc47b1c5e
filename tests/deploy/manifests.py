"""What is shipped in deploy/ as data, and the checks that hold of it whatever it is rendered by."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from lanewatch.config.loading import Config, load_config
from referencing import Registry, Resource

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
CHART = DEPLOY / "helm" / "lanewatch"
OLDEST, NEWEST = "1.29", "1.37"  # native sidecars are on by default from 1.29 on
OURS = "lanewatch"
UID = 10001
WORKLOADS = {"Deployment", "StatefulSet"}
# Kinds of others, whose schemas no package here has.
CUSTOM = {"PodMonitor", "PrometheusRule", "Kustomization", "Component"}


def documents(path: Path) -> list[Any]:
    """Every document of a YAML file."""
    return [one for one in yaml.safe_load_all(path.read_text()) if one is not None]


@functools.cache
def _schemas(version: str) -> tuple[Any, Any]:
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{version}.0-local-strict"
    definitions = json.loads((folder / "_definitions.json").read_text())
    return folder, Registry().with_resource("_definitions.json", Resource.from_contents(definitions))


@functools.cache
def _validator(version: str, kind: str, api: str) -> Any:
    folder, registry = _schemas(version)
    group, _, number = api.rpartition("/")
    named = f"{group.split('.')[0]}-{number}" if group else number
    schema = json.loads((folder / f"{kind.lower()}-{named}.json").read_text())
    return jsonschema.Draft202012Validator(schema, registry=registry)


def faults(document: Any, version: str) -> list[str]:
    """What Kubernetes' own schema of that version says against an object, unknown fields among it."""
    validator = _validator(version, document["kind"], document["apiVersion"])
    return [f"{'.'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(document)]


def deployment_of(spec: Any) -> dict[str, Any]:
    """A Deployment of somebody's own whose pods have this spec beside their application's container."""
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {**spec, "containers": [{"name": "app", "image": "app:1"}]},
            },
        },
    }  # fmt: skip


def containers(workload: Any) -> Iterator[tuple[str, Any]]:
    """(list, container) of a workload's pods."""
    spec = workload["spec"]["template"]["spec"]
    for listed in ("initContainers", "containers"):
        for container in spec.get(listed, ()):
            yield listed, container


def variables(container: Any) -> dict[str, str]:
    """The variables of a container that have their value in the manifest."""
    return {one["name"]: one["value"] for one in container.get("env", ()) if "value" in one}


def loaded(toml: str, environ: dict[str, str], folder: Path) -> Config:
    """The configuration that a file and variables come to; raises what starting it would raise. Secrets need no file."""
    path = folder / "lanewatch.toml"
    path.write_text(toml)
    secret = folder / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef\n")
    given = {name: str(secret) if value.startswith("/run/secrets/") else value for name, value in environ.items()}
    return load_config(path, {name: value for name, value in given.items() if name.startswith("LANEWATCH_")})


def merged(base: Any, patch: Any) -> Any:
    """A patch put into an object as Kubernetes does: tables key by key, lists of what has a name by that, the rest replaced."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return {**base, **{key: merged(base[key], one) if key in base else one for key, one in patch.items()}}
    key = next((key for key in ("mountPath", "name") if _keyed(base, key) and _keyed(patch, key)), None)
    if key is None:
        return patch
    known = {one[key]: one for one in base}
    for one in patch:
        known[one[key]] = merged(known[one[key]], one) if one[key] in known else one
    return list(known.values())


def _keyed(listed: Any, key: str) -> bool:
    return isinstance(listed, list) and all(isinstance(one, dict) and key in one for one in listed)


def rendered(cases: list[dict[str, Any]], chart: Path = CHART) -> list[Any]:
    """Each case's values rendered by Helm's own engine, as {template: text}, or the text of its refusal.

    In a process of its own: the engine is a Go library, which takes over signals and never gives threads back.
    """
    script = Path(__file__).parent / "helm_engine.py"
    given = json.dumps({"chart": str(chart), "cases": cases})
    environ = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, str(script)], input=given, capture_output=True, text=True, timeout=120, check=True, env=environ
    )
    answer: list[Any] = json.loads(done.stdout)
    return answer


def objects(texts: dict[str, str]) -> list[Any]:
    """The objects of a rendering, its notes apart."""
    return [one for name, text in sorted(texts.items()) if not name.endswith(".txt") for one in _parsed(text)]


@functools.cache  # a chart's dashboards are 350 KB, and each test looks at all objects
def _parsed(text: str) -> tuple[Any, ...]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return tuple(one for one in yaml.load_all(text, loader) if one is not None)
