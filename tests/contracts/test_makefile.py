"""The Makefile: its verbs are the documented ones, and what is missing on a machine is named with its remedy."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.contracts.source_tree import ROOT

VERBS = {"setup", "run", "test", "check", "bench", "ragas", "lock"}
DOCUMENTS = ("README.md", "CONTRIBUTING.md", ".ci/run")


def targets() -> set[str]:
    """Every verb that `make help` lists."""
    return set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def make(folder: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run make on a copy of the Makefile."""
    shutil.copy(ROOT / "Makefile", folder)
    env = {"PATH": path or "/usr/bin:/bin"}
    return subprocess.run(
        ["/usr/bin/make", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60
    )


def test_every_verb_that_the_documents_name_exists() -> None:
    """A command in a document works as it stands there."""
    named = {
        verb
        for document in DOCUMENTS
        for verb in re.findall(r"(?:`|^\s*\$?\s*)make ([a-z]+)", (ROOT / document).read_text(), re.MULTILINE)
    }

    assert named - targets() == set()
    assert targets() >= VERBS


def test_make_alone_lists_the_verbs(tmp_path: Path) -> None:
    """Whoever types `make` learns what there is; nothing is installed."""
    shown = make(tmp_path).stdout

    assert set(re.findall(r"^  make (\w+)", shown, re.MULTILINE)) == targets()
    assert not (tmp_path / ".venv").exists()


def test_without_a_python_that_fits_it_says_what_to_install(tmp_path: Path) -> None:
    """Debian's command stands in the message."""
    result = make(tmp_path, "PYTHON=", "UV=", ".venv/bin/python")

    assert result.returncode == 2
    assert "needs Python 3.11, 3.12 or 3.13" in result.stderr
    assert "apt-get install python3 python3-venv" in result.stderr


@pytest.mark.parametrize("left_behind", ["bin", "."])
def test_an_environment_that_could_not_be_made_is_removed(tmp_path: Path, left_behind: str) -> None:
    """Debian without python3-venv leaves half an environment: the next try must start anew, and the remedy is told."""
    python = tmp_path / "half"
    python.write_text(f"#!/bin/sh\nmkdir -p .venv/{left_behind} && touch .venv/{left_behind}/python\nexit 1\n")
    python.chmod(0o755)

    result = make(tmp_path, f"PYTHON={python}", "UV=", ".venv/bin/python")

    assert result.returncode == 2
    assert "apt-get install python3-venv" in result.stderr
    assert not (tmp_path / ".venv").exists()
