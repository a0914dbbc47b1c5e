"""The recording rules of drift: Prometheus gives what the monitors give, over all replicas, in promtool's own hands."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lanewatch.monitors.drift.bins import CategoryBins
from lanewatch.monitors.drift.distances import g_statistic
from lanewatch.monitors.drift.effects import share_effects
from lanewatch.monitors.drift.metrics import DRIFT_METRICS
from lanewatch.monitors.drift.windows import Window

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "prometheus"
RULES, TESTS = FOLDER / "drift.rules.yml", FOLDER / "drift.rules.test.yml"
PROMTOOL = shutil.which("promtool") or ""
HOUR = 60  # scrapes, one a minute
INVERSE_N = 1 / 20_000
SHARES = (0.40, 0.25, 0.15, 0.10, 0.05, 0.04, 0.01)
# A minute's observations of two replicas: 13,800 an hour in all, none of them in the last bin.
REPLICAS = ((55, 42, 23, 15, 8, 7, 0), (30, 22, 12, 8, 4, 4, 0))

pytestmark = pytest.mark.skipif(not PROMTOOL, reason="promtool is not installed: apt-get install prometheus")


def promtool(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run promtool."""
    command = [PROMTOOL, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def expected(
    replicas: Sequence[Sequence[float]], shares: Sequence[float], *, weight: float = 1.0, phi: float = 1.0
) -> tuple[float, float]:
    """(PSI, G) of an hour of these minutes, as the monitors work them out."""
    counts = np.sum(replicas, axis=0) * HOUR * weight
    n = float(counts.sum())
    window = Window(counts, np.asarray(n / weight), np.array(shares))
    bins = CategoryBins(tuple(f"b{k}" for k in range(len(shares) - 2)))
    effects = share_effects(60, window, INVERSE_N, phi, bins)
    assert effects is not None
    return effects.psi, float(g_statistic(counts * (effects.worth / n), shares, INVERSE_N))


def series(
    replicas: Sequence[Sequence[float]], shares: Sequence[float], *, weight: float = 1.0, phi: float = 1.0
) -> list[dict[str, str]]:
    """What the replicas export over an hour, a scrape a minute; a bin of no replica is absent from its counters."""
    rows: list[tuple[str, str, float]] = []
    for replica, counts in enumerate(replicas):
        labels = f'service="shop",signal="tool",lane="tools",instance="r{replica}"'
        total = sum(counts) * weight
        for k, (count, share) in enumerate(zip(counts, shares, strict=True)):
            binned = f'{labels},ref="abc",bin="b{k}"'
            rows.append(("lanewatch_bin_expected_total", binned, total * share))
            if count:
                rows.append(("lanewatch_bin_total", binned, count * weight))
        rows.append(("lanewatch_weight_sq_total", f'{labels},ref="abc"', sum(counts) * weight * weight))
    given = [{"series": f"{name}{{{labels}}}", "values": f"0+{step!r}x{HOUR + 1}"} for name, labels, step in rows]
    constants = (
        ("lanewatch_reference_inverse_n", INVERSE_N),
        ("lanewatch_design_effect", phi),
        ("lanewatch_chi2_critical", 36.4),
    )
    for name, value in constants:
        labels = '{service="shop",signal="tool",lane="tools",instance="r0"}'
        given.append({"series": f"{name}{labels}", "values": f"{value!r}+0x{HOUR + 1}"})
    return given


def near(name: str, value: float) -> dict[str, Any]:
    """A check of promtool that a recorded series is this value to nine digits."""
    labels = f'{name}{{service="shop", signal="tool", lane="tools", ref="abc"}}'
    tolerance = max(abs(value), 1e-9) * 1e-9
    return {
        "expr": f"(abs({name} - {value!r}) < bool {tolerance!r}) * count without (x) ({name})",
        "eval_time": "1h",
        "exp_samples": [{"labels": labels.removeprefix(name), "value": 1}],
    }


def run_rules(folder: Path, given: list[dict[str, str]], checks: list[dict[str, Any]]) -> str:
    """The faults that promtool finds; empty where there is none."""
    file = folder / "rules.test.yml"
    test = {"interval": "1m", "input_series": given, "promql_expr_test": checks}
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    done = promtool("test", "rules", file)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_rules_are_well_formed() -> None:
    """Promtool check rules."""
    done = promtool("check", "rules", RULES)

    assert done.returncode == 0, done.stderr


def test_the_rules_pass_the_test_that_lies_beside_them() -> None:
    """Promtool test rules, as an operator would run it."""
    done = promtool("test", "rules", TESTS)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_figures_of_that_test_are_the_monitors() -> None:
    """Its PSI and G, which stand there as numbers, come out of the functions that alarm."""
    psi, g = expected(REPLICAS, SHARES)
    text = TESTS.read_text()

    assert f"value: {round(psi * 1e8)}\n" in text
    assert f"value: {round(g * 1e6)}\n" in text


@pytest.mark.parametrize(
    ("replicas", "shares", "weight", "phi"),
    [
        (REPLICAS, SHARES, 1.0, 1.0),
        (REPLICAS, SHARES, 10.0, 1.0),
        (REPLICAS, SHARES, 1.0, 2.5),
        (((5, 5, 5), (1, 0, 9), (0, 0, 4)), (0.5, 0.3, 0.2), 4.0, 1.5),
        (((50, 30, 20),), (0.5, 0.3, 0.2), 1.0, 1.0),
    ],
    ids=["two replicas", "sampled", "sessions", "three replicas", "nothing moved"],
)
def test_prometheus_gives_what_the_monitors_give(
    tmp_path: Path, replicas: Sequence[Sequence[float]], shares: Sequence[float], weight: float, phi: float
) -> None:
    """The same PSI and G to nine digits, over all replicas, with sampling weights and a design effect."""
    psi, g = expected(replicas, shares, weight=weight, phi=phi)
    checks = [near("lanewatch:psi:1h", psi), near("lanewatch:g:1h", g)]

    assert run_rules(tmp_path, series(replicas, shares, weight=weight, phi=phi), checks) == ""


def test_every_metric_of_the_rules_is_one_that_is_exported() -> None:
    """By its name, with every label that it is summed by."""
    known = {f"{one.name}_total" if one.counter else one.name: one.labels for one in DRIFT_METRICS}
    named = set(re.findall(r"\b(lanewatch_\w+)", re.sub(r"#.*", "", RULES.read_text())))
    labels = {"service", "lane", "signal"}

    assert named - set(known) == set()
    assert all(labels <= set(known[name]) for name in named)
    assert {"ref", "bin"} <= set(known["lanewatch_bin_total"]) & set(known["lanewatch_bin_expected_total"])
    assert "ref" in known["lanewatch_weight_sq_total"]


def test_a_standing_alarm_of_a_replica_is_an_alert(tmp_path: Path) -> None:
    """One of two replicas is enough."""
    labels = 'service="shop",lane="tools",signal="tool",kind="distribution",direction="any"'
    given = [{"series": f'lanewatch_alarm{{{labels},instance="r{k}"}}', "values": f"{k}+0x{HOUR}"} for k in range(2)]
    alerts = 'count(ALERTS{alertname="LanewatchDrift",alertstate="firing"})'
    check = {"expr": alerts, "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": 1}]}

    assert run_rules(tmp_path, given, [check]) == ""


