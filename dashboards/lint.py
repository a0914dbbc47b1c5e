"""Rules that every dashboard keeps: those of Grafana's dashboard-linter, and this project's own.

    python -m dashboards.lint FILE...

The linter's rules are those of github.com/grafana/dashboard-linter (lint/rules.go, as of June 2026); LINTER says which function
here holds each, and where that one asks for something else, why.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import VariableRefresh

from dashboards.declared import declared
from dashboards.frame import WIDTH
from dashboards.lanes import lanes
from dashboards.queries import panels, targets

Document = Mapping[str, Any]
UNITS = frozenset(value for name, value in vars(units).items() if isinstance(value, str) and not name.startswith("_"))
CHECKED = frozenset({"stat", "gauge", "table", "timeseries", "bargauge", "barchart", "heatmap"})
RATES = re.compile(r"\b(rate|irate)\(")
TEXT = re.compile(r'"[^"]*"')
WINDOW = re.compile(r"\[([^\]]*)\]")
COUNTER = re.compile(r"\blanewatch_\w+_total\b(?:\{[^}]*\})?+(?!\s*\[)")
GLOBAL = frozenset({"__range", "__range_s", "__interval", "__rate_interval", "__rate_interval_ms"})
REPLICAS_DASHBOARD = "lanewatch-sidecar"
LEAST_UID, MOST_UID = 8, 40  # characters, as Grafana takes them


def template_datasource_rule(page: Document) -> Iterator[str]:
    """One variable for the data source, named and labelled as the linter has it."""
    sources = [variable for variable in _variables(page) if variable["type"] == "datasource"]
    if [(one["name"], one.get("label"), one["query"]) for one in sources] != [
        ("datasource", "Data source", "prometheus")
    ]:
        yield f"has {len(sources)} data source variables; one is wanted: datasource, labelled Data source, of prometheus"


def template_job_and_instance_rule(page: Document) -> Iterator[str]:
    """Sidecar: variables job and instance; all others: a variable service. From the templated data source, several at once."""
    names = {variable["name"]: variable for variable in _variables(page)}
    for name in ("job", "instance") if page["uid"] == REPLICAS_DASHBOARD else ("service",):
        variable = names.get(name)
        if variable is None or variable["type"] != "query":
            yield f"is missing the variable {name}"
            continue
        if variable.get("label") != name.capitalize():
            yield f"variable {name} should be labelled {name.capitalize()}"
        if variable["multi"] and variable.get("allValue") != ".+":
            yield f"variable {name} should have the allValue .+"


def template_queries_rule(page: Document) -> Iterator[str]:
    """Query variables ask the templated data source, again when the time changes, for the values of a label."""
    for variable in _variables(page):
        if variable["type"] != "query":
            continue
        if variable["datasource"].get("uid") != "${datasource}":
            yield f"variable {variable['name']} asks another data source"
        if variable["refresh"] != VariableRefresh.ON_TIME_RANGE_CHANGED:
            yield f"variable {variable['name']} is not refreshed when the time range changes"
        if not re.fullmatch(r"label_values\(lanewatch[\w:]*(\{.*\})?, \w+\)", variable["query"]["query"]):
            yield f"variable {variable['name']} has a query that is no label_values(METRIC, LABEL)"


def uneditable_rule(page: Document) -> Iterator[str]:
    """It is built by code, so nobody edits it in Grafana; its uid is fixed, and it has no number of one Grafana."""
    if page["editable"]:
        yield "is editable"
    if page.get("id") is not None:
        yield "has a numeric id"
    if not LEAST_UID <= len(page["uid"]) <= MOST_UID:
        yield "has a uid that Grafana does not take"


def panel_ids_rule(page: Document) -> Iterator[str]:
    """Each panel has an id of its own, and a place of its own within the grid."""
    every = [*page["panels"], *(panel for row in page["panels"] for panel in row.get("panels") or ())]
    for number, times in Counter(panel["id"] for panel in every).items():
        if times > 1:
            yield f"has the panel id {number} {times} times"
    taken: Counter[tuple[int, int]] = Counter()
    for panel in page["panels"]:
        place = panel["gridPos"]
        cells = [
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        if any(taken[cell] or cell[0] >= WIDTH for cell in cells):
            yield f"panel {panel['title']!r} lies upon another, or beside the grid"
        taken.update(cells)


def panel_datasource_rule(page: Document) -> Iterator[str]:
    """Panels and their targets ask the templated data source."""
    for panel in panels(page):
        asked = [panel.get("datasource"), *(target.get("datasource") for target in panel["targets"])]
        if any((one or {}).get("uid") != "${datasource}" for one in asked):
            yield f"panel {panel['title']!r} does not use the templated data source"


def panel_title_description_rule(page: Document) -> Iterator[str]:
    """Each panel says what it is, in a title that no other one has, and what it means."""
    headings = [(row, panel["title"]) for row, panel in _with_rows(page)]
    yield from (
        f"has {times} panels {title!r} in one row" for (_, title), times in Counter(headings).items() if times > 1
    )
    for panel in panels(page):
        if not panel.get("title") or len(panel.get("description", "")) < len("A minute."):
            yield f"panel {panel.get('title')!r} lacks a title or a description"


def panel_units_rule(page: Document) -> Iterator[str]:
    """Each panel's values have a unit that Grafana knows."""
    for panel in panels(page):
        if panel["type"] in CHECKED and panel["fieldConfig"]["defaults"].get("unit") not in UNITS:
            yield f"panel {panel['title']!r} has no unit, or one that Grafana does not know"


