"""Sidecar: what Lanewatch itself takes in, loses, holds and waits for, by replica; of no lane."""

from grafana_foundation_sdk.models import dashboard as model

from dashboards import promql
from dashboards.frame import Placed, Row, framed, query_variable
from dashboards.judge_process import judging_costs, judging_process
from dashboards.panels import (
    BLUE,
    COUNT_THRESHOLDS,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    About,
    Query,
    lines,
    ranking,
    rows,
    stacked,
    tile,
)


def build() -> model.Dashboard:
    """The dashboard."""
    job = query_variable("job", "Job", "label_values(lanewatch_started_timestamp_seconds, job)")
    instance = query_variable(
        "instance", "Instance", 'label_values(lanewatch_started_timestamp_seconds{job=~"$job"}, instance)'
    )
    return framed(
        "lanewatch-sidecar",
        "Sidecar",
        "Lanewatch itself: what comes in, what is refused or lost and why, memory and queues against their limits.",
        [job, instance],
        [
            Row("Is it up, does it take data?", _tiles()),
            Row("What comes in", _throughput()),
            Row("What is refused, rejected or late", _losses()),
            Row("Memory and queues", _memory()),
            Row("The judge: its process, queue and budget", judging_process()),
            Row("The judge: calls, tokens and cost", judging_costs(), folded=True),
            Row("Labels, handoffs, state, versions", _rest()),
        ],
    )


def _tiles() -> list[Placed]:
    up = promql.of_replica("up")
    down = About("Do not answer", "Replicas that Prometheus scrapes in vain.", alerts=("LanewatchSidecarDown",))
    since = About("Running for", "Of the replica that was started last.", "s")
    refused = About(
        "Requests refused", "In the time shown, as a whole.", alerts=("LanewatchRequestsRefused", "LanewatchOwnFault")
    )
    lost = About(
        "Spans rejected or dropped",
        "In the time shown, singly out of accepted requests.",
        alerts=("LanewatchSpansRejected",),
    )
    late = About(
        "Spans too late",
        "In the time shown, when their trace was no longer remembered; its record lacks them.",
        alerts=("LanewatchSpansLate",),
    )
    errors = About(
        "Traces without a record",
        "In the time shown: a bug, with a log line that names the place.",
        alerts=("LanewatchAdapterErrors",),
    )
    dropped = f"{promql.replica_grown('lanewatch_spans_rejected_total')} + {promql.replica_grown('lanewatch_spans_dropped_total')}"
    started = promql.of_replica("lanewatch_started_timestamp_seconds")
    return [
        Placed(tile(down, Query(f"count({up}) - sum({up})"), ((None, GREEN), (1, RED))), 4, 4),
        Placed(tile(since, Query(f"time() - max({started})"), ((None, BLUE),)), 4, 4),
        Placed(tile(refused, Query(promql.replica_grown("lanewatch_requests_refused_total")), COUNT_THRESHOLDS), 4, 4),
        Placed(tile(lost, Query(dropped), COUNT_THRESHOLDS), 4, 4),
        Placed(
            tile(
                late, Query(promql.replica_grown("lanewatch_late_spans_total", 'outcome="dropped"')), COUNT_THRESHOLDS
            ),
            4,
            4,
        ),
        Placed(
            tile(errors, Query(promql.replica_grown("lanewatch_adapter_errors_total")), ((None, GREEN), (1, RED))), 4, 4
        ),
    ]


