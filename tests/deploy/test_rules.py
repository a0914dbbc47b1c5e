"""The shipped rules and alerts: well formed, tested, explained, of metrics that there are, and each of one lane."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from lanewatch.drifting.watch import COUNTS as DRIFT_COUNTS
from lanewatch.monitors import exposition_tools
from lanewatch.monitors.drift.metrics import DRIFT_METRICS
from lanewatch.monitors.drift.signals import BY_NAME
from lanewatch.monitors.exposition import FIXED, METRICS
from lanewatch.monitors.judge.figures import JUDGE_METRICS
from lanewatch.monitors.rates import RATES, Of, Sample, service_rates
from lanewatch.monitors.verdicts import Lane, Status
from lanewatch.parts import COUNTS, GAUGES

from dashboards.declared import series_of
from tests.contracts.source_tree import ROOT
from tests.deploy.rule_files import ALERTS, FILES, FOLDER, RULES, TESTS, Rule, document

RUNBOOK = (FOLDER / "runbook.md").read_text()
SECTION = ("**Means**", "**Look first**", "**Call**", "**Silence**")
TARGET = {"job", "instance"}
RECORDED = {"service", "lane", "rate", "signal", "ref", "bin", "metric", "evaluator"}
DECLARED: dict[str, set[str]] = {
    "up": set(),
    **{f"{m.name}_total": set(m.labels) for m in (*COUNTS, *DRIFT_COUNTS)},
    **{f"{name}_total": set(labels) for name, (_, labels) in {**METRICS, **FIXED}.items()},
    **{name: set[str]() for name in GAUGES},
    exposition_tools.NAME: set(exposition_tools.LABELS),
    **{f"{m.name}_total" if m.counter else m.name: set(m.labels) for m in DRIFT_METRICS},
    **{name: set(m.labels) for m in JUDGE_METRICS for name in series_of(m)},
}
with_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool: apt-get install prometheus")
with_amtool = pytest.mark.skipif(not shutil.which("amtool"), reason="amtool: apt-get install prometheus-alertmanager")


def tool(*command: str) -> None:
    """Run a checking tool in the folder of the rules; it is to find nothing."""
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def selector(of: Of) -> str:
    """What a rule has to say for a row of the table of rates."""
    matchers = []
    for label, values in of.only.items():
        joined = "|".join(sorted(map(str, values)))
        matchers.append(f'{label}=~"{joined}"' if len(values) > 1 else f'{label}="{joined}"')
    return f"sum by (service) (increase({of.metric}_total{{{', '.join(matchers)}}}[1h]))"


def recorded(what: str, rate: str) -> Rule:
    """The one rule that records a part of a rate."""
    (rule,) = (one for one in RULES if one.name == f"lanewatch:rate_{what}:1h" and one.labels.get("rate") == rate)
    return rule


@with_promtool
def test_the_rules_and_the_configuration_are_well_formed() -> None:
    """Promtool check rules, check config."""
    tool("promtool", "check", "rules", *(path.name for path in FILES))
    tool("promtool", "check", "config", "prometheus.yml")


@with_amtool
def test_the_routes_are_well_formed() -> None:
    """Amtool check-config."""
    tool("amtool", "check-config", "alertmanager.yml")


@with_promtool
@pytest.mark.slow
@pytest.mark.parametrize("name", [path.name for path in TESTS])
def test_the_tests_beside_the_rules_pass(name: str) -> None:
    """Promtool test rules, as an operator would run it."""
    tool("promtool", "test", "rules", name)


def test_the_configuration_loads_every_file_of_rules() -> None:
    """A file that is not named is never evaluated."""
    assert document(FOLDER / "prometheus.yml")["rule_files"] == [path.name for path in FILES]


@pytest.mark.parametrize("row", RATES, ids=lambda row: row.name)
def test_a_rate_is_of_what_the_report_divides(row: object) -> None:
    """The same events, trials and unknown, in the same lane: the table of rates says both."""
    row = next(one for one in RATES if one is row)
    zero = f'or on (service) lanewatch:rate_trials:1h{{rate="{row.name}"}} * 0'
    rules = {what: recorded(what, row.name) for what in ("events", "trials", "unknown")}

    assert {rule.labels["lane"] for rule in rules.values()} == {row.lane}
    assert rules["trials"].expr.split() == selector(row.trials).split()
    assert rules["events"].expr.split() == f"{selector(row.events)} {zero}".split()
    assert rules["unknown"].expr.split() == f"{selector(row.unknown)} {zero}".split()


def test_each_lane_has_its_passes_among_what_it_judged() -> None:
    """As the report has it: what was not judged is in neither."""
    for lane in Lane:
        trials = recorded("trials", f"{lane}_pass")
        events = recorded("events", f"{lane}_pass")
        of = {"lane": frozenset({lane.value}), "status": frozenset({Status.PASS.value, Status.FAIL.value})}

        assert (trials.labels["lane"], events.labels["lane"]) == (lane, lane)
        assert trials.expr == selector(Of("lanewatch_lane_status", of))
        assert f'lane="{lane}", status="pass"' in events.expr


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_says_what_it_is(alert: Rule) -> None:
    """Name, severity, owner, summary, description, and a section of the runbook with all of its parts."""
    section = re.search(rf"^## {alert.name}$(.*?)(?=^#)", RUNBOOK, re.MULTILINE | re.DOTALL)

    assert re.fullmatch(r"Lanewatch[A-Z]\w+", alert.name)
    assert alert.labels["severity"] in {"critical", "warning", "info"}
    assert "owner" in alert.labels or re.search(r"by \([^)]*\bowner\b", alert.expr)
    assert set(alert.annotations) == {"summary", "description", "runbook_url"}
    assert alert.annotations["runbook_url"] == f"deploy/prometheus/runbook.md#{alert.name.lower()}"
    assert section is not None
    assert all(part in section[1] for part in SECTION)


def test_the_runbook_has_no_section_without_an_alert() -> None:
    """What is gone from the rules is gone from there."""
    assert set(re.findall(r"^## (\w+)$", RUNBOOK, re.MULTILINE)) == {alert.name for alert in ALERTS}


def test_the_documented_command_gives_every_link_an_address(tmp_path: Path) -> None:
    """Of alerts and of dashboards, as they lie where they were installed: no path is left that leads nowhere."""
    installed = [*FILES, *(ROOT / "dashboards" / "json").glob("*.json")]
    for path in installed:
        shutil.copy(path, tmp_path)
    (script,) = re.findall(r"^RUNBOOK=\S+\nsed .*$", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE)
    address = script.split()[0].removeprefix("RUNBOOK=")
    for folder in ("/etc/prometheus", "/etc/grafana/dashboards/lanewatch"):
        script = script.replace(f" {folder}/", f" {tmp_path}/")
    subprocess.run(["/bin/sh", "-c", script], check=True, timeout=30)
    texts = [path.read_text() for path in tmp_path.iterdir()]

    assert len(texts) == len(installed)
    assert sum(text.count(address) for text in texts) == len(ALERTS) + 5
    assert re.findall(r"(?<!/)deploy/prometheus/runbook\.md", "".join(texts)) == []


def test_every_alert_fires_in_a_test_and_is_silent_in_three() -> None:
    """By the tests beside the rules; of each alert one fires with all of its labels and annotations."""
    fires: Counter[str] = Counter()
    silent: Counter[str] = Counter()
    for path in TESTS:
        for test in document(path)["tests"]:
            for one in test.get("alert_rule_test", ()):
                firing = one.get("exp_alerts")
                (fires if firing else silent)[one["alertname"]] += 1
                assert all(alert["exp_labels"]["severity"] and alert["exp_annotations"] for alert in firing or ())

    assert {alert.name: fires[alert.name] for alert in ALERTS if fires[alert.name] < 1} == {}
    assert {alert.name: silent[alert.name] for alert in ALERTS if silent[alert.name] < 3} == {}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_names_what_is_exported(rule: Rule) -> None:
    """Every metric is declared or recorded, and has the labels that are selected, summed and matched by."""
    records = {one.name for one in RULES if not one.alert}
    named = [metric for metric, _ in rule.selectors()]
    labels = TARGET.union(*(DECLARED.get(metric, RECORDED) for metric in named))

    assert [metric for metric in named if metric not in DECLARED and metric not in records] == []
    for metric, matchers in rule.selectors():
        assert {label for label, _, _ in matchers} <= DECLARED.get(metric, RECORDED) | TARGET
    for keyword, listed in rule.lists():
        assert listed <= labels | ({"rate"} if "label_replace" in rule.expr else set()), keyword


def has_lane(metric: str) -> bool:
    """Whether a metric's series are told apart by lane."""
    return "lane" in DECLARED.get(metric, RECORDED)


