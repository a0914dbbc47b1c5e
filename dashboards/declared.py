"""Which labels each series has, from the declarations of the code and from the recording rules: names in expressions exist."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml
from lanewatch.drifting.watch import COUNTS as DRIFT_COUNTS
from lanewatch.monitors import exposition_rules, exposition_tools
from lanewatch.monitors.drift.metrics import DRIFT_METRICS
from lanewatch.monitors.exposition import FIXED, METRICS
from lanewatch.monitors.judge.figures import JUDGE_METRICS, JudgeMetric, Kind
from lanewatch.parts import COUNTS, GAUGES

RULES = Path(__file__).parent.parent / "deploy" / "prometheus"
SCRAPED = ("job", "instance")  # what Prometheus adds to every series that it scrapes
# Of recorded series, by what their name begins with.
RECORDED_LABELS = {
    "lanewatch:rate_": ("service", "lane", "rate"),
    "lanewatch:score_": ("service", "lane", "metric", "evaluator"),
    "lanewatch:evaluations_": ("metric",),
    "lanewatch:": ("service", "lane", "signal", "ref", "bin"),
}


@cache
def declared() -> Mapping[str, frozenset[str]]:
    """Labels by the name of the series, counters with `_total`."""
    labels: dict[str, tuple[str, ...]] = {f"{one.name}_total": one.labels for one in (*COUNTS, *DRIFT_COUNTS)}
    labels |= {f"{name}_total": of for name, (_, of) in {**METRICS, **FIXED}.items()}
    labels |= dict.fromkeys(GAUGES, ())
    labels |= {exposition_tools.NAME: exposition_tools.LABELS, exposition_rules.NAME: exposition_rules.LABELS}
    labels |= {f"{one.name}_total" if one.counter else one.name: one.labels for one in DRIFT_METRICS}
    for one in JUDGE_METRICS:
        labels |= {name: (*one.labels, "le") if name.endswith("_bucket") else one.labels for name in series_of(one)}
    scraped = {name: frozenset((*of, *SCRAPED)) for name, of in {**labels, "up": ()}.items()}
    return {
        **scraped,
        **{name: _of_recorded(name) for name in recorded()},
        "ALERTS": frozenset({"service", "lane"}),
    }


def series_of(metric: JudgeMetric) -> tuple[str, ...]:
    """The names under which a family is scraped."""
    if metric.kind is Kind.HISTOGRAM:
        return tuple(f"{metric.name}_{part}" for part in ("bucket", "count", "sum"))
    return (f"{metric.name}_total",) if metric.kind is Kind.COUNTER else (metric.name,)


def _of_recorded(name: str) -> frozenset[str]:
    return frozenset(next(labels for begin, labels in RECORDED_LABELS.items() if name.startswith(begin)))


def recorded() -> set[str]:
    """Names that the recording rules give."""
    found = [yaml.safe_load(path.read_text()) for path in sorted(RULES.glob("*.rules.yml"))]
    return {rule["record"] for one in found for group in one["groups"] for rule in group["rules"] if "record" in rule}
