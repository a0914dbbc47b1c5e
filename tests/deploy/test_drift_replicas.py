"""Replicas come, are killed, are lost and doubled under the same traffic: neither they nor Prometheus raise an alarm.

Real sidecars' drift, scraped once a minute; what they export is added up by the shipped rules in promtool's hands. A change
that no replica sees enough of is found by the sum, so that the silence means something.
"""

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lanewatch.monitors.drift.building import build_reference
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.live import LiveDrift
from lanewatch.monitors.drift.metrics import DRIFT_METRICS, drift_rows
from lanewatch.monitors.drift.reference import Reference, save_reference
from lanewatch.monitors.drift.settings import DriftSettings

from tests.monitors.drift.traces import Habits, traces

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "drift.rules.yml"
PROMTOOL = shutil.which("promtool") or ""
DAY, MINUTES, PER_SECOND = 86_400, 120, 0.5
START = 6 * DAY
KILLED, LOST, BACK, DOUBLED = 30, 50, 65, 80  # minutes
LABELS = {f"{m.name}_total" if m.counter else m.name: m.labels for m in DRIFT_METRICS}
MOVED = Habits(tools=(0.4, 0.3, 0.3))

pytestmark = pytest.mark.skipif(not PROMTOOL, reason="promtool is not installed: apt-get install prometheus")


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Of three signals, so that it is quick."""
    history = list(traces(random.Random(1), 3000, 4 * DAY, 0.5, Habits()))
    whole = build_reference(lambda: ((facts, 1.0) for facts in history), random.Random(0), created=5)
    shop = whole.layout.services["shop"]
    few = {name: shop.bins[name] for name in ("refusal", "latency", "tool")}
    layout = msgspec.structs.replace(
        whole.layout, services={"shop": msgspec.structs.replace(shop, bins=few, projections={}, text=None)}
    )
    return msgspec.structs.replace(whole, layout=layout)


class Replica:
    """One sidecar's drift, killed without a word and started anew from its folder."""

    def __init__(self, folder: Path, reference: Reference, now: list[float]) -> None:
        folder.mkdir()
        save_reference(folder / "reference", reference)
        self._settings = DriftSettings(state_folder=folder, snapshot_seconds=30.0)
        self._now = now
        self.start()

    def start(self) -> None:
        """A new process; the old one is gone with what it had not written."""
        self.live = LiveDrift(self._settings, clock=lambda: self._now[0], passed=lambda: self._now[0])

    def scrape(self) -> dict[str, float]:
        """Its samples by series, as Prometheus has them."""
        self.live.advance()
        self.live.snapshots.join()
        return {
            f"{name}{{{','.join(f'{k}={json.dumps(str(v))}' for k, v in zip(LABELS[name], labels, strict=True))}}}": value
            for bare, labels, value in drift_rows(self.live.view)
            for name in (bare if bare in LABELS else f"{bare}_total",)
        }


def exported(folder: Path, reference: Reference, given: Iterator[Facts]) -> tuple[list[dict[str, str]], int]:
    """(what Prometheus has of all replicas, minute by minute; alarms that the replicas raised themselves)."""
    now = [float(START)]
    replicas = {name: Replica(folder / name, reference, now) for name in "abc"}
    seen: dict[str, list[float | None]] = {}
    waiting = next(given, None)
    for minute in range(MINUTES):
        if minute == KILLED:
            replicas["b"].start()
        up = {"a", "c"} if LOST <= minute < BACK else {"a", "b", "c"}
        over = START + 60.0 * (minute + 1)
        while waiting is not None and waiting.record.end_ns < over * 1e9:
            now[0] = waiting.record.end_ns / 1e9
            session = int(str(waiting.record.session_id).removeprefix("s"))
            owner = "b" if session % 2 and "b" in up else "a"
            # From then on a second collector sends all of b's traces to c as well.
            for name in (owner, *("c" for _ in range(owner == "b" and minute >= DOUBLED))):
                replicas[name].live.observe(waiting)
            waiting = next(given, None)
        now[0] = over
        for name in sorted(up):
            for labels, value in replicas[name].scrape().items():
                its = seen.setdefault(labels.replace("}", f',instance="{name}"}}'), [])
                its += [None] * (minute - len(its))
                its.append(float(value))
    raised = sum(reading.alarms for replica in replicas.values() for reading in replica.live.view.readings)
    return [
        {"series": labels, "values": " ".join("_" if value is None else repr(value) for value in values)}
        for labels, values in seen.items()
        if labels.startswith(("lanewatch_bin", "lanewatch_weight_sq", "lanewatch_reference_inv", "lanewatch_design",
                              "lanewatch_chi2", "lanewatch_alarm{"))
    ], raised  # fmt: skip


def faults(folder: Path, given: list[dict[str, str]], firing: dict[int, int]) -> str:
    """What promtool finds wrong with so many firing alerts at these minutes."""
    checks: list[dict[str, Any]] = [
        {
            "expr": 'count(ALERTS{alertstate="firing"})',
            "eval_time": f"{minute}m",
            "exp_samples": [{"labels": "{}", "value": count}] if count else [],
        }
        for minute, count in firing.items()
    ]
    test = {"interval": "1m", "input_series": given, "promql_expr_test": checks}
    file = folder / "rules.test.yml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run(
        [PROMTOOL, "test", "rules", file], capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_a_replica_killed_lost_or_doubled_is_no_alarm(tmp_path: Path, reference: Reference) -> None:
    """Neither of a replica's own detectors nor of the sum, at any minute."""
    given = traces(random.Random(7), round(MINUTES * 60 * PER_SECOND), START, PER_SECOND, Habits())
    series, raised = exported(tmp_path, reference, given)

    assert raised == 0
    assert any("_" in row["values"].split() for row in series)
    assert faults(tmp_path, series, dict.fromkeys(range(4, MINUTES, 4), 0)) == ""


def test_a_change_is_found_through_all_of_it(tmp_path: Path, reference: Reference) -> None:
    """Ten points of the tools' mix move: the replicas and the sum say so."""
    given = traces(random.Random(8), round(MINUTES * 60 * PER_SECOND), START, PER_SECOND, MOVED)
    series, raised = exported(tmp_path, reference, given)

    assert raised > 0
    assert "FAILED" in faults(tmp_path, series, {MINUTES - 4: 0})
