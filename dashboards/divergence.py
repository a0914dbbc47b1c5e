"""Divergence: by tool, kind and producer, where what was asked, what ran and what an evaluator is told differ.

All of it is of the lane of tools. Curves that count divergences carry exemplars: trace ids for `lanewatch show`.
"""

from grafana_foundation_sdk.models import dashboard as model

from dashboards import promql
from dashboards.frame import Placed, Row, framed, query_variable, service
from dashboards.panels import (
    COUNT_THRESHOLDS,
    FAULT_THRESHOLDS,
    GREEN,
    GREY,
    ORANGE,
    RED,
    About,
    Query,
    ranking,
    rows,
    stacked,
    tile,
    with_interval,
)

LANE = "tools"
RUNTIME = ("LanewatchRuntimeDivergence",)
ADAPTER = ("LanewatchAdapterDivergence", "LanewatchProducerFailing")
MATCHERS = f"{promql.SERVICE}, {promql.TOOL}"
SHOW = " A point on the curve is the id of a trace: `lanewatch show TRACE_ID`."


def build() -> model.Dashboard:
    """The dashboard."""
    tool = query_variable("tool", "Tool", 'label_values(lanewatch_tool_requests_total{service=~"$service"}, tool)')
    return framed(
        "lanewatch-divergence",
        "Divergence",
        "What the model asked for, what the runtime ran, what an evaluator is told: where they differ, and whose that is.",
        [service(), tool],
        [
            Row("Asked against ran", _runtime()),
            Row("Ran against told: the adapters of evaluators", _adapters()),
            Row("Runs and schemas", _tools()),
        ],
    )


def _rate_panel(title: str, description: str, rate: str, alerts: tuple[str, ...]) -> list[Placed]:
    about = About(title, description, "percentunit", alerts)
    ratio, low, high = (promql.share(LANE, rate, what) for what in ("ratio", "low", "high"))
    over_time = About(f"{title}, with its 95 % interval: $service", description, "percentunit", alerts)
    band = with_interval(over_time, ratio, low, high, top=None, repeat="service")
    return [Placed(tile(about, Query(ratio, "{{service}}"), FAULT_THRESHOLDS), 5, 6), Placed(band, 11, 6)]


def _unknown(title: str, description: str, rate: str, alerts: tuple[str, ...]) -> Placed:
    about = About(title, description, "short", alerts)
    return Placed(tile(about, Query(promql.share(LANE, rate, "unknown"), "{{service}}"), COUNT_THRESHOLDS), 8, 6)


def _runtime() -> list[Placed]:
    metric = "lanewatch_divergences_total"
    kinds = About(
        "Divergences by boundary and kind",
        "A minute, by the boundary where the difference shows first." + SHOW,
        "cpm",
        ("LanewatchRuntimeDivergence", "LanewatchDestructiveDivergence"),
    )
    tools = About("Divergences by tool", "A minute." + SHOW, "cpm", ("LanewatchDestructiveDivergence",))
    table = About(
        "Each tool and kind in the time shown",
        "Differences by tool, boundary and kind. `not_dispatched` is often a guard or a person that refuses.",
        "short",
        ("LanewatchDestructiveDivergence",),
    )
    return [
        *_rate_panel(
            "Ran otherwise than asked",
            "Share of the last hour's traces with tool calls in which something ran otherwise than it was asked for, or did not run.",
            "runtime_divergence",
            RUNTIME,
        ),
        _unknown(
            "Could not be compared",
            "Traces of the last hour with tool calls of which the evidence does not tell whether they ran as asked. No pass.",
            "runtime_divergence",
            ("LanewatchEvidenceFalling",),
        ),
        Placed(
            stacked(
                kinds,
                Query(promql.per_minute("boundary, kind", metric, MATCHERS), "{{boundary}}: {{kind}}", exemplar=True),
            ),
            12,
            8,
        ),
        Placed(stacked(tools, Query(promql.per_minute("tool", metric, MATCHERS), "{{tool}}", exemplar=True)), 12, 8),
        Placed(
            rows(
                table,
                [("divergences", Query(promql.total("service, tool, boundary, kind", metric, MATCHERS)))],
                sort="divergences",
            ),
            24,
            6,
        ),
    ]


