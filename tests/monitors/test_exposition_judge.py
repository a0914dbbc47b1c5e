"""The judge's metrics as Prometheus reads them: all there from the start, valid, adding up, and nothing that is not known."""

import shutil
import subprocess

import pytest
from lanewatch.monitors.exposition import Exposition
from lanewatch.monitors.judge.figures import FIGURES, JUDGE_METRICS, Figures, Kind
from lanewatch.monitors.judge.ledger import Ledger
from lanewatch.monitors.judge.results import REASONS, EvaluationOutcome, Result
from lanewatch.monitors.judge.samples import Job, Sample
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

METRICS = ("context_relevance", "number_support")
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Page:
    """A sidecar's page with a judge."""

    def __init__(self) -> None:
        self.ledger, self.figures = Ledger(METRICS), Figures(METRICS)
        self.exposition = Exposition(max_services=3, max_tools=3)
        self.exposition.watch_judge(self.ledger, self.figures)

    def score(self, value: float, weight: float = 1.0, metric: str = "number_support") -> None:
        """One more score of a trace."""
        self.ledger.open("shop")
        self.ledger.discover("shop", dict.fromkeys(METRICS, weight), dict.fromkeys(METRICS))
        job = Job(metric, Sample("abc", 0, "shop", 0), weight)
        self.ledger.finish(job, Result(EvaluationOutcome.SCORED, value=value))

    def text(self) -> str:
        """As Prometheus scrapes it without OpenMetrics."""
        return self.exposition.text(openmetrics=False).decode()

    def samples(self) -> Samples:
        """Every sample, none of which may be there twice."""
        families = text_string_to_metric_families(self.text())
        found = [((s.name, tuple(sorted(s.labels.items()))), s.value) for family in families for s in family.samples]
        assert len(dict(found)) == len(found)
        return dict(found)

    def value(self, name: str, **labels: str) -> float:
        """Of one series."""
        (found,) = (
            value
            for (metric, have), value in self.samples().items()
            if metric == name and set(labels.items()) <= set(have)
        )
        return found


def test_every_family_is_there_from_the_start() -> None:
    """Also those that have no series yet."""
    text = Page().text()

    assert [one.name for one in JUDGE_METRICS if f"# TYPE {one.name}" not in text] == []


def test_every_outcome_and_reason_is_there_from_the_start() -> None:
    """Increase() takes a counter that is born with a value for none."""
    page = Page()
    told = {have for (name, have), value in page.samples().items() if name == "lanewatch_evaluations_total"}

    assert len(told) == len(METRICS) * sum(map(len, REASONS.values()))
    assert set(page.samples().values()) == {0.0}


def test_discovered_is_the_sum_of_the_outcomes_and_what_waits() -> None:
    """As anybody can check on the page."""
    page = Page()
    page.ledger.leave_out()
    page.score(0.5)
    of = [(name, dict(labels), value) for (name, labels), value in page.samples().items() if "evaluations" in name]
    for metric in METRICS:
        mine = [(name, value) for name, labels, value in of if labels["metric"] == metric]
        discovered = sum(value for name, value in mine if name == "lanewatch_evaluations_discovered_total")

        assert discovered == 2 == sum(value for name, value in mine) - discovered


def test_a_score_is_in_its_bucket_and_in_all_sums() -> None:
    """By service, lane, metric and evaluator."""
    page = Page()
    page.score(0.75, 4.0)
    labels = {"service": "shop", "lane": "generation", "metric": "number_support", "evaluator": "support"}

    assert page.value("lanewatch_score_bucket", le="0.8", **labels) == 1
    assert page.value("lanewatch_score_bucket", le="0.7", **labels) == 0
    assert page.value("lanewatch_score_count", **labels) == 1
    assert page.value("lanewatch_score_sum", **labels) == 0.75
    assert page.value("lanewatch_score_missing_weight_total", **labels) == 0
    assert page.value("lanewatch_score_waiting_weight", **labels) == 0
    sums = ("weight", "weighted_sum", "weighted_squares", "weight_squares", "weight_squares_values",
            "weight_squares_squares")  # fmt: skip
    assert [page.value(f"lanewatch_score_{name}_total", **labels) for name in sums] == [4, 3, 2.25, 16, 12, 9]