def test_a_wrong_figure_is_found(tmp_path: Path) -> None:
    """The comparison can fail: a PSI that is off by a millionth."""
    psi, _ = expected(REPLICAS, SHARES)

    assert "FAILED" in run_rules(tmp_path, series(REPLICAS, SHARES), [near("lanewatch:psi:1h", psi + 1e-6)])


def test_without_traffic_there_is_no_drift_of_zero(tmp_path: Path) -> None:
    """Counters that stand still give no series: unknown is not 0."""
    still = [(0, 0, 0), (0, 0, 0)]
    checks: list[dict[str, Any]] = [
        {"expr": name, "eval_time": "1h", "exp_samples": []}
        for name in ("lanewatch:psi:1h", "lanewatch:g:1h", "ALERTS")
    ]

    assert run_rules(tmp_path, series(still, (0.5, 0.3, 0.2)), checks) == ""


def test_two_references_are_never_added(tmp_path: Path) -> None:
    """While replicas change over to a new reference, each has its own PSI."""
    old = series(((50, 30, 20),), (0.5, 0.3, 0.2))
    new = [
        {**row, "series": row["series"].replace('ref="abc"', 'ref="def"').replace('"r0"', '"r1"')}
        for row in series(((20, 30, 50),), (0.2, 0.3, 0.5))
        if "_total" in row["series"]
    ]
    checks = [
        {"expr": "count(lanewatch:psi:1h < 0.0001)", "eval_time": "1h", "exp_samples": [{"labels": "{}", "value": 2}]}
    ]

    assert run_rules(tmp_path, [*old, *new], checks) == ""
