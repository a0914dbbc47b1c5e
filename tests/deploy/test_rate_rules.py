"""The recorded rates: Prometheus gives what `lanewatch report` gives, over all replicas, in promtool's own hands."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lanewatch.monitors.drift.calibration import wilson

from tests.deploy.rule_files import FOLDER

pytestmark = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool: apt-get install prometheus")

HOUR = 60  # scrapes, one a minute


def faults(folder: Path, given: dict[str, float], checks: list[dict[str, Any]]) -> str:
    """What promtool finds after an hour of these counts a minute by `refusal`, half of them at each of two replicas."""
    series = [
        {
            "series": f'lanewatch_responses_total{{job="lanewatch",instance="r{k}",service="shop",source="x",refusal="{name}"}}',
            "values": f"0+{n / 2!r}x{HOUR + 1}",
        }
        for name, n in given.items()
        for k in range(2)
    ]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": checks}
    file = folder / "rates.test.yml"
    rules = [str(FOLDER / "rates.rules.yml")]
    file.write_text(json.dumps({"rule_files": rules, "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run(
        ["promtool", "test", "rules", file.name], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def near(name: str, rate: str, lane: str, value: float) -> dict[str, Any]:
    """A check that a recorded series is this value to six digits."""
    labels = f'{{service="shop", lane="{lane}", rate="{rate}"}}'
    series = f'lanewatch:rate_{name}:1h{{rate="{rate}"}}'
    expr = f"abs({series} - {value!r}) <= bool {max(value, 1e-3) * 1e-6!r}"
    return {"expr": expr, "eval_time": "1h", "exp_samples": [{"labels": labels, "value": 1}]}


@pytest.mark.parametrize("refused", [0, 2, 10], ids=["none", "some", "all"])
def test_prometheus_gives_the_rates_and_intervals_of_the_report(tmp_path: Path, refused: int) -> None:
    """Events, trials, what could not be told, the ratio and Wilson's interval, also where none or all are events."""
    trials = 10 * HOUR
    low, high = wilson(refused * HOUR, trials)
    told: dict[str, float] = {"trials": trials, "events": refused * HOUR, "unknown": (10 - refused) * HOUR}
    told |= {"ratio": refused / 10, "low": low, "high": high}
    checks = [near(name, "refusal", "outcome", value) for name, value in told.items()]
    checks.append(near("events", "abstention", "retrieval", 0))

    assert faults(tmp_path, {"refused": refused, "undetermined": 10 - refused}, checks) == ""


def test_without_a_trial_there_is_no_rate(tmp_path: Path) -> None:
    """Counters that stand still give trials of 0, and neither a rate of 0 nor of 1."""
    checks: list[dict[str, Any]] = [
        {"expr": f"lanewatch:rate_{name}:1h", "eval_time": "1h", "exp_samples": []} for name in ("ratio", "low", "high")
    ]

    assert faults(tmp_path, {"refused": 0, "undetermined": 0}, checks) == ""


def test_a_wrong_figure_is_found(tmp_path: Path) -> None:
    """The comparison can fail."""
    assert "FAILED" in faults(
        tmp_path, {"refused": 2, "undetermined": 8}, [near("ratio", "refusal", "outcome", 0.2001)]
    )