def crossings(rule: Rule) -> list[str]:
    """Where an expression would add or match series of several lanes."""
    found = []
    fixed = {value for _, matchers in rule.selectors() for label, _, value in matchers if label == "lane"}
    of_lanes = any(has_lane(metric) for metric, _ in rule.selectors())
    own_rate = {value for _, matchers in rule.selectors() for label, _, value in matchers if label == "rate"}
    for keyword, listed in rule.lists():
        if keyword in {"ignoring", "without"} and "lane" in listed:
            found.append(keyword)
        # A rate belongs to one lane; a rule that names its own rate stays in it. So does a judge's metric.
        one_lane = len(fixed) == 1 or (own_rate == {rule.labels.get("rate")} and "lane" in rule.labels)
        one_lane = one_lane or "metric" in listed
        if keyword in {"by", "on"} and of_lanes and "lane" not in listed and not one_lane:
            found.append(f"{keyword} ({', '.join(sorted(listed))})")
    aggregations = re.findall(r"\b(?:sum|min|max|avg|count|topk|quantile)\s*\(", rule.expr)
    return found + aggregations


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_no_rule_adds_or_matches_across_lanes(rule: Rule) -> None:
    """Every sum and every match that sees lanes keeps them apart; a bare sum would not."""
    assert crossings(rule) == []


