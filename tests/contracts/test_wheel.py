"""What is built: wheel and source archive hold every module and data file, nothing else, and work when installed."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.contracts.source_tree import ROOT, SOURCE_ROOTS

BUILD_FILES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore")
DATA = "collector/lanewatch/some_data/trace.pb.gz"
SKIPPED = shutil.ignore_patterns("__pycache__", "*.pyc")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive from a copy of the tree, and the wheel from the unpacked archive, without network."""
    folder = tmp_path_factory.mktemp("build")
    tree = folder / "tree"
    for root in SOURCE_ROOTS:
        shutil.copytree(ROOT / root, tree / root, ignore=SKIPPED)
    for name in BUILD_FILES:
        shutil.copy(ROOT / name, tree / name)
    (tree / DATA).parent.mkdir()
    (tree / DATA).write_bytes(b"data")
    (tree / "tests" / "corpus").mkdir(parents=True)
    (tree / "tests" / "corpus" / "scoring.py").write_text("")

    build(tree, "sdist", folder)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        # Debian 12 has Python 3.11.2, where extractall takes no filter yet; without one 3.12 warns.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    unpacked = next(path for path in folder.glob("lanewatch-*") if path.is_dir())
    build(unpacked, "wheel", folder)
    build(tree, "wheel", folder / "direct")
    return next(folder.glob("*.whl"))


def build(tree: Path, target: str, output: Path) -> None:
    """Run the locked hatchling."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(output)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=120)


def names(wheel: Path) -> set[str]:
    """List the files of a wheel, without its metadata."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(wheel: Path) -> None:
    """A part that is left out would not be missed before somebody imports it."""
    tree = wheel.parent / "tree"
    sources = {root: [path for path in (tree / root).rglob("*") if path.is_file()] for root in SOURCE_ROOTS}

    assert names(wheel) == {path.relative_to(tree / root).as_posix() for root in sources for path in sources[root]}
    assert DATA.removeprefix("collector/") in names(wheel)
    assert {f"lanewatch/{root}/py.typed" for root in SOURCE_ROOTS} <= names(wheel)


def test_a_wheel_built_directly_is_the_same(wheel: Path) -> None:
    """Some layouts give a right wheel from the tree and a wrong one from the source archive."""
    direct = next((wheel.parent / "direct").glob("*.whl"))

    assert names(direct) == names(wheel)


def test_the_wheel_carries_licence_entry_point_and_the_ragas_extra(wheel: Path) -> None:
    """What pip and a licence scanner read."""
    with zipfile.ZipFile(wheel) as archive:
        info = {Path(name).name: archive.read(name).decode() for name in archive.namelist() if ".dist-info/" in name}

    assert "License-Expression: Apache-2.0" in info["METADATA"]
    assert "Provides-Extra: ragas" in info["METADATA"]
    assert "lanewatch = lanewatch.cli.main:main" in info["entry_points.txt"]
    assert info["LICENSE"] == (ROOT / "LICENSE").read_text()


def test_every_module_imports_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """Unpacked on the import path, without the checkout: `-S` leaves out the editable installation."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    libraries = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *libraries])}
    files = [name for name in names(wheel) if name.endswith(".py") and not name.endswith("__main__.py")]
    inside = sorted(name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files)
    code = (
        "import importlib, sys\n"
        f"for name in {inside!r}: print(importlib.import_module(name).__file__)\n"
        "assert 'ragas' not in sys.modules"
    )

    listed = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    shown = subprocess.run(
        [sys.executable, "-S", "-m", "lanewatch", "--version"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert listed.stderr == ""
    assert [line for line in listed.stdout.splitlines() if not line.startswith(str(tmp_path))] == []
    assert shown.stdout.startswith("lanewatch ")
