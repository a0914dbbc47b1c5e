"""Which lane an expression is of, by the metrics that it names and their matchers.

A series has its lane as a label, or is of one lane whatever its labels, or by the value of one label, or of none. One
that is not in these tables is unknown, so that a new one can't slip through.
"""

from collections.abc import Iterable, Mapping

from lanewatch.monitors.judge.metrics import BY_NAME

from dashboards.queries import Target

LANES = frozenset({"retrieval", "generation", "tools", "outcome"})
_TOOLS = (
    "lanewatch_tool_requests_total",
    "lanewatch_tool_dispatches_total",
    "lanewatch_divergences_total",
    "lanewatch_dispatch_comparisons_total",
    "lanewatch_artifacts_total",
    "lanewatch_artifact_divergences_total",
    "lanewatch_reference_tool_calls_total",
    "lanewatch_ragas_tool_metrics_total",
    "lanewatch_schema_checks_total",
    "lanewatch_schema_violations_total",
    "lanewatch_tool_info",
)
WHOLE: Mapping[str, str] = {**dict.fromkeys(_TOOLS, "tools"), "lanewatch_outcome_facts_total": "outcome"}
BY_LABEL: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "lanewatch_evidence_total": (
        "record",
        {"requests": "tools", "dispatches": "tools", "retrievals": "retrieval", "responses": "generation"},
    ),
    "lanewatch_responses_total": ("refusal", {"abstained": "retrieval", "refused": "outcome"}),
}
LABELLED = frozenset(
    {
        "ALERTS",
        "lanewatch_lane_status_total",
        "lanewatch_handoffs_total",
        "lanewatch_policy_checks_total",
        "lanewatch_policy_violations_total",
        "lanewatch_bin_total",
        "lanewatch_bin_expected_total",
        "lanewatch_drift_state",
        "lanewatch_drift_psi",
        "lanewatch_drift_psi_threshold",
        "lanewatch_drift_log10_p",
        "lanewatch_drift_held_back",
        "lanewatch_evidence_ratio",
        "lanewatch_effective_n",
        "lanewatch_reference_effective_n",
        "lanewatch_rate",
        "lanewatch_rate_reference",
        "lanewatch:rate_ratio:1h",
        "lanewatch:rate_low:1h",
        "lanewatch:rate_high:1h",
        "lanewatch:rate_trials:1h",
        "lanewatch:rate_unknown:1h",
        "lanewatch:bin_share:1h",
        "lanewatch:bin_reference_share:1h",
        "lanewatch:bin_contribution:1h",
        "lanewatch_score_bucket",
        "lanewatch_score_count",
        "lanewatch:score_mean:1h",
        "lanewatch:score_low:1h",
        "lanewatch:score_high:1h",
        "lanewatch:score_n_eff:1h",
        "lanewatch:score_coverage:1h",
    }
)
# Of the lanes of the judge's metrics that are named.
BY_METRIC = frozenset({"lanewatch_evaluations_total", "lanewatch:evaluations_coverage:1h"})
LANELESS_STEMS = (
    "up",
    "lanewatch_adapter_errors",
    "lanewatch_artifacts_waiting",
    "lanewatch_bytes_",
    "lanewatch_corrections",
    "lanewatch_drift_errors",
    "lanewatch_drift_learning_ratio",
    "lanewatch_drift_phase",
    "lanewatch_drift_state_writes",
    "lanewatch_duplicates",
    "lanewatch_false_alarm_budget_per_30d",
    "lanewatch_handoff_lines",
    "lanewatch_judge_",
    "lanewatch_labels_folded",
    "lanewatch_late_spans",
    "lanewatch_reading_seconds",
    "lanewatch_reference_created_timestamp_seconds",
    "lanewatch_requests_",
    "lanewatch_resident_bytes",
    "lanewatch_rules_info",
    "lanewatch_skeletons_",
    "lanewatch_spans_",
    "lanewatch_started_timestamp_seconds",
    "lanewatch_trace_bytes_",
    "lanewatch_traces_",
    "lanewatch_unread_spans",
)


def lanes(target: Target) -> frozenset[str]:
    """The lanes that an expression is of; empty where it is of none. Raises LookupError for what can't be told."""
    return frozenset().union(*(_of(metric, matchers) for metric, matchers in target.selectors()))


def _of(metric: str, matchers: Iterable[tuple[str, str, str]]) -> frozenset[str]:
    if metric in WHOLE:
        return frozenset({WHOLE[metric]})
    equal = {label: value for label, operator, value in matchers if operator == "="}
    if metric in LABELLED:
        if equal.get("lane") not in LANES:
            raise LookupError(f"{metric} without a lane: it is of all of them")
        return frozenset({equal["lane"]})
    if metric in BY_LABEL:
        label, lane_of = BY_LABEL[metric]
        if equal.get(label) not in lane_of:
            raise LookupError(f"{metric} without one value of {label}: it is of more than one lane")
        return frozenset({lane_of[equal[label]]})
    if metric in BY_METRIC:
        return _of_metrics(matchers)
    if metric.startswith(LANELESS_STEMS):
        return frozenset()
    raise LookupError(f"{metric} is in no table of lanes")


def _of_metrics(matchers: Iterable[tuple[str, str, str]]) -> frozenset[str]:
    """The lanes of the metrics in `metric="..."` or `metric=~"a|b"`."""
    names = [name for label, _, value in matchers if label == "metric" for name in value.split("|")]
    if not names or not set(names) <= BY_NAME.keys():
        raise LookupError("evaluations without the names of their metrics: they are of all lanes")
    return frozenset(BY_NAME[name].lane.value for name in names)