def _throughput() -> list[Placed]:
    requests = About(
        "Requests", "Accepted export requests a second, by signal and protocol.", "reqps", ("LanewatchNoSpans",)
    )
    spans = About("Spans and log records", "A second, of accepted requests.", "cps", ("LanewatchNoSpans",))
    became = About(
        "What became of them",
        "A second. `irrelevant`: no convention knows them. Together with what is rejected, dropped, late or came twice they are all that came.",
        "cps",
    )
    closed = About(
        "Traces closed",
        "A second, by what closed them. `root`: the first span has ended and nothing came after it; the others are cut by a limit, and incomplete.",
        "cps",
    )
    fates = [
        Query(promql.replica_rate("job", f"lanewatch_spans_{name}_total"), name)
        for name in ("assembled", "irrelevant", "rejected", "dropped")
    ]
    fates += [
        Query(promql.replica_rate("outcome", "lanewatch_late_spans_total"), "late, {{outcome}}"),
        Query(promql.replica_rate("kind", "lanewatch_duplicates_total"), "came twice, {{kind}}"),
    ]
    return [
        Placed(
            stacked(
                requests,
                Query(promql.replica_rate("signal, protocol", "lanewatch_requests_total"), "{{signal}}, {{protocol}}"),
            ),
            12,
            7,
        ),
        Placed(
            stacked(
                spans,
                Query(
                    promql.replica_rate("signal, protocol", "lanewatch_spans_received_total"),
                    "{{signal}}, {{protocol}}",
                ),
            ),
            12,
            7,
        ),
        Placed(
            stacked(
                became,
                *fates,
                colours={
                    "assembled": GREEN,
                    "irrelevant": GREY,
                    "rejected": RED,
                    "dropped": ORANGE,
                    "late, dropped": PURPLE,
                },
            ),
            12,
            8,
        ),
        Placed(
            stacked(closed, Query(promql.replica_rate("reason", "lanewatch_traces_closed_total"), "{{reason}}")), 12, 8
        ),
    ]


def _losses() -> list[Placed]:
    minute = "60 * "
    refused = About(
        "Requests refused by reason",
        "A minute. docs/refused-requests.md says of each reason what it means and what to do.",
        "cpm",
        ("LanewatchRequestsRefused",),
    )
    rejected = About("Spans rejected or dropped by reason", "A minute.", "cpm", ("LanewatchSpansRejected",))
    late = About(
        "Late spans",
        "A minute. `revised`: the trace's record was made anew; `dropped`: only the trace's id was remembered. Raise trace_timeout_seconds, "
        "revision_window_seconds or remembered_bytes.",
        "cpm",
        ("LanewatchSpansLate",),
    )
    unread = About(
        "Spans that could not be read",
        "A minute, by service: a convention claimed them, and their content was not what it says.",
        "cpm",
    )
    return [
        Placed(
            stacked(
                refused, Query(minute + promql.replica_rate("reason", "lanewatch_requests_refused_total"), "{{reason}}")
            ),
            12,
            7,
        ),
        Placed(
            stacked(
                rejected,
                Query(minute + promql.replica_rate("reason", "lanewatch_spans_rejected_total"), "{{reason}}"),
                Query(minute + promql.replica_rate("reason", "lanewatch_spans_dropped_total"), "dropped: {{reason}}"),
            ),
            12,
            7,
        ),
        Placed(
            stacked(
                late,
                Query(minute + promql.replica_rate("outcome", "lanewatch_late_spans_total"), "{{outcome}}"),
                colours={"dropped": RED, "revised": BLUE},
            ),
            12,
            7,
        ),
        Placed(
            stacked(
                unread, Query(minute + promql.replica_rate("service", "lanewatch_unread_spans_total"), "{{service}}")
            ),
            12,
            7,
        ),
    ]