def panel_no_targets_rule(page: Document) -> Iterator[str]:
    """Each panel asks something, by refs of its own, and no target asks nothing."""
    for panel in panels(page):
        refs = [target["refId"] for target in panel.get("targets", ())]
        if not refs or len(set(refs)) < len(refs) or any(not target["expr"] for target in panel["targets"]):
            yield f"panel {panel['title']!r} has no targets, empty ones, or two of one ref"


def target_rate_interval_rule(page: Document) -> Iterator[str]:
    """rate() and irate() look back $__rate_interval; what increase() and offset look back is a variable of Grafana's too."""
    for target in targets(page):
        expr = TEXT.sub('""', target.expr)
        for found in RATES.finditer(expr):
            window = WINDOW.search(expr, found.end())
            if window is None or window[1] != "$__rate_interval":
                yield f"{target.name}: {found[1]} should look back $__rate_interval"
        if any(not window.startswith("$__") for window in WINDOW.findall(expr)):
            yield f"{target.name}: a window of a fixed length"


def target_counter_agg_rule(page: Document) -> Iterator[str]:
    """A counter is asked for its growth, but for series that were not there before: their whole count has grown."""
    for target in targets(page):
        for found in COUNTER.finditer(target.expr):
            rest = target.expr[found.end() :]
            if not rest.startswith((" unless ", " offset $__")):
                yield f"{target.name}: {found[0]} without rate, irate or increase"


def target_matchers_rule(page: Document) -> Iterator[str]:
    """Sidecar: every selector matches job and instance; all others: those of a lane match the service, and those that have it
    the tool, if the dashboard has such a variable.
    """
    names, labels = {variable["name"] for variable in _variables(page)}, declared()
    wanted = ("job", "instance") if page["uid"] == REPLICAS_DASHBOARD else ("service", "tool")
    for target in targets(page):
        for metric, matchers in target.selectors():
            values = {label: value for label, _, value in matchers}
            for label in wanted:
                if (
                    label in names
                    and label in labels.get(metric, ())
                    and values.get(label) not in (f"${label}", f"|${label}")
                ):
                    yield f"{target.name}: {metric} without a matcher of ${label}"


def variables_rule(page: Document) -> Iterator[str]:
    """Every variable that is named exists, and every one that exists is named."""
    names = {variable["name"] for variable in _variables(page)}
    text = json.dumps({key: value for key, value in page.items() if key != "templating"}) + json.dumps(
        [variable.get("query") for variable in _variables(page)]
    )
    used = {found[0] or found[1] for found in re.findall(r"\$\{(\w+)\}|\$(\w+)", text)}
    yield from (f"names a variable ${name} that it does not have" for name in sorted(used - names - GLOBAL))
    yield from (f"has a variable ${name} that nothing uses" for name in sorted(names - used))


