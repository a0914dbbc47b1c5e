"""Lanes are never blended: no expression of a rule or dashboard, and no line of code, adds or averages across lanes."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contracts.source_tree import ROOT

# Metrics that have a lane, and those that a rate of more than one lane is made of.
LANED = re.compile(
    r"lanewatch_(?:lane_status|handoffs|policy_checks|policy_violations)(?:_total)?|lanewatch:(?:rate|score)_[\w:]+"
    r"|lanewatch_score(?:_\w+)?"
)
SUMS = re.compile(r"\b(?:sum|avg|min|max|count|stddev|quantile|topk|bottomk)\b\s*(?:(by|without)\s*\(([^)]*)\))?\s*\(")
ONE_LANE = re.compile(r"\b(?:lane|rate)\s*=\s*\"[^\"]+\"")
LANES = {"Lane", "lanes", "lane"}


def blends(expression: str) -> bool:
    """Whether an expression aggregates series that have a lane, without naming one lane or keeping lanes apart."""
    for found in SUMS.finditer(expression):
        inner = _within(expression, found.end())
        after = re.match(r"\s*(by|without)\s*\(([^)]*)\)", expression[found.end() + len(inner) + 1 :])
        how, labels = (found[1], found[2]) if found[1] else (after[1], after[2]) if after else ("by", "")
        names = {label.strip() for label in labels.split(",")}
        # A rate, a policy and a judge's metric are each of one lane.
        apart = bool(names & {"lane", "rate", "policy", "metric"}) if how == "by" else not names & {"lane", "rate"}
        for series in re.finditer(rf"(?:{LANED.pattern})\b(\{{[^}}]*\}})?", inner):
            if not apart and not ONE_LANE.search(series[1] or ""):
                return True
    return False


def _within(text: str, start: int) -> str:
    """What stands up to the parenthesis that closes the one before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return text[start:place]
    return text[start:]


def expressions() -> Iterator[tuple[str, str]]:
    """(file, expression) of every rule and panel."""
    for path in sorted((ROOT / "deploy").rglob("*.yml")) + sorted((ROOT / "deploy").rglob("*.yaml")):
        text = path.read_text()
        for found in re.finditer(r"^( *)(?:- )?expr:[ ]*(?:[>|][+-]?\n((?:\1 +.*\n|\n)+)|(.+))", text, re.MULTILINE):
            yield path.name, found[2] or found[3]
    for path in sorted((ROOT / "dashboards").rglob("*.json")):
        yield from ((path.name, expression) for expression in _panels(json.loads(path.read_text())))


def _panels(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (item for key, item in value.items() if key == "expr" and isinstance(item, str))
        for item in value.values():
            yield from _panels(item)
    elif isinstance(value, list):
        for item in value:
            yield from _panels(item)


def sums_over_lanes(source: str) -> list[int]:
    """Lines on which code adds up or averages something that it takes lane by lane."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func
        called = name.id if isinstance(name, ast.Name) else name.attr if isinstance(name, ast.Attribute) else ""
        if called not in {"sum", "fsum", "mean", "fmean", "average", "median", "prod"}:
            continue
        loops = [
            one
            for part in ast.walk(node)
            if isinstance(part, ast.GeneratorExp | ast.ListComp)
            for one in part.generators
        ]
        over = [part for loop in loops for part in ast.walk(loop.iter)]
        if any(getattr(part, "id", getattr(part, "attr", "")) in LANES for part in over):
            found.append(node.lineno)
    return found


def test_no_expression_adds_up_lanes() -> None:
    """Rules and dashboards."""
    assert [(name, one) for name, one in expressions() if blends(one)] == []


def test_the_expressions_are_found() -> None:
    """A walk over nothing would prove nothing."""
    found = [expression for _, expression in expressions()]

    assert len(found) >= 30
    assert sum(bool(LANED.search(one)) for one in found) >= 5


def test_no_code_adds_up_lanes() -> None:
    """Metrics, report, replay and every other module."""
    sources = [
        path for root in ("collector", "adapters", "monitors", "dashboards") for path in (ROOT / root).rglob("*.py")
    ]
    found = {str(path.relative_to(ROOT)): lines for path in sources if (lines := sums_over_lanes(path.read_text()))}

    assert len(sources) > 200
    assert found == {}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("sum(lanewatch_lane_status_total)", True),
        ('sum by (service) (rate(lanewatch_lane_status_total{status="pass"}[1h]))', True),
        ('avg(rate(lanewatch_lane_status_total{status="pass"}[1h])) by (service)', True),
        ("sum without (lane) (lanewatch_handoffs_total)", True),
        ('sum by (service) (lanewatch_lane_status_total{lane="tools"}) + sum(lanewatch_handoffs_total)', True),
        ("sum without (instance) (lanewatch_handoffs_total)", False),
        ("sum by (service, lane) (rate(lanewatch_lane_status_total[1h]))", False),
        ("sum(rate(lanewatch_lane_status_total[1h])) by (lane)", False),
        ('sum by (service) (rate(lanewatch_lane_status_total{lane="tools"}[1h]))', False),
        ("sum(lanewatch_traces_open)", False),
        ("sum by (service) (lanewatch_score_weighted_sum_total)", True),
        ("sum by (service, metric) (lanewatch_score_weighted_sum_total)", False),
    ],
)
def test_a_blend_is_told_from_lanes_that_stay_apart(expression: str, expected: bool) -> None:
    """The walk can fail."""
    assert blends(expression) is expected


def test_a_sum_over_lanes_in_code_is_told() -> None:
    """As a loop over all lanes, or over the verdicts of a trace."""
    assert sums_over_lanes("x = sum(score[lane] for lane in Lane)\ny = mean([v.n for v in seen.lanes.values()])") == [
        1,
        2,
    ]
    assert sums_over_lanes("x = sum(n for n in counts)") == []