def _memory() -> list[Placed]:
    resident = About(
        "Resident memory",
        "Of the process, by replica. The limits are in limits.memory_soft_bytes and memory_hard_bytes.",
        "bytes",
    )
    flight = About(
        "Bytes in flight",
        "Requests being received and closed traces not yet read; at the limit requests are refused for a second.",
        "bytes",
        ("LanewatchReadingStuck",),
    )
    held = About(
        "Bytes of traces", "Open ones, their limit, and closed ones that late spans may still revise.", "bytes"
    )
    traces = About("Open traces", "Gathered now; at the limit the heaviest and oldest are closed early.")
    waiting = About(
        "What waits",
        "Closed traces to be read, spans for their trace, artifacts for theirs.",
        alerts=("LanewatchReadingStuck",),
    )
    reading = About(
        "Time at one trace",
        "How long the trace being read has taken so far; a budget of steps ends it.",
        "s",
        ("LanewatchReadingStuck",),
    )
    name = "{{instance}}"

    def each(metric: str, what: str = "") -> Query:
        return Query(f"max by (instance) ({promql.of_replica(metric)})", f"{name}{what}")

    return [
        Placed(lines(resident, each("lanewatch_resident_bytes")), 12, 7),
        Placed(
            lines(
                flight,
                each("lanewatch_bytes_in_flight"),
                each("lanewatch_bytes_unread", ": unread"),
                each("lanewatch_bytes_in_flight_limit", ": limit"),
            ),
            12,
            7,
        ),
        Placed(
            lines(
                held,
                each("lanewatch_trace_bytes_open", ": open"),
                each("lanewatch_trace_bytes_remembered", ": remembered"),
                each("lanewatch_trace_bytes_open_limit", ": limit"),
            ),
            12,
            7,
        ),
        Placed(
            lines(
                traces,
                each("lanewatch_traces_open"),
                each("lanewatch_traces_revising", ": revising"),
                each("lanewatch_traces_open_limit", ": limit"),
            ),
            12,
            7,
        ),
        Placed(
            lines(
                waiting,
                each("lanewatch_traces_waiting", ": traces"),
                each("lanewatch_skeletons_waiting", ": spans"),
                each("lanewatch_artifacts_waiting", ": artifacts"),
            ),
            12,
            7,
        ),
        Placed(lines(reading, each("lanewatch_reading_seconds"), thresholds=((None, GREEN), (30, RED))), 12, 7),
    ]


def _rest() -> list[Placed]:
    folded = About(
        "Folded into `other`",
        "In the time shown, by the label that had too many values: alerts on a tool or service do not see these.",
        alerts=("LanewatchSeriesOverflow",),
    )
    handoffs = About(
        "Handoffs for the file", "In the time shown, by how writing went.", alerts=("LanewatchHandoffsLost",)
    )
    corrected = About(
        "Counts that proved wrong",
        "In the time shown, by metric: a late span changed what had been counted, and counters can't take back.",
    )
    drift = About(
        "Writings of drift's state",
        "In the time shown, by outcome. What is not written is lost at a restart.",
        alerts=("LanewatchDriftFailing",),
    )
    versions = About(
        "Versions of the rules",
        "The registry and the policies that verdicts were given by, by replica. They should be the same.",
    )

    def grown(by: str, metric: str) -> Query:
        return Query(f"sort_desc(sum by ({by}) (increase({promql.of_replica(metric)}[$__range])))", f"{{{{{by}}}}}")

    return [
        Placed(ranking(folded, grown("label", "lanewatch_labels_folded_total")), 6, 6),
        Placed(ranking(handoffs, grown("result", "lanewatch_handoff_lines_total"), thresholds=((None, BLUE),)), 6, 6),
        Placed(
            ranking(drift, grown("outcome", "lanewatch_drift_state_writes_total"), thresholds=((None, BLUE),)), 6, 6
        ),
        Placed(
            rows(
                versions,
                [
                    (
                        "replicas",
                        Query(f"count by (instance, registry, policies) ({promql.of_replica('lanewatch_rules_info')})"),
                    )
                ],
                hidden=("replicas",),
            ),
            6,
            6,
        ),
        Placed(
            ranking(
                corrected,
                Query(
                    f"sort_desc(sum by (metric) (increase({promql.of_replica('lanewatch_corrections_total')}[$__range])) > 0)",
                    "{{metric}}",
                ),
            ),
            24,
            6,
        ),
    ]
