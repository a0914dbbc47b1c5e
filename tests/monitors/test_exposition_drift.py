"""Drift's metrics as Prometheus reads them: all there from the start, finite, valid, and without what is not known."""

import math
import random
import shutil
import subprocess
from collections.abc import Iterator

import msgspec
import pytest
from lanewatch.monitors.drift.alarm import State
from lanewatch.monitors.drift.building import build_reference
from lanewatch.monitors.drift.metrics import DRIFT_METRICS, drift_rows
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.reference import Reference
from lanewatch.monitors.drift.view import DriftView, Learning, Phase, watching_view
from lanewatch.monitors.exposition import Exposition
from prometheus_client.parser import text_string_to_metric_families

from tests.monitors.drift.traces import Habits, traces

DAY = 86_400
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(scope="module")
def reference() -> Reference:
    """All kinds of signals, of 3,000 traces over a day."""
    history = list(traces(random.Random(1), 3000, 4 * DAY, 3000 / DAY, Habits(embedding=8)))
    return build_reference(lambda: ((facts, 1.0) for facts in history), random.Random(0), created=5)


def scraped(view: DriftView) -> str:
    """The page."""
    exposition = Exposition(max_services=3, max_tools=3)
    exposition.watch_drift(lambda: view)
    return exposition.text(openmetrics=False).decode()


def samples(view: DriftView) -> Samples:
    """Every sample of the page, which must not hold one twice."""
    families = text_string_to_metric_families(scraped(view))
    found = [((s.name, tuple(sorted(s.labels.items()))), s.value) for family in families for s in family.samples]
    assert len(dict(found)) == len(found)
    return dict(found)


def of(found: Samples, name: str, **labels: str) -> Iterator[float]:
    """The values of a metric that has these labels."""
    wanted = set(labels.items())
    return (value for (metric, have), value in found.items() if metric == name and wanted <= set(have))


def seen(reference: Reference, habits: Habits, count: int = 1200) -> DriftView:
    """The view of a monitor that saw so many traces."""
    monitor = DriftMonitor(reference)
    for facts in traces(random.Random(3), count, 6 * DAY, 1.0, habits):
        monitor.observe(facts, None)
    return watching_view(DriftView(Phase.LEARNING), monitor)


def test_all_is_zero_before_the_first_trace(reference: Reference) -> None:
    """Bins, events, alarms, and what was not observed; no window has an effect size yet."""
    found = samples(watching_view(DriftView(Phase.LEARNING), DriftMonitor(reference)))

    for name in (
        "lanewatch_bin_total",
        "lanewatch_bin_expected_total",
        "lanewatch_events_total",
        "lanewatch_alarm",
        "lanewatch_alarms_total",
        "lanewatch_drift_not_observed_total",
    ):
        values = list(of(found, name))
        assert values
        assert set(values) == {0}
    assert list(of(found, "lanewatch_drift_psi")) == []
    assert list(of(found, "lanewatch_drift_state", state=State.UNSURE, signal="tool")) == [1]
    assert list(of(found, "lanewatch_drift_phase", phase="watching")) == [1]


def test_a_rate_has_an_alarm_in_each_direction_and_its_own_budget(reference: Reference) -> None:
    """What was promised is exported; all series together have it."""
    found = samples(seen(reference, Habits(refusals=0.2, embedding=8)))

    assert list(of(found, "lanewatch_alarm", signal="refusal", kind="rate", direction="up")) == [1]
    assert list(of(found, "lanewatch_alarm", signal="refusal", kind="rate", direction="down")) == [0]
    assert sum(of(found, "lanewatch_alarm")) == 1
    assert list(of(found, "lanewatch_alarms_total", signal="refusal")) == [1]
    (changed,) = of(found, "lanewatch_alarm_change_timestamp_seconds", signal="refusal")
    assert 6 * DAY - 600 <= changed <= 6 * DAY + 600
    (share,) = of(found, "lanewatch_alarm_moved", signal="refusal", bin="yes", share="found")
    assert 0.05 < share < 0.5
    assert list(of(found, "lanewatch_false_alarm_budget_per_30d")) == [1]
    assert sum(of(found, "lanewatch_series_false_alarm_budget_per_30d")) == pytest.approx(1)
    assert sum(of(found, "lanewatch_detector_false_alarm_budget_per_30d")) <= 1


