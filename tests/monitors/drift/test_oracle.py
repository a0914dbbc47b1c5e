"""The functions that the detectors use, against vectors that were worked out another way."""

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.monitors.drift.check_oracle import UNUSED, USED, agrees, check

FILE = Path(__file__).with_name("oracle.json")
VECTORS = json.loads(FILE.read_text())["vectors"]
# Worked out with 50 digits (mpmath) at the ends of what can be: empty and single bins, 10^9 observations, tails of 10^-15.
EXTREMES = json.loads(FILE.with_name("oracle_extremes.json").read_text())["vectors"]
NEEDED = {
    "psi", "psi_ref_shrunk", "g_statistic", "kl", "js_distance", "psi_threshold", "psi_pvalue", "jeffreys", "wilson",
    "sr_path", "e_process_log", "betting_ht", "ht_rate", "psi_weighted", "design_effect", "dispersion_phi",
    "wasserstein_binned", "hotelling_t2", "hotelling_p", "gaussian_kl", "reference_penalty", "bin_counts",
    "otel_adjusted_count", "tilt", "multinomial_log_lr",
}  # fmt: skip


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["kind"] in USED], ids=lambda vector: vector["id"])
def test_every_vector_of_a_kind_in_use_agrees(vector: dict[str, Any]) -> None:
    """Within its tolerance, against the product's own function."""
    assert agrees(vector)


@pytest.mark.parametrize("vector", EXTREMES, ids=lambda vector: vector["id"])
def test_extreme_vectors_agree_as_well(vector: dict[str, Any]) -> None:
    """Counts of nothing, bins that one side lacks, evidence beyond 10^40, p-values that are almost 0."""
    assert agrees(vector)


def test_every_kind_is_used_or_said_to_be_of_no_use() -> None:
    """A kind that is neither would be a hole that nobody sees."""
    assert {vector["kind"] for vector in VECTORS} <= {*USED, *UNUSED}
    assert set(USED) >= NEEDED
    assert not set(USED) & set(UNUSED)


def test_a_wrong_figure_is_found() -> None:
    """Each vector fails when what it expects is moved by a thousandth."""
    moved = copy.deepcopy([vector for vector in VECTORS if vector["kind"] in USED])
    for vector in moved:
        expected = vector["expected"]
        vector["expected"] = [x + 1e-3 for x in expected] if isinstance(expected, list) else expected + 1e-3

    assert not any(agrees(vector) for vector in moved)


def test_infinity_is_marked_and_met() -> None:
    """JSON has no infinity: `nonfinite` stands for it."""
    inputs = {"ref_counts": [10, 0], "cur_counts": [5, 5], "pseudo_count": 0}

    assert agrees({"kind": "psi", "inputs": inputs, "expected": None, "nonfinite": "inf", "tol": 1e-9})


def test_the_script_tells_each_kind_and_fails_for_one_miss(tmp_path: Path) -> None:
    """A line a kind and a count; status 0, or 1 for a miss or a kind that is not known."""
    lines: list[str] = []
    wrong = [
        {**VECTORS[0], "expected": 1.0},
        {"id": "x", "kind": "never_heard_of", "inputs": {}, "expected": 0, "tol": 1},
    ]

    assert check(VECTORS, lines.append)
    assert lines[-1].startswith("53 of 53 vectors agree")
    assert not check(wrong[:1], lines.append)
    assert not check(wrong[1:], lines.append)


def test_the_script_runs_by_itself(tmp_path: Path) -> None:
    """As it is called from outside, on a file with a miss."""
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps({"vectors": [{**VECTORS[0], "expected": 1.0}]}))
    script = Path(__file__).with_name("check_oracle.py")
    done = subprocess.run([sys.executable, script, file], capture_output=True, text=True, check=False)

    assert done.returncode == 1, done.stderr
    assert "FAIL psi" in done.stdout
