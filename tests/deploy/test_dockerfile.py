"""The Dockerfile: exact base, hashed requirements, no root, a health check of our own, and nothing in it that is not needed."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from lanewatch.config.loading import Config

from tests.deploy.manifests import DEPLOY, ROOT, UID

FILE = DEPLOY / "Dockerfile"
LINES = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.MULTILINE)).splitlines()
STEPS = [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in LINES if line.strip()]
IGNORE = (ROOT / ".dockerignore").read_text().splitlines()
HADOLINT = shutil.which("hadolint", path=str(Path(sys.executable).parent))  # a wheel puts it beside Python
with_hadolint = pytest.mark.skipif(HADOLINT is None, reason="hadolint comes in a wheel for Linux on x86-64")


def stages() -> dict[str, list[tuple[str, str]]]:
    """Each stage's steps, by its name; the first holds what stands before all of them."""
    found: dict[str, list[tuple[str, str]]] = {"": []}
    name = ""
    for step in STEPS:
        if step[0] == "FROM":
            name = step[1].rpartition(" AS ")[2]
            found[name] = []
        found[name].append(step)
    return found


def of(stage: str, word: str) -> list[str]:
    """The steps of one kind in a stage."""
    return [rest for kind, rest in stages()[stage] if kind == word]


@with_hadolint
def test_hadolint_has_nothing_against_it() -> None:
    """Its rules, all of them."""
    done = subprocess.run([str(HADOLINT), str(FILE)], capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout + done.stderr == ""


def test_the_base_is_an_exact_release_and_there_is_one() -> None:
    """A tag that moves makes another image of the same source."""
    (base,) = of("", "ARG")
    others = {rest.split(" AS ")[0] for kind, rest in STEPS if kind == "FROM"} - {"${PYTHON_IMAGE}"}

    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.\d+\.\d+-slim-[a-z]+", base)
    assert others <= set(stages())


def test_the_base_is_a_python_that_the_project_supports() -> None:
    """As pyproject.toml says, and CI tries."""
    (base,) = of("", "ARG")
    version = re.findall(r"python:(3\.\d+)", base)[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert f"Programming Language :: Python :: {version}" in project["classifiers"]


def test_everything_from_an_index_is_hashed_and_no_source_is_built_but_our_own() -> None:
    """Two kinds of installation: by hashes and from wheels, and of this checkout without an index."""
    installs = [
        command
        for kind, rest in STEPS
        if kind == "RUN"
        for command in rest.split("&&")
        if " install " in command and "pip" in command
    ]
    hashed = [one for one in installs if "--requirement" in one]
    own = [one for one in installs if one not in hashed]

    assert all("--require-hashes" in one and "--only-binary :all:" in one for one in hashed)
    assert len(own) == 1
    assert {"--no-deps", "--no-build-isolation", "--no-index", "."} <= set(shlex.split(own[0]))


@pytest.mark.parametrize("target", ["lanewatch", "lanewatch-ragas"])
def test_each_image_runs_as_nobody_in_particular_with_our_own_health_check(target: str) -> None:
    """Both are made of the same stage, which ends with a numeric user."""
    (line,) = of(target, "FROM")

    assert line.startswith("runtime AS")
    assert of("runtime", "USER") == [f"{UID}:{UID}"]
    assert of(target, "USER") == []
    assert of("runtime", "ENTRYPOINT") == ['["lanewatch"]']
    assert of("runtime", "CMD") == ['["run"]']
    assert of("runtime", "HEALTHCHECK")[0].endswith('CMD ["lanewatch", "health"]')


def test_ragas_is_in_one_image_alone_and_the_small_one_is_the_default() -> None:
    """The last stage is what a build without --target makes."""
    lists = {name: " ".join(rest for _, rest in steps) for name, steps in stages().items()}

    assert list(stages())[-1] == "lanewatch"
    assert "build-core" in lists["lanewatch"]
    assert "build-ragas" in lists["lanewatch-ragas"]
    assert "ragas.txt" in lists["build-ragas"]
    assert "ragas.txt" not in lists["build"] + lists["build-core"] + lists["runtime"]


def test_the_image_with_ragas_has_everything_that_is_optional() -> None:
    """Each extra of the project is in a lock that it installs: whoever sets a judge must not miss a library."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed = " ".join(
        (ROOT / lock).read_text() for lock in re.findall(r"--requirement (\S+)", " ".join(of("build-ragas", "RUN")))
    )
    wanted = {re.split(r"[<>=]", one)[0] for names in extras.values() for one in names}

    assert [name for name in wanted if not re.search(rf"(?:^|\s){name}==", installed)] == []


def test_the_images_have_no_installer_and_no_build_tools_in_their_environment() -> None:
    """What made it is not needed to run it."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["build"]
    names = {re.split(r"[<>=]", one)[0] for one in build} | {"pip"}
    for stage in ("build-core", "build-ragas"):
        removed = of(stage, "RUN")[-1].split("uninstall --yes")[1].split()

        assert names <= set(removed)


def test_what_is_copied_is_there_and_gets_past_the_ignored() -> None:
    """.dockerignore lets nothing in but what is named."""
    copied = [
        source
        for kind, rest in STEPS
        if kind == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    ]  # fmt: skip
    allowed = [line.removeprefix("!") for line in IGNORE if line.startswith("!")]

    assert IGNORE[[line for line in IGNORE if not line.startswith("#")].index("*") + 1] == "*"
    assert all((ROOT / one).exists() for one in (*copied, *allowed))
    assert set(copied) == set(allowed)


def test_the_ports_are_the_settings_defaults() -> None:
    """Said for people; nothing is opened by it."""
    config = Config()
    expected = {config.receivers.grpc_port, config.receivers.http_port, config.metrics.port}

    assert {int(port) for port in of("runtime", "EXPOSE")[0].split()} == expected


def test_the_version_is_the_projects() -> None:
    """In the label, and in every manifest that names the image."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    named = {
        match
        for path in DEPLOY.rglob("*")
        if path.is_file() and path.suffix in {".yaml", ".yml"} and "prometheus" not in path.parts
        for match in re.findall(
            r"(?:lanewatch:|newTag: |appVersion: |^version: )(\d+\.\d+\.\d+)", path.read_text(), re.MULTILINE
        )
    }

    assert of("runtime", "ARG") == [f"VERSION={version}"]
    assert named == {version}