def test_every_value_is_a_number_and_bins_add_up_to_what_was_expected(reference: Reference) -> None:
    """Prometheus would take NaN, and every rule on it would be silent."""
    found = samples(seen(reference, Habits(embedding=8)))

    assert all(math.isfinite(value) for value in found.values())
    for signal in ("tool", "latency", "query_text_words"):
        observed = sum(of(found, "lanewatch_bin_total", signal=signal))
        assert observed > 1000
        assert sum(of(found, "lanewatch_bin_expected_total", signal=signal)) == pytest.approx(observed)
        assert list(of(found, "lanewatch_observations_total", signal=signal, kind="weighted")) == [observed]
        assert list(of(found, "lanewatch_drift_psi", signal=signal, window="1h"))
    assert list(of(found, "lanewatch_bin_total", signal="refusal")) == []
    (trials,) = of(found, "lanewatch_trials_total", signal="refusal")
    assert trials > 1000
    assert list(of(found, "lanewatch_sampling_unknown_total")) == [1200]
    assert len(list(of(found, "lanewatch_drift_psi", signal="query_embedding"))) == 2


def test_what_gave_no_observation_is_counted_by_why(reference: Reference) -> None:
    """A trace without a retrieval has none to give; one whose answers are hidden can't."""
    monitor = DriftMonitor(reference)
    for facts in traces(random.Random(3), 100, 6 * DAY, 1.0, Habits()):
        bare = msgspec.structs.replace(facts.record, retrievals=())
        hidden = facts.complete - {"responses"}
        monitor.observe(msgspec.structs.replace(facts, record=bare, documents=(), complete=hidden, verdict=None))
    found = samples(watching_view(DriftView(Phase.LEARNING), monitor))
    missed = "lanewatch_drift_not_observed_total"

    assert list(of(found, missed, signal="contexts", reason="absent")) == [100]
    assert list(of(found, missed, signal="contexts", reason="incomplete")) == [0]
    assert list(of(found, missed, signal="refusal", reason="incomplete")) == [100]
    assert sum(of(found, missed, signal="latency")) == 0


def test_names_that_labels_can_not_tell_apart_stay_apart(reference: Reference) -> None:
    """Two services whose names differ beyond what a label shows: a page with a series twice would be refused whole."""
    view = watching_view(DriftView(Phase.LEARNING), DriftMonitor(reference))
    names = ("shop\n", "x" * 200, "x" * 201, "\ud800")
    readings = tuple(msgspec.structs.replace(r, service=name) for name in names for r in view.readings)
    strange = tuple(
        msgspec.structs.replace(r, bins=tuple("\n" for _ in r.bins)) if r.bins and r.signal == "tool" else r
        for r in readings
    )
    counted = {(name, signal): counts for name in names for (_, signal), counts in view.counted.items()}
    found = samples(msgspec.structs.replace(view, readings=strange, counted=counted))

    services = {dict(labels)["service"] for name, labels in found if name == "lanewatch_alarm"}
    assert services == {"shop\\n", "x" * 120, "x" * 120 + " #2", "\\ud800"}


def test_learning_and_a_missing_reference_are_pages_too() -> None:
    """What can't be watched says so."""
    learning = samples(DriftView(Phase.LEARNING, learning=Learning(300, 600, 0.0, 100.0)))
    lost = samples(DriftView(Phase.NO_REFERENCE, "missing"))

    assert list(of(learning, "lanewatch_drift_learning_ratio", part="fit")) == [0.5]
    assert list(of(lost, "lanewatch_drift_phase", phase="no_reference")) == [1]
    assert list(of(lost, "lanewatch_alarm")) == []


def test_every_row_is_of_a_declared_metric_and_has_its_labels(reference: Reference) -> None:
    """The table in docs/metrics.md is all there is."""
    declared = {metric.name: metric.labels for metric in DRIFT_METRICS}
    rows = list(drift_rows(seen(reference, Habits(refusals=0.2, tools=(0.1, 0.1, 0.8), embedding=8))))

    assert len(declared) == len(DRIFT_METRICS)
    assert all(len(labels) == len(declared[name]) for name, labels, _ in rows)
    unused = set(declared) - {name for name, _, _ in rows}
    assert unused == {
        "lanewatch_drift_embeddings",  # where a local model embeds
        "lanewatch_drift_held_back",
        "lanewatch_drift_learning_ratio",
        "lanewatch_drift_state_written_timestamp_seconds",
    }


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed: apt-get install prometheus")
def test_promtool_finds_nothing_to_complain_of(reference: Reference) -> None:
    """Names, units and help as Prometheus wants them."""
    page = scraped(seen(reference, Habits(refusals=0.2, embedding=8), 400))
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")
