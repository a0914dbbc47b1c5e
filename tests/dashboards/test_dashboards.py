"""The dashboards: what is committed is what the code builds, links to what there is, and PromQL that can be evaluated."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from dashboards.build import DASHBOARDS, FOLDER, main, text_of
from dashboards.lint import linted
from dashboards.queries import Span, Target, filled, panels, targets
from tests.dashboards.pages import EVERY, PAGES, PROVISIONING
from tests.deploy.rule_files import ALERTS
from tests.deploy.rule_files import FOLDER as RULES

TARGETS = [target for page in PAGES.values() for target in targets(page)]
SPAN = Span(length=3600, step=15, scrape=15)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_what_the_code_builds(name: str) -> None:
    """`make dashboards` writes it anew."""
    assert (FOLDER / f"{name}.json").read_text() == text_of(name)


def test_every_file_is_a_dashboard() -> None:
    """One that is no longer built would stay in Grafana for good."""
    assert {path.stem for path in FOLDER.iterdir()} == set(DASHBOARDS)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_keeps_every_rule(name: str) -> None:
    """Those of dashboard-linter and the project's own; tests/dashboards/test_lint.py breaks each of them."""
    assert linted(PAGES[name]) == []


def test_there_are_five_and_each_has_an_address_of_its_own() -> None:
    """The uid is what a link names; two of one uid overwrite each other."""
    assert {page["title"]: page["uid"] for page in PAGES.values()} == {
        "Lanewatch / Overview": "lanewatch-overview",
        "Lanewatch / Divergence": "lanewatch-divergence",
        "Lanewatch / Retrieval and generation": "lanewatch-retrieval-generation",
        "Lanewatch / Drift": "lanewatch-drift",
        "Lanewatch / Sidecar": "lanewatch-sidecar",
    }


def test_a_link_to_the_runbook_goes_to_a_section() -> None:
    """Of an alert that there is, by the anchor that a Markdown heading gets."""
    runbook = {f"#{line.removeprefix('## ').lower()}" for line in (RULES / "runbook.md").read_text().splitlines()}
    linked = {link["url"] for page in PAGES.values() for panel in panels(page) for link in panel.get("links", ())}

    assert {url.removeprefix("${runbook}") for url in linked} <= runbook


def test_every_alert_has_a_panel_that_shows_what_it_goes_by() -> None:
    """Whoever is called finds the curve from the dashboard, and the runbook from the curve."""
    linked = {link["url"] for page in PAGES.values() for panel in panels(page) for link in panel.get("links", ())}

    assert {alert.name for alert in ALERTS if f"${{runbook}}#{alert.name.lower()}" not in linked} == set()


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool: apt-get install prometheus")
def test_every_expression_is_promql(tmp_path: Path) -> None:
    """Promtool reads each as a rule, with Grafana's variables filled in."""
    names = {variable["name"] for page in PAGES.values() for variable in page["templating"]["list"]}
    values = {**dict.fromkeys(names, EVERY), **SPAN.variables()}
    rules = [{"record": f"target:{number}", "expr": filled(one.expr, values)} for number, one in enumerate(TARGETS)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", "rules.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert len(rules) > 100
    assert done.returncode == 0, done.stderr


def test_what_counts_divergences_has_exemplars() -> None:
    """On every curve of them in Divergence, so that a trace is one click away; on nothing that is no curve."""
    curves = [one for one in TARGETS if one.kind == "timeseries" and one.dashboard.endswith("Divergence")]
    counting = [
        one for one in curves if re.search(r"lanewatch_(artifact_)?divergences_total|_violations_total", one.expr)
    ]

    assert len(counting) == 4
    assert all(one.exemplar for one in counting)
    assert {one.kind for one in TARGETS if one.exemplar} == {"timeseries"}


def test_a_first_event_is_counted_where_events_are_few() -> None:
    """increase() alone misses the count that a series is born with; these series are born with their first event."""
    born = re.compile(r"lanewatch_(divergences|artifact_divergences|tool_\w+es|schema_violations|handoffs)_total\b")

    assert [one.name for one in TARGETS if born.search(one.expr) and " unless " not in one.expr] == []


def test_the_links_go_where_one_says(tmp_path: Path) -> None:
    """`--runbook` puts another address in, `--check` finds a file that differs."""
    assert main(["--to", str(tmp_path), "--runbook", "https://docs.example/runbook.md"]) == 0
    assert main(["--to", str(tmp_path), "--runbook", "https://docs.example/runbook.md", "--check"]) == 0
    assert main(["--to", str(tmp_path), "--check"]) == 1
    page = json.loads((tmp_path / "drift.json").read_text())

    assert [one["query"] for one in page["templating"]["list"] if one["name"] == "runbook"] == [
        "https://docs.example/runbook.md"
    ]


def test_grafana_fills_in_as_here() -> None:
    """Names in braces and without; $__rate_interval is four scrapes at least; what has no value is an error."""
    values = {"service": "shop", **Span(length=600, step=60, scrape=15).variables()}

    assert filled('x{a=~"$service"}[$__rate_interval] ${service}', values) == 'x{a=~"shop"}[75s] shop'
    assert Span(length=600, step=5, scrape=15).variables()["__rate_interval"] == "60s"
    with pytest.raises(KeyError):
        filled("$tool", values)


def test_selectors_are_found() -> None:
    """With matchers and without; names of functions are none."""
    target = Target("d", "p", "A", 'sum(rate(lanewatch_a_total{x="1", y=~"2"}[5m])) + up', "stat", "", True, False)

    assert target.selectors() == [("lanewatch_a_total", (("x", "=", "1"), ("y", "=~", "2"))), ("up", ())]


def test_grafana_is_told_of_the_data_source_and_of_the_dashboards() -> None:
    """By provisioning: one Prometheus whose exemplars lead to traces, and a folder that nobody changes in the browser."""
    (source,) = yaml.safe_load((PROVISIONING / "datasources" / "lanewatch.yml").read_text())["datasources"]
    (provider,) = yaml.safe_load((PROVISIONING / "dashboards" / "lanewatch.yml").read_text())["providers"]
    scrape = yaml.safe_load((RULES / "prometheus.yml").read_text())["global"]["scrape_interval"]

    assert (source["type"], source["jsonData"]["timeInterval"]) == ("prometheus", scrape)
    assert [one["name"] for one in source["jsonData"]["exemplarTraceIdDestinations"]] == ["trace_id"]
    assert (provider["type"], provider["allowUiUpdates"], provider["disableDeletion"]) == ("file", False, True)
