"""The rules that dashboards keep: each is broken once here, since a rule that nothing breaks checks nothing."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dashboards import lint
from dashboards.declared import declared
from dashboards.lanes import BY_LABEL, BY_METRIC, LABELLED, WHOLE, lanes
from dashboards.queries import Target
from tests.dashboards.pages import PAGES

Page = dict[str, Any]


def variable(page: Page, name: str) -> Any:
    """A variable of a page."""
    return next(one for one in page["templating"]["list"] if one["name"] == name)


def panel(page: Page, kind: str = "timeseries") -> Any:
    """The first panel of a kind."""
    return next(one for one in page["panels"] if one["type"] == kind)


def asks(page: Page, expr: str) -> None:
    """Let the first curve ask this instead."""
    panel(page)["targets"] = [{**panel(page)["targets"][0], "expr": expr}]


OTHER_SOURCE = {"uid": "P1809F7CD0C75ACF3"}
TWO_LANES = 'lanewatch:rate_ratio:1h{lane="tools"} + lanewatch:rate_ratio:1h{lane="outcome"}'
BROKEN: list[tuple[Callable[..., Any], Callable[[Page], object]]] = [
    (lint.template_datasource_rule, lambda page: variable(page, "datasource").update(label="Prometheus")),
    (lint.template_datasource_rule, lambda page: page["templating"]["list"].pop(0)),
    (lint.template_job_and_instance_rule, lambda page: variable(page, "service").update(name="application")),
    (lint.template_job_and_instance_rule, lambda page: variable(page, "service").update(allValue=".*")),
    (lint.template_job_and_instance_rule, lambda page: variable(page, "service").update(label="service")),
    (lint.template_queries_rule, lambda page: variable(page, "service").update(refresh=1)),
    (lint.template_queries_rule, lambda page: variable(page, "service").update(datasource=OTHER_SOURCE)),
    (lint.template_queries_rule, lambda page: variable(page, "service")["query"].update(query="lanewatch_alarm")),
    (lint.uneditable_rule, lambda page: page.update(editable=True)),
    (lint.uneditable_rule, lambda page: page.update(id=7)),
    (lint.uneditable_rule, lambda page: page.update(uid="short")),
    (lint.panel_ids_rule, lambda page: panel(page).update(id=1)),
    (lint.panel_ids_rule, lambda page: panel(page)["gridPos"].update(y=0, x=0)),
    (lint.panel_ids_rule, lambda page: panel(page)["gridPos"].update(x=23, w=2, y=900)),
    (lint.panel_datasource_rule, lambda page: panel(page).update(datasource=OTHER_SOURCE)),
    (lint.panel_datasource_rule, lambda page: panel(page)["targets"][0].pop("datasource")),
    (lint.panel_title_description_rule, lambda page: panel(page, "stat").update(description="")),
    (lint.panel_title_description_rule, lambda page: panel(page).update(title="")),
    (lint.panel_units_rule, lambda page: panel(page)["fieldConfig"]["defaults"].pop("unit")),
    (lint.panel_units_rule, lambda page: panel(page)["fieldConfig"]["defaults"].update(unit="percents")),
    (lint.panel_no_targets_rule, lambda page: panel(page).update(targets=[])),
    (lint.panel_no_targets_rule, lambda page: panel(page)["targets"].append(panel(page)["targets"][0])),
    (lint.target_rate_interval_rule, lambda page: asks(page, "rate(lanewatch_requests_total[5m])")),
    (lint.target_rate_interval_rule, lambda page: asks(page, "rate(lanewatch_requests_total[$__interval])")),
    (lint.target_rate_interval_rule, lambda page: asks(page, "increase(lanewatch_requests_total[1h])")),
    (lint.target_counter_agg_rule, lambda page: asks(page, "sum(lanewatch_requests_total)")),
    (lint.target_counter_agg_rule, lambda page: asks(page, 'sum(lanewatch_requests_total{signal="logs"})')),
    (lint.target_matchers_rule, lambda page: asks(page, 'rate(lanewatch_artifacts_total{producer="a"}[$__range])')),
    (lint.target_metrics_rule, lambda page: asks(page, "lanewatch_spans_lost")),
    (lint.target_metrics_rule, lambda page: asks(page, 'lanewatch_traces_open{kind="a"}')),
    (lint.variables_rule, lambda page: asks(page, 'lanewatch_traces_open{instance="$instance"}')),
    (lint.variables_rule, lambda page: page["templating"]["list"].append({"name": "unused", "type": "textbox"})),
    (lint.one_lane_rule, lambda page: asks(page, "lanewatch:rate_ratio:1h")),
    (lint.one_lane_rule, lambda page: asks(page, TWO_LANES)),
    (lint.one_lane_rule, lambda page: asks(page, 'lanewatch:rate_ratio:1h{lane=~"tools|outcome"}')),
    (lint.one_lane_rule, lambda page: asks(page, "lanewatch_something_new")),
    (lint.links_rule, lambda page: page["links"].pop()),
    (lint.links_rule, lambda page: panel(page, "stat")["links"][0].update(url="https://example.com")),
]


@pytest.mark.parametrize(("rule", "breaks"), BROKEN, ids=[f"{n}-{rule.__name__}" for n, (rule, _) in enumerate(BROKEN)])
def test_a_rule_finds_what_breaks_it(rule: Callable[[Page], Any], breaks: Callable[[Page], object]) -> None:
    """And says nothing of the dashboard as it is."""
    page = copy.deepcopy(PAGES["overview"])
    before = list(rule(page))
    breaks(page)

    assert before == []
    assert list(rule(page)) != []


def test_every_rule_is_broken_here() -> None:
    """A rule that is added needs a case above."""
    assert {rule.__name__ for rule in lint.RULES} == {rule.__name__ for rule, _ in BROKEN}


def test_every_rule_of_the_linter_is_held_by_something() -> None:
    """By a rule here, or the reason why not stands beside its name; 17 rules as of June 2026."""
    elsewhere = {name for names in lint.ELSEWHERE for name in names.split(", ")}

    assert set(lint.LINTER.values()) <= {rule.__name__ for rule in lint.RULES}
    assert len(set(lint.LINTER) | elsewhere) == 17


def test_sidecar_is_by_replica() -> None:
    """There the linter's own rules of job and instance hold."""
    page = copy.deepcopy(PAGES["sidecar"])
    asks(page, 'lanewatch_traces_open{job=~"$job"}')

    assert len(list(lint.target_matchers_rule(page))) == 1
    variable(page, "instance").update(name="replica")
    assert len(list(lint.template_job_and_instance_rule(page))) == 1


