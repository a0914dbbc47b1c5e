"""The recording rules of scores: Prometheus gives what `estimates` gives, over all replicas, in promtool's own hands."""

import json
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lanewatch.monitors.judge.estimates import Sums, interval, mean, n_eff

from tests.deploy.rule_files import FOLDER

MINUTES = 60
COUNTED = {
    "weight": "weight",
    "weighted_sum": "weighted",
    "weight_squares": "squares",
    "weight_squares_values": "squares_values",
    "weight_squares_squares": "squares_squares",
}
LABELS = 'service="shop", lane="generation", metric="faithfulness", evaluator="ragas"'

pytestmark = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool: apt-get install prometheus")


def replica(scores: Sequence[tuple[float, float]]) -> Sums:
    """What one replica counts in a minute."""
    found = Sums()
    for value, weight in scores:
        found.add(value, weight)
    return found


def hour(minute: Sums) -> Sums:
    """Sixty such minutes."""
    return Sums(*(getattr(minute, name) * MINUTES for name in minute.__struct_fields__))


def series(number: int, minute: Sums, *, restarts: bool) -> list[dict[str, str]]:
    """A scrape a minute; one that restarts begins all counters anew half-way."""
    half = MINUTES // 2
    found = []
    for name, field in COUNTED.items():
        step = getattr(minute, field)
        values = f"0+{step!r}x{half} {step!r}+{step!r}x{half}" if restarts else f"0+{step!r}x{MINUTES + 1}"
        found.append({"series": f'lanewatch_score_{name}_total{{instance="r{number}", {LABELS}}}', "values": values})
    return found


def near(name: str, value: float, at: str = "1h") -> dict[str, Any]:
    """A check of promtool that a recorded series is this value to nine digits."""
    return {
        "expr": f"abs({name} - {value!r}) < bool {max(abs(value), 1e-6) * 1e-6!r}",
        "eval_time": at,
        "exp_samples": [{"labels": f"{{{LABELS}}}", "value": 1}],
    }


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("kind", ["spread", "all_right", "few_heavy"])
def test_mean_and_interval_are_those_of_the_estimates(tmp_path: Path, kind: str, restarts: bool) -> None:
    """Of two replicas that draw at different rates, one of which restarts."""
    source = random.Random(4)
    scores = {
        "spread": [
            [(source.random(), 20.0) for _ in range(5)] + [(source.random() / 2, 1.0)],
            [(source.random(), 3.5)],
        ],
        "all_right": [[(1.0, 20.0)], [(1.0, 1.0), (1.0, 1.0)]],
        "few_heavy": [[(0.2, 400.0)], [(0.9, 1.0), (0.7, 1.0)]],
    }[kind]
    minutes = [replica(one) for one in scores]
    sums = hour(minutes[0]).with_(hour(minutes[1]))
    within, estimate = interval(sums), mean(sums)
    assert within is not None
    assert estimate is not None
    checks = [
        near("lanewatch:score_mean:1h", estimate),
        near("lanewatch:score_low:1h", within.low),
        near("lanewatch:score_high:1h", within.high),
        near("lanewatch:score_n_eff:1h", n_eff(sums)),
    ]
    given = [
        row for number, one in enumerate(minutes) for row in series(number, one, restarts=restarts and number == 0)
    ]
    done = promtool(tmp_path, "1m", given, checks)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("window", "hours"), [("1d", 24), ("3h", 3)])
@pytest.mark.parametrize("value", [0.8, 1.0])
def test_each_window_that_has_a_mean_has_its_interval(tmp_path: Path, window: str, hours: int, value: float) -> None:
    """Six scores an hour of two weights; of equal ones it has a width, too, and neither end leaves the range."""
    step = replica([(value, 20.0), (value / 2 if value < 1 else 1.0, 4.0)])
    sums = Sums(*(getattr(step, name) * hours * 3 for name in step.__struct_fields__))
    within = interval(sums)
    assert within is not None
    checks = [
        near(f"lanewatch:score_usual:{window}", within.value, "27h20m"),
        near(f"lanewatch:score_usual_low:{window}", within.low, "27h20m"),
        near(f"lanewatch:score_usual_high:{window}", within.high, "27h20m"),
    ]
    given = [
        {
            "series": f'lanewatch_score_{name}_total{{instance="r0", {LABELS}}}',
            "values": f"0+{getattr(step, field)!r}x170",
        }
        for name, field in COUNTED.items()
    ]
    done = promtool(tmp_path, "20m", given, checks)

    assert done.returncode == 0, done.stdout + done.stderr


def promtool(
    folder: Path, interval: str, given: list[dict[str, str]], checks: list[dict[str, Any]]
) -> subprocess.CompletedProcess[str]:
    """The rules over these series, a sample and an evaluation at each interval."""
    test = {"interval": interval, "input_series": given, "promql_expr_test": checks}
    document = {"rule_files": [str(FOLDER / "judge.rules.yml")], "evaluation_interval": interval, "tests": [test]}
    file = folder / "rules.test.yml"
    file.write_text(json.dumps(document))
    return subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
