"""Overview: the four lanes side by side, what their evidence is worth, and where asked, ran and told differ first.

Each lane has a column of its own; nothing in it is of another lane.
"""

import msgspec
from grafana_foundation_sdk.models import dashboard as model

from dashboards import promql
from dashboards.frame import Placed, Row, framed, service
from dashboards.panels import (
    BLUE,
    COUNT_THRESHOLDS,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SHARE_THRESHOLDS,
    About,
    PanelBuilder,
    Query,
    lines,
    ranking,
    stacked,
    tile,
)

COLUMN = 6
STATUS_COLOURS = {"pass": GREEN, "fail": RED, "incomplete": ORANGE, "unsupported": PURPLE, "not_applicable": GREY}
CHANGES = ("LanewatchDrift", "LanewatchDistributionMoved")
EVIDENCE = "Share of traces of the last hour whose {of} are all there, whole and readable. Where they are not, the lane is `incomplete`: neither passed nor failed."


class Column(msgspec.Struct, frozen=True):
    """A lane: what passes in it, the rates of whole evidence (rate, how it is called), and the alerts that speak of it."""

    lane: str
    question: str
    evidence: tuple[tuple[str, str], ...]
    alerts: tuple[str, ...]

    @property
    def title(self) -> str:
        """The lane with a capital."""
        return self.lane.capitalize()


COLUMNS = (
    Column(
        "retrieval",
        "Were documents found where some were looked for?",
        (("complete_retrievals", "retrievals"),),
        ("LanewatchAbstentionRateChanged", *CHANGES),
    ),
    Column("generation", "Did the model end with an answer?", (("complete_responses", "responses"),), CHANGES),
    Column(
        "tools",
        "Did what the model asked for run as it was asked for, and is an evaluator told so?",
        (("complete_requests", "requests"), ("complete_dispatches", "dispatches")),
        ("LanewatchRuntimeDivergence", "LanewatchAdapterDivergence", "LanewatchToolFailing"),
    ),
    Column("outcome", "Was what was wanted reached?", (), ("LanewatchRefusalRateChanged", *CHANGES)),
)


def build() -> model.Dashboard:
    """The dashboard."""
    lanes = [Placed(panel(column), COLUMN, height) for panel, height in _PANELS for column in COLUMNS]
    return framed(
        "lanewatch-overview",
        "Overview",
        "Four lanes side by side, never added up. A trace that can't be judged is no pass and no failure.",
        [service()],
        [
            Row("Lanewatch itself", _itself()),
            Row("Four lanes, each by itself", lanes),
            Row("Tools: where asked, ran and told differ first", _divergences()),
        ],
    )


def _itself() -> list[Placed]:
    up = f"up{{{promql.REPLICAS}}}"
    answering = About(
        "Sidecars that do not answer",
        "Of those that Prometheus scrapes. While one is silent nothing is known of its traffic, and it is in no figure below.",
        alerts=("LanewatchSidecarDown",),
    )
    read = About(
        "Traces read",
        "Closed traces that were made into records, a minute, over all sidecars.",
        "cpm",
        ("LanewatchNoSpans",),
    )
    unread = About(
        "Traces without a record",
        "Traces of the time shown that Lanewatch failed on: they are in no rate.",
        alerts=("LanewatchAdapterErrors",),
    )
    drift = About(
        "Drift",
        "Whether every sidecar holds traffic against a reference: it may be learning one still.",
        "percentunit",
        ("LanewatchDriftBlind",),
    )
    watching = 'sum(lanewatch_drift_phase{phase="watching"}) / count(lanewatch_drift_phase{phase="watching"})'
    return [
        Placed(tile(answering, Query(f"count({up}) - sum({up})"), ((None, GREEN), (1, RED))), 6, 4),
        Placed(
            tile(read, Query("60 * sum(rate(lanewatch_traces_read_total[$__rate_interval]))"), ((None, BLUE),)), 6, 4
        ),
        Placed(tile(unread, Query("sum(increase(lanewatch_adapter_errors_total[$__range]))"), COUNT_THRESHOLDS), 6, 4),
        Placed(
            tile(drift, Query(watching), ((None, ORANGE), (1, GREEN)), words={"0": "learning", "1": "watching"}), 6, 4
        ),
    ]


def _passing(column: Column) -> PanelBuilder:
    about = About(
        f"{column.title}: passed",
        f"{column.question} Share of the last hour's traces of which this can be told.",
        "percentunit",
        column.alerts,
    )
    return tile(about, Query(promql.share(column.lane, f"{column.lane}_pass"), "{{service}}"), SHARE_THRESHOLDS)