def test_what_waits_stands_with_its_weight_beside_the_scores() -> None:
    """Of each metric by itself: a mean tells nothing of it."""
    page = Page()
    page.score(0.75, 4.0)

    assert page.value("lanewatch_score_waiting_weight", metric="context_relevance") == 4
    assert page.value("lanewatch_score_waiting_weight", metric="number_support") == 0


def test_a_score_points_to_its_trace() -> None:
    """By an exemplar, which is no label."""
    page = Page()
    page.score(0.75)
    families = openmetrics(page.exposition.text(openmetrics=True).decode())  # type: ignore[no-untyped-call]
    told = [s.exemplar for family in families for s in family.samples if s.exemplar is not None]

    assert [(one.labels, one.value) for one in told] == [({"trace_id": "abc"}, 0.75)]


def test_two_lanes_are_two_series() -> None:
    """Of the same trace."""
    page = Page()
    page.score(0.75)
    page.score(0.25, metric="context_relevance")

    assert page.value("lanewatch_score_sum", lane="generation") == 0.75
    assert page.value("lanewatch_score_sum", lane="retrieval") == 0.25


def test_what_is_not_known_is_absent() -> None:
    """A judge that was never tried has not stood still."""
    page = Page()
    before = [name for name, _ in page.samples() if name == "lanewatch_judge_drift"]
    page.figures.put("lanewatch_judge_drift", 0, ("number_support",))
    told = page.value("lanewatch_judge_drift")
    page.figures.drop("lanewatch_judge_drift", ("number_support",))
    page.figures.put("lanewatch_judge_canary_shift", float("nan"), ("number_support",))

    assert (before, told) == ([], 0)
    assert not [name for name, _ in page.samples() if "drift" in name or "shift" in name]


def test_figures_count_on_and_stand() -> None:
    """Counters, gauges and histograms."""
    page = Page()
    page.figures.add("lanewatch_judge_calls", ("faithfulness", "ok"), 2)
    page.figures.add("lanewatch_judge_calls", ("faithfulness", "ok"))
    page.figures.observe("lanewatch_judge_call_seconds", 2.0, ("ragas",))

    assert page.value("lanewatch_judge_calls_total", metric="faithfulness", outcome="ok") == 3
    assert page.value("lanewatch_judge_call_seconds_bucket", le="2.5") == 1
    assert page.value("lanewatch_judge_call_seconds_bucket", le="1.0") == 0
    assert page.value("lanewatch_judge_cost_dollars_total", metric="number_support") == 0


@pytest.mark.parametrize(
    ("name", "labels"), [("lanewatch_judge_calls", ("faithfulness",)), ("lanewatch_judge_worker_up", ())]
)
def test_figures_that_do_not_fit_are_refused(name: str, labels: tuple[str, ...]) -> None:
    """A series under the wrong labels would be scraped for ever."""
    with pytest.raises(ValueError, match="is a"):
        Figures(METRICS).add(name, labels)


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool: apt-get install prometheus")
def test_promtool_finds_nothing_to_say() -> None:
    """Names, units, help."""
    page = Page()
    page.score(0.5)
    for one in FIGURES:
        labels = ("x",) * len(one.labels)
        if one.kind is Kind.COUNTER:
            page.figures.add(one.name, labels)
        elif one.kind is Kind.GAUGE:
            page.figures.put(one.name, 1, labels)
        else:
            page.figures.observe(one.name, 1, labels)
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page.text(), capture_output=True, text=True, check=False
    )

    assert done.stdout + done.stderr == ""