def test_a_file_that_breaks_a_rule_gives_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `python -m dashboards.lint` says it, a line a finding."""
    (tmp_path / "page.json").write_text(json.dumps({**PAGES["drift"], "editable": True}))

    assert lint.main([str(tmp_path / "page.json")]) == 1
    assert capsys.readouterr().err.endswith("uneditable_rule: is editable\n")


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("lanewatch_traces_open", set()),
        ("sum(lanewatch_divergences_total)", {"tools"}),
        ('lanewatch_evidence_total{record="responses"}', {"generation"}),
        ('lanewatch_responses_total{refusal="abstained"}', {"retrieval"}),
        ('lanewatch_evaluations_total{metric=~"faithfulness|answer_relevancy"}', {"generation"}),
        ('lanewatch_evaluations_total{metric=~"faithfulness|context_relevance"}', {"generation", "retrieval"}),
        ("lanewatch_judge_worker_up", set()),
        ('lanewatch_handoffs_total{lane="outcome"} / lanewatch_tool_requests_total', {"outcome", "tools"}),
    ],
)
def test_the_lane_of_an_expression(expr: str, expected: set[str]) -> None:
    """By its metrics, and by the label that tells it."""
    assert lanes(Target("d", "p", "A", expr, "stat", "", True, False)) == expected


@pytest.mark.parametrize(
    "expr",
    [
        "lanewatch_evidence_total",
        'lanewatch_responses_total{refusal=~"refused|abstained"}',
        "lanewatch_alarm",
        "lanewatch_evaluations_total",
        'lanewatch_evaluations_total{metric=~"$m"}',
    ],
)
def test_an_expression_whose_lane_can_not_be_told_is_an_error(expr: str) -> None:
    """It could be of two."""
    with pytest.raises(LookupError):
        lanes(Target("d", "p", "A", expr, "stat", "", True, False))


def test_the_tables_of_lanes_are_of_series_that_there_are() -> None:
    """A series that was renamed is found here."""
    assert {name for name in {*WHOLE, *LABELLED, *BY_METRIC, *BY_LABEL} if name not in declared()} == set()