def _firing(column: Column) -> PanelBuilder:
    """Where nothing fires it is 0 only if the rules give data of this lane."""
    alerts = f'ALERTS{{alertstate="firing", lane="{column.lane}", service=~"|$service"}}'
    silent = f'count(lanewatch:rate_trials:1h{{lane="{column.lane}", {promql.SERVICE}}}) * 0'
    about = About(
        f"{column.title}: alerts",
        "Alerts of this lane that fire now. The runbook says what each means and whom to call.",
        alerts=column.alerts,
    )
    return tile(about, Query(f"count({alerts}) or {silent}"), ((None, GREEN), (1, RED)))


def _statuses(column: Column) -> PanelBuilder:
    about = About(
        f"{column.title}: traces by status",
        "Traces a minute. `incomplete`: evidence is missing; `unsupported`: nothing in the trace tells; `not_applicable`: the "
        "trace has no such part.",
        "cpm",
        column.alerts,
    )
    matchers = f'lane="{column.lane}", {promql.SERVICE}'
    expr = promql.rate_per_minute("status", "lanewatch_lane_status_total", matchers)
    return stacked(about, Query(expr, "{{status}}"), colours=STATUS_COLOURS)


def _evidence(column: Column) -> PanelBuilder:
    if column.evidence:
        names = " and ".join(name for _, name in column.evidence)
        about = About(
            f"{column.title}: whole evidence", EVIDENCE.format(of=names), "percentunit", ("LanewatchEvidenceFalling",)
        )
        queries = [Query(promql.share(column.lane, rate), f"{name}, {{{{service}}}}") for rate, name in column.evidence]
        return lines(about, *queries, high=1, thresholds=SHARE_THRESHOLDS)
    about = About(
        f"{column.title}: can be told",
        "Share of the last hour's traces that tell what became of them: an error, a refusal, a pushed outcome, or a fact of the "
        "state that was left behind. Of the others nothing is said.",
        "percentunit",
        column.alerts,
    )
    told, untold = (promql.share(column.lane, f"{column.lane}_pass", what) for what in ("trials", "unknown"))
    return lines(about, Query(f"{told} / ({told} + {untold})", "{{service}}"), high=1)


def _owners(column: Column) -> PanelBuilder:
    about = About(
        f"{column.title}: who looks into it",
        "Traces of the time shown that fail in this lane or can't be judged in it, by who answers for what differs first.",
        alerts=column.alerts,
    )
    matchers = f'lane="{column.lane}", {promql.SERVICE}'
    expr = f"sort_desc({promql.total('owner', 'lanewatch_handoffs_total', matchers)})"
    return ranking(about, Query(expr, "{{owner}}"))


_PANELS = ((_passing, 4), (_firing, 3), (_statuses, 7), (_evidence, 7), (_owners, 6))


def _divergences() -> list[Placed]:
    metric = "lanewatch_divergences_total"
    alerts = ("LanewatchRuntimeDivergence", "LanewatchDestructiveDivergence", "LanewatchAdapterDivergence")
    boundary = About(
        "Divergences by boundary",
        "A minute. `dispatch`: what ran is not what was asked for; `artifact`: what an evaluator is told is not what ran; "
        "`execution`: a result contradicts its own call.",
        "cpm",
        alerts,
    )
    owner = About(
        "Divergences by owner",
        "In the time shown, by who owns the side that differs: the agent's runtime, a tool, or the adapter that tells an evaluator.",
        alerts=alerts,
    )
    ran = f'{promql.SERVICE}, boundary="dispatch"'
    result = promql.counted(metric, f'{promql.SERVICE}, boundary="execution"')
    return [
        Placed(
            stacked(
                boundary, Query(promql.per_minute("boundary", metric, promql.SERVICE), "{{boundary}}", exemplar=True)
            ),
            12,
            8,
        ),
        Placed(
            ranking(
                owner,
                Query(f"sum({promql.counted(metric, ran)})", "agent runtime"),
                Query(
                    f"sum by (owner) ({result} * on (job, instance, tool) group_left (owner) lanewatch_tool_info)",
                    "{{owner}}",
                ),
                Query(
                    promql.total("producer", "lanewatch_artifact_divergences_total", promql.SERVICE),
                    "producer {{producer}}",
                ),
            ),
            12,
            8,
        ),
    ]