@pytest.mark.parametrize(
    "expr",
    [
        "sum by (service) (lanewatch:rate_events:1h)",
        "sum without (lane) (lanewatch:rate_events:1h)",
        "sum(lanewatch:rate_events:1h)",
        "lanewatch:rate_ratio:1h unless on (service) lanewatch_drift_state",
    ],
)
def test_a_sum_across_lanes_is_found(expr: str) -> None:
    """The walk can fail."""
    assert crossings(Rule("lanewatch:x", False, expr)) != []


def test_a_rate_or_signal_belongs_to_one_lane() -> None:
    """What the walk above relies on: the lane that a rule writes is the rate's, and an alert's signal is of that lane."""
    lanes: dict[str, set[str]] = {}
    for rule in RULES:
        if "rate" in rule.labels:
            lanes.setdefault(rule.labels["rate"], set()).add(rule.labels["lane"])

    assert {rate: found for rate, found in lanes.items() if len(found) != 1} == {}
    assert all(lanes[row.name] == {row.lane} for row in RATES)
    gated = {"tool_error": "tool_error", "refusal": "refusal", "abstention": "abstention"}
    gated |= {"schema_requested": "schema_violation", "schema_dispatched": "schema_violation"}
    gated |= {
        f"complete_{kind}": f"incomplete_{kind}" for kind in ("requests", "dispatches", "retrievals", "responses")
    }
    assert all(lanes[rate] == {BY_NAME[signal].lane} for rate, signal in gated.items())


@pytest.mark.parametrize("lane", Lane)
def test_the_report_moves_in_the_lane_whose_counts_move(lane: Lane) -> None:
    """Counts that one lane's rates are made of change nothing that is told of another lane."""

    def told(samples: list[Sample]) -> list[object]:
        (shop,) = service_rates(samples)
        return [(one.lane, one) for one in shop.rates if one.lane is not lane and one.name not in shared] + [
            (other, shop.lanes[other]) for other in Lane if other is not lane
        ]

    # Refusals and abstentions have their answers in common: those are trials of both.
    shared = {"refusal", "abstention"}
    before: list[Sample] = [
        ("lanewatch_lane_status", {"service": "shop", "lane": one, "status": "pass"}, 5) for one in Lane
    ]
    after = [*before, ("lanewatch_lane_status", {"service": "shop", "lane": lane, "status": "fail"}, 7)]
    for row in RATES:
        if row.lane is lane and row.name not in shared:
            labels = {label: next(iter(values)) for label, values in row.events.only.items()}
            after.append((row.events.metric, {"service": "shop", **labels}, 9))

    assert told(before) == told(after)
