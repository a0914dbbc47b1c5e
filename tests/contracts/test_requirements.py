"""The locks: everything pinned and hashed, nothing said of where it comes from, one version of a thing in all of them."""

import re
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.contracts.source_tree import ROOT

LOCKS = ("core", "ragas", "local", "dev")


def text_of(lock: str) -> str:
    """Read a lock."""
    return (ROOT / "requirements" / f"{lock}.txt").read_text()


def pins(lock: str) -> dict[str, Requirement]:
    """Every requirement of a lock by its canonical name."""
    lines = [
        line.removesuffix("\\").strip()
        for line in text_of(lock).splitlines()
        if re.match(r"[a-z0-9]", line, re.IGNORECASE)
    ]
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


def wanted() -> dict[str, list[Requirement]]:
    """What pyproject.toml asks of each lock."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = document["project"], document["dependency-groups"]
    core = [*project["dependencies"], *groups["build"]]
    ragas = [
        *project["dependencies"],
        *project["optional-dependencies"]["ragas"],
        *project["optional-dependencies"]["judge"],
        *project["optional-dependencies"]["prices"],
    ]
    local = [*project["dependencies"], *project["optional-dependencies"]["local"]]
    dev = [*core, *ragas, *local, *(line for line in groups["dev"] if isinstance(line, str))]
    locks = (("core", core), ("ragas", ragas), ("local", local), ("dev", dev))
    return {lock: [Requirement(line) for line in lines] for lock, lines in locks}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_and_hashed(lock: str) -> None:
    """An archive that was replaced does not install."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", text_of(lock), flags=re.MULTILINE)[1:]

    assert len(blocks) == len(pins(lock)) > 20
    assert all(re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+ ", block) for block in blocks)
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_does_not_say_where_packages_come_from(lock: str) -> None:
    """Whoever installs decides on the index: no address, no option but hashes."""
    lines = [line.strip() for line in text_of(lock).splitlines()]

    assert "://" not in text_of(lock)
    assert [line for line in lines if line.startswith("-") and not line.startswith("--hash=")] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_satisfies_what_the_project_asks_for(lock: str) -> None:
    """A dependency that was added or raised without `make lock` is found here."""
    locked = pins(lock)
    missing = [
        str(requirement)
        for requirement in wanted()[lock]
        if (pin := locked.get(canonicalize_name(requirement.name))) is None
        or not requirement.specifier.contains(str(pin.specifier).removeprefix("=="), prereleases=True)
    ]

    assert missing == []


def test_a_version_is_the_same_in_every_lock() -> None:
    """What was tested with dev.txt is what the others install."""
    dev = {name: pin.specifier for name, pin in pins("dev").items()}

    for lock in ("core", "ragas", "local"):
        assert {name: str(pin) for name, pin in pins(lock).items() if dev.get(name) != pin.specifier} == {}


def test_the_core_is_small() -> None:
    """Ragas and what it drags in (some 900 MB) stay an extra."""
    assert not {"ragas", "openai", "pyarrow", "langchain-core", "onnxruntime"} & pins("core").keys()
    assert not {"torch", "tokenizers", "huggingface-hub"} & pins("local").keys()
    assert str(pins("ragas")["ragas"].specifier) == "==0.4.3"


def test_ragas_can_be_imported_with_its_pins() -> None:
    """An unpinned ragas 0.4.3 installs and can't be imported: langchain-community 0.4.2 dropped what it needs."""
    code = "import os; os.environ['RAGAS_DO_NOT_TRACK'] = 'true'; from ragas.messages import AIMessage"

    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)