def _adapters() -> list[Placed]:
    outcomes = About(
        "Artifacts by producer and outcome",
        "A minute: what adapters made of traces, compared with what ran. `failed`, `timed_out`, `skipped` and `unclaimed` could not be compared.",
        "cpm",
        ADAPTER,
    )
    kinds = About("Divergences of artifacts by producer and kind", "A minute." + SHOW, "cpm", ADAPTER)
    table = About(
        "Each producer, tool and kind in the time shown",
        "What each producer tells otherwise than it ran. Scores that rest on it are the adapter's fault, not the agent's.",
        "short",
        ADAPTER,
    )
    metric = "lanewatch_artifact_divergences_total"
    return [
        *_rate_panel(
            "Told otherwise than ran",
            "Share of the last hour's artifacts that could be compared and differ from what ran.",
            "artifact_divergence",
            ADAPTER,
        ),
        _unknown(
            "Artifacts without a comparison",
            "Artifacts of the last hour that failed, came too late, or were of traces that did not come. No pass.",
            "artifact_divergence",
            ADAPTER,
        ),
        Placed(
            stacked(
                outcomes,
                Query(
                    promql.per_minute("producer, outcome", "lanewatch_artifacts_total", promql.SERVICE),
                    "{{producer}}: {{outcome}}",
                    exemplar=True,
                ),
            ),
            12,
            8,
        ),
        Placed(
            stacked(
                kinds,
                Query(promql.per_minute("producer, kind", metric, MATCHERS), "{{producer}}: {{kind}}", exemplar=True),
            ),
            12,
            8,
        ),
        Placed(
            rows(
                table,
                [("divergences", Query(promql.total("service, producer, tool, kind", metric, MATCHERS)))],
                sort="divergences",
            ),
            24,
            6,
        ),
    ]


def _tools() -> list[Placed]:
    dispatches = "lanewatch_tool_dispatches_total"
    asked = About("Calls that models asked for", "A minute, by tool.", "cpm")
    ran = About(
        "Runs by outcome",
        "A minute. `executed=unknown`: the trace does not prove that the tool's body ran; such a run is in no rate.",
        "cpm",
        ("LanewatchToolErrorRateChanged", "LanewatchToolFailing"),
    )
    failing = About(
        "Failing runs by tool",
        "Share of the proved runs of the time shown that ended in an error.",
        "percentunit",
        ("LanewatchToolFailing",),
    )
    broken = About(
        "Calls that break their tool's schema",
        "A minute, by tool, kind and side: `requested` as the model asked, `dispatched` as it ran." + SHOW,
        "cpm",
        ("LanewatchSchemaViolationRateChanged",),
    )
    errors = promql.total("tool", dispatches, f'{MATCHERS}, executed="yes", outcome!="ok"')
    runs = promql.total("tool", dispatches, f'{MATCHERS}, executed="yes"')
    colours = {"yes: ok": GREEN, "yes: failure": RED, "yes: validation": ORANGE, "unknown: ok": GREY}
    violations = promql.per_minute("tool, side, kind", "lanewatch_schema_violations_total", MATCHERS)
    return [
        Placed(
            stacked(asked, Query(promql.per_minute("tool", "lanewatch_tool_requests_total", MATCHERS), "{{tool}}")),
            12,
            8,
        ),
        Placed(
            stacked(
                ran,
                Query(
                    promql.per_minute("executed, outcome", dispatches, MATCHERS),
                    "{{executed}}: {{outcome}}",
                    exemplar=True,
                ),
                colours=colours,
            ),
            12,
            8,
        ),
        Placed(
            ranking(
                failing,
                Query(f"sort_desc({errors} / ({runs} > 0))", "{{tool}}"),
                thresholds=((None, GREEN), (0.05, ORANGE), (0.5, RED)),
            ),
            12,
            8,
        ),
        Placed(stacked(broken, Query(violations, "{{tool}}: {{kind}} ({{side}})", exemplar=True)), 12, 8),
    ]
