"""Writes the tables of the pages beside this file from what the code declares, so that they can't differ from it; `--check` only
compares.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from lanewatch.adapters.conventions.carried import CARRIED, FIELDS
from lanewatch.collector.outcomes import OUTCOMES
from lanewatch.collector.spans import RejectReason
from lanewatch.config.reference import describe
from lanewatch.drifting.watch import COUNTS as DRIFT_COUNTS
from lanewatch.monitors import exposition_rules, exposition_tools
from lanewatch.monitors.drift.metrics import DRIFT_METRICS
from lanewatch.monitors.drift.signals import SIGNALS
from lanewatch.monitors.exposition import FIXED, METRICS
from lanewatch.monitors.judge.figures import JUDGE_METRICS, Kind
from lanewatch.parts import COUNTS, GAUGES
from lanewatch.sidecar.content_switches import STACKS

SETTINGS_PAGE = Path(__file__).parent / "settings.md"
README = Path(__file__).parent.parent / "README.md"
METRICS_PAGE = Path(__file__).parent / "metrics.md"
REFUSED_PAGE = Path(__file__).parent / "refused-requests.md"
CONVENTIONS = Path(__file__).parent / "conventions.md"
DRIFT = Path(__file__).parent / "drift.md"
ALERTS_PAGE = Path(__file__).parent / "alerts.md"
RULES = Path(__file__).parent.parent / "deploy" / "prometheus"
STACKS_PAGE = Path(__file__).parent / "stacks.md"

# The dozen that matter, and the limits that turn something away: what the README shows of the two long tables.
FIRST_METRICS = (
    "lanewatch_spans_received_total", "lanewatch_requests_refused_total", "lanewatch_spans_rejected_total",
    "lanewatch_traces_closed_total", "lanewatch_evidence_total", "lanewatch_tool_requests_total",
    "lanewatch_tool_dispatches_total", "lanewatch_divergences_total", "lanewatch_schema_violations_total",
    "lanewatch_responses_total", "lanewatch_lane_status_total", "lanewatch_alarm", "lanewatch_score",
)  # fmt: skip
REFUSED, CLOSED = "lanewatch_requests_refused_total", "lanewatch_traces_closed_total"
# Setting: the series that counts what goes beyond it, and its label's values there.
FIRST_LIMITS = {
    "limits.max_request_bytes": (REFUSED, "reason", ("too_large", "too_large_inflated")),
    "limits.max_in_flight_bytes": (REFUSED, "reason", ("in_flight_limit",)),
    "limits.memory_soft_bytes": (REFUSED, "reason", ("memory_limit",)),
    "receivers.max_connections": (REFUSED, "reason", ("connection_limit",)),
    "receivers.request_deadline_seconds": (REFUSED, "reason", ("request_timeout",)),
    "limits.max_spans_per_request": ("lanewatch_spans_rejected_total", "reason", ("too_many_items",)),
    "assembler.trace_timeout_seconds": (CLOSED, "reason", ("timeout",)),
    "assembler.max_trace_spans": (CLOSED, "reason", ("span_limit",)),
    "assembler.max_trace_bytes": (CLOSED, "reason", ("byte_limit",)),
    "assembler.max_open_traces": (CLOSED, "reason", ("evicted",)),
    "assembler.max_open_bytes": (CLOSED, "reason", ("evicted",)),
    "assembler.revision_window_seconds": ("lanewatch_late_spans_total", "outcome", ("dropped",)),
    "metrics.max_services": ("lanewatch_labels_folded_total", "label", ("service",)),
    "metrics.max_tools": ("lanewatch_labels_folded_total", "label", ("tool",)),
}


def metrics() -> Iterator[str]:
    """Every series: name, labels, meaning."""
    yield from ("| metric | labels | meaning |", "|---|---|---|")
    declared = [(f"{m.name}_total", m.labels, m.help) for m in (*COUNTS, *DRIFT_COUNTS)]
    declared += [(f"{name}_total", labels, text) for name, (text, labels) in {**METRICS, **FIXED}.items()]
    declared += [(name, (), text) for name, text in GAUGES.items()]
    declared.append((exposition_tools.NAME, exposition_tools.LABELS, exposition_tools.HELP))
    declared.append((exposition_rules.NAME, exposition_rules.LABELS, exposition_rules.HELP))
    declared += [(f"{m.name}_total" if m.counter else m.name, m.labels, m.help) for m in DRIFT_METRICS]
    declared += [(f"{m.name}_total" if m.kind is Kind.COUNTER else m.name, m.labels, m.help) for m in JUDGE_METRICS]
    for name, labels, text in sorted(declared):
        yield f"| `{name}` | {', '.join(labels) or '-'} | {text} |"


def limits() -> Iterator[str]:
    """Every setting: key, default, meaning."""
    yield from ("| setting | default | meaning |", "|---|---|---|")
    for row in describe():
        yield f"| `{row.name}` | {row.default or '-'} | {row.meaning} |"


def first_metrics() -> Iterator[str]:
    """Of the table of series, the first ones to look at, in an order of their own."""
    head, rule, *rows = metrics()
    by_name = {row.split("`")[1]: row for row in rows}
    yield from (head, rule, *(by_name[name] for name in FIRST_METRICS))


def first_limits() -> Iterator[str]:
    """The limits that turn something away: default, meaning, and the reason by which it is counted."""
    rows = {row.name: row for row in describe()}
    yield from ("| setting | default | meaning | what goes beyond it counts as |", "|---|---|---|---|")
    for name, (series, label, values) in FIRST_LIMITS.items():
        counted = ", ".join(f"`{value}`" for value in values)
        yield f"| `{name}` | {rows[name].default} | {rows[name].meaning} | {counted} ({label} of `{series}`) |"


def reasons() -> Iterator[str]:
    """Why requests are refused and spans rejected, and what to do."""
    yield from ("| reason | HTTP | what it means | what to do |", "|---|---|---|---|")
    for reason, outcome in OUTCOMES.items():
        yield f"| `{reason}` | {outcome.http_status} | {outcome.summary} | {outcome.remedy} |"
    yield ""
    yield (
        "A span or log record that is rejected alone (the rest of its request is kept) has one of: "
        + ", ".join(f"`{reason}`" for reason in RejectReason)
        + "."
    )


def carried() -> Iterator[str]:
    """Which fields each convention carries."""
    yield f"| convention | {' | '.join(field.replace('_', ' ') for field in FIELDS)} | what to know |"
    yield "|---|" + "---|" * (len(FIELDS) + 1)
    for name, row in sorted(CARRIED.items()):
        yield f"| `{name}` | {' | '.join(row.fields.values())} | {row.note} |"


def signals() -> Iterator[str]:
    """What drift watches: signal, lane, kind, what must be complete, meaning."""
    yield from ("| signal | lane | kind | evidence that must be complete | meaning |", "|---|---|---|---|---|")
    for row in SIGNALS:
        yield f"| `{row.name}` | {row.lane} | {row.kind} | {row.needs or '-'} | {row.meaning} |"


def stacks() -> Iterator[str]:
    """Which switch brings message content, by stack."""
    yield from ("| stack | recognised as | content by default | switch |", "|---|---|---|---|")
    for stack in STACKS:
        yield f"| {stack.name} | `{stack.convention}` | {stack.by_default} | {stack.switch} |"


def alerts() -> Iterator[str]:
    """Every alert: severity, lane, owner, summary."""
    yield from ("| alert | severity | lane | owner | what it says |", "|---|---|---|---|---|")
    for path in sorted(RULES.glob("*.rules.yml")):
        for rule in (rule for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]):
            if "alert" in rule:
                lane, owner = (_label(rule, label) for label in ("lane", "owner"))
                link = f"[{rule['alert']}](../deploy/prometheus/runbook.md#{rule['alert'].lower()})"
                says = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"`\1`", rule["annotations"]["summary"])
                yield f"| {link} | {rule['labels']['severity']} | {lane} | {owner} | {says} |"


def _label(rule: dict[str, Any], label: str) -> str:
    """As the rule writes it: one word, those that a template chooses from, or what the series bring."""
    value = str(rule["labels"].get(label, ""))
    if "{{" in value:
        return " or ".join(dict.fromkeys(filter(None, re.split(r"\{\{.*?\}\}", value))))
    brought = re.search(rf"\b{label}\b", f"{rule['expr']} {rule['labels']} {rule['annotations']}")
    return value or ("of the series" if brought else "-")


TABLES = {
    "metrics": metrics,
    "limits": limits,
    "first-metrics": first_metrics,
    "first-limits": first_limits,
    "reasons": reasons,
    "carried": carried,
    "signals": signals,
    "stacks": stacks,
    "alerts": alerts,
}
PAGES = {
    README: ("first-metrics", "first-limits"),
    SETTINGS_PAGE: ("limits",),
    METRICS_PAGE: ("metrics",),
    REFUSED_PAGE: ("reasons",),
    CONVENTIONS: ("carried",),
    DRIFT: ("signals",),
    STACKS_PAGE: ("stacks",),
    ALERTS_PAGE: ("alerts",),
}


def built(text: str, tables: tuple[str, ...]) -> str:
    """A page with its tables made anew."""
    for name in tables:
        rows = TABLES[name]
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        table = "\n".join(rows())
        head, rest = text.split(begin, 1)
        text = f"{head}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}"
    return text


def main() -> int:
    """Exit status 1 where `--check` finds a difference."""
    differ = False
    for page, tables in PAGES.items():
        text = page.read_text()
        new = built(text, tables)
        differ = differ or new != text
        if "--check" not in sys.argv:
            page.write_text(new)
    return int(differ and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
