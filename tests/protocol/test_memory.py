"""Attacks on memory, in a process of their own so that its peak can be read (P6, P9, P10)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_MIB = 8

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of the memory is read from /proc")


def peaks() -> dict[str, float]:
    """By attack: how far the process's peak went above where it stood, in MiB."""
    script = Path(__file__).with_name("attacked.py")
    done = subprocess.run(
        [sys.executable, str(script), str(LIMIT_MIB)],
        cwd=ROOT,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_no_attack_takes_more_than_twice_the_limit() -> None:
    """P6, P9, P10: 256 MiB of zeros in 261 KB, in each coding and protocol; a claim of 1 GiB; an endless body."""
    found = peaks()

    assert len(found) == 7
    assert {name: peak for name, peak in found.items() if peak >= 2 * LIMIT_MIB + 16} == {}
