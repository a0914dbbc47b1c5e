"""Drift: for each lane its signals, what can be said of them, and the bins of the reference beside those of the last hour.

Each lane has rows of its own and a variable that picks one of its signals; of one service at a time.
"""

from grafana_foundation_sdk.models import dashboard as model

from dashboards import promql
from dashboards.frame import Placed, Row, framed, query_variable, service
from dashboards.panels import (
    BLUE,
    COUNT_THRESHOLDS,
    GREEN,
    ORANGE,
    RED,
    About,
    Query,
    lines,
    ranking,
    rows,
    side_by_side,
    tile,
)

LANES = ("retrieval", "generation", "tools", "outcome")
ALARM = ("LanewatchDrift", "LanewatchDistributionMoved")
BLIND = ("LanewatchDriftBlind",)


def build() -> model.Dashboard:
    """The dashboard."""
    signals = [
        query_variable(
            f"{lane}_signal",
            f"{lane.capitalize()} signal",
            f'label_values(lanewatch_bin_total{{lane="{lane}", {promql.SERVICE}}}, signal)',
            every=False,
            description=f"Whose bins are shown in the row of {lane}.",
        )
        for lane in LANES
    ]
    return framed(
        "lanewatch-drift",
        "Drift",
        "Whether traffic still is what it was: each signal against its reference. The state decides, the sizes explain.",
        [service(every=False), *signals],
        [Row("What traffic is held against", _reference()), *(Row(lane.capitalize(), _lane(lane)) for lane in LANES)],
    )


def _reference() -> list[Placed]:
    phase = About(
        "Phase", "1 for what a sidecar does: nothing alarms while it learns.", alerts=("LanewatchDriftBlind",)
    )
    learnt = About("Learnt so far", "How far a reference is that is being learnt, by what it waits for.", "percentunit")
    age = About(
        "Age of the reference", "Make the new traffic the reference when a change was meant: `lanewatch baseline`.", "s"
    )
    budget = About(
        "False alarms a month", "As many in 30 days are accepted at most, over all signals and all lanes' detectors."
    )
    failing = About(
        "Failures",
        "Traces that drift failed on, and writings of its state that failed, in the time shown.",
        alerts=("LanewatchDriftFailing",),
    )
    failed = 'sum(increase(lanewatch_drift_errors_total[$__range])) + sum(increase(lanewatch_drift_state_writes_total{outcome="failed"}[$__range]))'
    return [
        Placed(
            ranking(
                phase, Query("sum by (phase) (lanewatch_drift_phase) > 0", "{{phase}}"), thresholds=((None, GREEN),)
            ),
            6,
            4,
        ),
        Placed(
            ranking(
                learnt, Query("min by (part) (lanewatch_drift_learning_ratio)", "{{part}}"), thresholds=((None, BLUE),)
            ),
            6,
            4,
        ),
        Placed(
            tile(
                age,
                Query("time() - max(lanewatch_reference_created_timestamp_seconds)"),
                ((None, BLUE), (7776000, ORANGE)),
            ),
            4,
            4,
        ),
        Placed(tile(budget, Query('max(lanewatch_false_alarm_budget_per_30d{of="instance"})'), ((None, BLUE),)), 4, 4),
        Placed(tile(failing, Query(failed), COUNT_THRESHOLDS), 4, 4),
    ]


def _lane(lane: str) -> list[Placed]:
    of = f'lane="{lane}", {promql.SERVICE}'
    hour = f'{of}, window="1h"'
    picked = f'{of}, signal="$' + f'{lane}_signal"'
    state = About(
        "Signals",
        "What can be said of each: `ok`, `alarm`, or `unsure`, which is not ok. Evidence over its line: an alarm at 1. PSI against what "
        "chance alone makes of it, p of this hour by itself (its power of ten; no alarm by itself), and what the hour is worth in "
        "independent observations.",
        "short",
        (*ALARM, *BLIND),
    )
    columns = [
        ("Value", Query(f"max by (signal, state) (lanewatch_drift_state{{{of}}} == 1)")),
        ("evidence over its line", Query(f"max by (signal) (lanewatch_evidence_ratio{{{of}}})")),
        ("PSI", Query(f"max by (signal) (lanewatch_drift_psi{{{hour}}})")),
        ("PSI of chance", Query(f"max by (signal) (lanewatch_drift_psi_threshold{{{hour}}})")),
        ("log10 p", Query(f"min by (signal) (lanewatch_drift_log10_p{{{hour}}})")),
        ("worth", Query(f"sum by (signal) (lanewatch_effective_n{{{hour}}})")),
        ("reference", Query(f"max by (signal) (lanewatch_reference_effective_n{{{of}}})")),
    ]
    evidence = About(
        "Evidence over its line",
        "Per signal, of its strongest detector; at 1 an alarm is raised, within the budget of false alarms.",
        "short",
        ALARM,
    )
    bins = About(
        f"Bins then and now: ${lane}_signal",
        "Shares of the reference, at this hour of the week, beside those of the last hour over all replicas.",
        "percentunit",
        ("LanewatchDistributionMoved",),
    )
    moved = About(
        f"Bins that moved: ${lane}_signal",
        "What each bin adds to the PSI of the last hour, the largest first.",
        "short",
        ("LanewatchDistributionMoved",),
    )
    rate = About(
        "Rates against what is no drift yet",
        "Events of the last hour as a share, and the share up to which the reference lets it be (`still usual`).",
        "percentunit",
        ("LanewatchDrift",),
    )
    share = "sum by (bin) (lanewatch:bin_{}:1h{{{}}})"
    return [
        Placed(rows(state, columns, hidden=("Value",), sort="evidence over its line"), 14, 9),
        Placed(
            lines(
                evidence,
                Query(f"max by (signal) (lanewatch_evidence_ratio{{{of}}})", "{{signal}}"),
                thresholds=((None, GREEN), (1, RED)),
                powers=True,
            ),
            10,
            9,
        ),
        Placed(
            side_by_side(
                bins,
                "bin",
                [
                    ("reference", Query(share.format("reference_share", picked))),
                    ("last hour", Query(share.format("share", picked))),
                ],
            ),
            10,
            8,
        ),
        Placed(
            ranking(
                moved,
                Query(f"topk(5, sum by (bin) (lanewatch:bin_contribution:1h{{{picked}}}))", "{{bin}}"),
                thresholds=((None, BLUE), (0.1, ORANGE)),
            ),
            6,
            8,
        ),
        Placed(
            lines(
                rate,
                Query(f"max by (signal) (lanewatch_rate{{{hour}}})", "{{signal}}"),
                Query(f"max by (signal) (lanewatch_rate_reference{{{hour}}})", "{{signal}}: still usual"),
            ),
            8,
            8,
        ),
    ]