def target_metrics_rule(page: Document) -> Iterator[str]:
    """Every series that is asked for is one that the code or a rule declares, and so is every label that is matched."""
    labels = declared()
    for target in targets(page):
        for metric, matchers in target.selectors():
            if metric not in labels:
                yield f"{target.name}: nothing exports or records {metric}"
                continue
            unknown = {label for label, _, _ in matchers} - labels[metric] - {"alertstate"}
            yield from (f"{target.name}: {metric} has no label {label}" for label in sorted(unknown))


def one_lane_rule(page: Document) -> Iterator[str]:
    """No expression is of two lanes."""
    for target in targets(page):
        try:
            found = lanes(target)
        except LookupError as error:
            yield f"{target.name}: {error.args[0]}"
            continue
        if len(found) > 1:
            yield f"{target.name}: an expression across the lanes {', '.join(sorted(found))}"


def links_rule(page: Document) -> Iterator[str]:
    """It links to the other dashboards and to the runbook, and every link goes there or to one of its sections."""
    kinds = {link["type"] for link in page["links"]}
    if kinds != {"dashboards", "link"}:
        yield "does not link to the other dashboards and to the runbook"
    for panel in panels(page):
        for link in panel.get("links", ()):
            if not re.fullmatch(r"\$\{runbook\}#lanewatch[a-z]+", link["url"]):
                yield f"panel {panel['title']!r} links to {link['url']}"


# The linter's rules, by their names: what holds them here.
LINTER: Mapping[str, str] = {
    "template-datasource-rule": "template_datasource_rule",
    "template-job-rule": "template_job_and_instance_rule",
    "template-instance-rule": "template_job_and_instance_rule",
    "template-label-promql-rule": "template_queries_rule",
    "template-on-time-change-reload-rule": "template_queries_rule",
    "panel-datasource-rule": "panel_datasource_rule",
    "panel-title-description-rule": "panel_title_description_rule",
    "panel-units-rule": "panel_units_rule",
    "panel-no-targets-rule": "panel_no_targets_rule",
    "target-rate-interval-rule": "target_rate_interval_rule",
    "target-job-rule": "target_matchers_rule",
    "target-instance-rule": "target_matchers_rule",
    "target-counter-agg-rule": "target_counter_agg_rule",
    "uneditable-dashboard": "uneditable_rule",
}
# And those that no function here holds, or only in part.
ELSEWHERE: Mapping[str, str] = {
    "template-job-rule, template-instance-rule, target-job-rule, target-instance-rule": (
        "held for Sidecar. What a service does is counted over all replicas, and the recorded rates have no job and no instance: "
        "the other dashboards have a variable and a matcher of the service in their place."
    ),
    "target-promql-rule": "promtool reads every expression (tests/dashboards), and a real Prometheus answers it (tests/system).",
    "target-logql-rule, target-logql-auto-rule": "of Loki; every target asks Prometheus.",
}

RULES: tuple[Callable[[Document], Iterator[str]], ...] = (
    template_datasource_rule,
    template_job_and_instance_rule,
    template_queries_rule,
    uneditable_rule,
    panel_ids_rule,
    panel_datasource_rule,
    panel_title_description_rule,
    panel_units_rule,
    panel_no_targets_rule,
    target_rate_interval_rule,
    target_counter_agg_rule,
    target_matchers_rule,
    target_metrics_rule,
    variables_rule,
    one_lane_rule,
    links_rule,
)


def linted(page: Document) -> list[str]:
    """What a dashboard does not keep, each with its rule."""
    return [f"{rule.__name__}: {told}" for rule in RULES for told in rule(page)]


def main(paths: list[str]) -> int:
    """Status 1 where a file breaks a rule."""
    broken = 0
    for path in paths:
        for told in linted(json.loads(Path(path).read_text())):
            broken += 1
            sys.stderr.write(f"{path}: {told}\n")
    return int(bool(broken))


def _variables(page: Document) -> list[Any]:
    found: list[Any] = page["templating"]["list"]
    return found


def _with_rows(page: Document) -> Iterator[tuple[str, Mapping[str, Any]]]:
    row = ""
    for panel in page["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
            yield from ((row, one) for one in panel.get("panels") or ())
        else:
            yield row, panel


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
