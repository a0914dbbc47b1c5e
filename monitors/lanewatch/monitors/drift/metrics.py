"""The metrics of drift: what each is called, and the rows that a view gives. Names are an interface (docs/drift.md)."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import TypeAlias

import msgspec

from lanewatch.monitors.drift.alarm import State
from lanewatch.monitors.drift.readings import SeriesReading
from lanewatch.monitors.drift.signals import Kind
from lanewatch.monitors.drift.sums import Merged
from lanewatch.monitors.drift.tick import TICK_SECONDS
from lanewatch.monitors.drift.vector_series import BANK_PART, MEAN_PART
from lanewatch.monitors.drift.view import DriftView, Phase
from lanewatch.monitors.drift.way_back import CLEAR_MINUTES
from lanewatch.monitors.label_text import label_text

Row: TypeAlias = tuple[str, tuple[str, ...], float]  # metric, label values in the metric's order, value

SERIES = ("service", "lane", "signal")
CONTRIBUTION_MINUTES = 60
KINDS = {Kind.EVENT: "rate", Kind.VECTOR: "embedding"}  # of an alarm; all others are distributions
TOLD = ("observed", "revised", "late", "early", "folded", "unknown_service", "unplaced_vectors")


class DriftMetric(msgspec.Struct, frozen=True):
    """A family: exposition name (of a counter without `_total`), help, labels."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    counter: bool = False


def _counter(name: str, text: str, labels: tuple[str, ...] = ()) -> DriftMetric:
    return DriftMetric(name, text, labels, counter=True)


DRIFT_METRICS = (
    # ---- all of it
    DriftMetric("lanewatch_drift_phase", "1 for what drift is doing: learning, watching, no_reference.", ("phase",)),
    DriftMetric("lanewatch_drift_learning_ratio", "How far a reference is that is being learnt.", ("part",)),
    DriftMetric("lanewatch_false_alarm_budget_per_30d", "False alarms in 30 days that are accepted at most.", ("of",)),
    DriftMetric("lanewatch_reference_info", "1 for the reference that traffic is held against.", ("ref",)),
    DriftMetric("lanewatch_reference_created_timestamp_seconds", "When that reference was made."),
    _counter("lanewatch_drift_traces", "Traces by what drift did with them; folded and late ones count.", ("outcome",)),
    _counter("lanewatch_sampling_unknown", "Traces that do not tell how they were sampled; each counts once."),
    _counter("lanewatch_weight_capped", "Traces that stand for more than 1000; each counts as 1000."),
    DriftMetric("lanewatch_sessions_tracked", "Sessions that had an event of a rate in the last six hours."),
    _counter("lanewatch_drift_merged", "Ticks of replicas by what became of them.", ("outcome",)),
    _counter("lanewatch_drift_state_writes", "Writings of the state folder, by how they ended.", ("outcome",)),
    DriftMetric("lanewatch_drift_state_written_timestamp_seconds", "When the state folder was written last."),
    _counter("lanewatch_drift_files_set_aside", "Damaged files of the state folder that were set aside."),
    DriftMetric("lanewatch_drift_series_begun_anew", "Series whose evidence was not taken up at the start."),
    # ---- counted by this replica, to be added up
    _counter("lanewatch_observations", "Observations; weighted by what each trace stands for.", (*SERIES, "kind")),
    _counter("lanewatch_drift_not_observed", "Traces that gave no observation, by why.", (*SERIES, "reason")),
    _counter("lanewatch_weight_sq", "Sum of squared weights: n is worth W^2 over it.", (*SERIES, "ref")),
    _counter("lanewatch_bin", "Weighted observations by bin.", (*SERIES, "ref", "bin")),
    _counter("lanewatch_bin_expected", "What the reference let expect, by bin.", (*SERIES, "ref", "bin")),
    _counter(
        "lanewatch_trials", "Weighted trials of a rate, without an earlier event in their session.", (*SERIES, "ref")
    ),
    _counter("lanewatch_events", "Weighted first events of a session.", (*SERIES, "ref")),
    _counter("lanewatch_expected_events", "Events that the reference let expect.", (*SERIES, "ref")),
    # ---- alarms and their evidence
    DriftMetric("lanewatch_drift_state", "1 for what can be said of a signal: ok, alarm, unsure.", (*SERIES, "state")),
    DriftMetric("lanewatch_drift_held_back", "1 for each reason why a signal is unsure.", (*SERIES, "because")),
    DriftMetric("lanewatch_alarm", "1 while an alarm stands.", (*SERIES, "kind", "direction")),
    _counter("lanewatch_drift_embeddings", "Questions for the local embedding model, by outcome.", ("outcome",)),
    _counter("lanewatch_alarms", "Alarms that were raised.", (*SERIES, "kind")),
    DriftMetric(
        "lanewatch_alarm_change_timestamp_seconds",
        "When the change behind an alarm began, estimated.",
        (*SERIES, "kind"),
    ),
    DriftMetric(
        "lanewatch_alarm_moved",
        "Of a standing alarm: bins that moved most, expected and found.",
        (*SERIES, "bin", "share"),
    ),
    DriftMetric("lanewatch_alarm_return_ratio", "Evidence that it is over; the alarm clears at 1.", SERIES),
    DriftMetric(
        "lanewatch_evidence_ratio", "Evidence over its line; an alarm at 1.", (*SERIES, "detector", "direction")
    ),
    DriftMetric("lanewatch_series_false_alarm_budget_per_30d", "A signal's part of the budget.", SERIES),
    DriftMetric(
        "lanewatch_detector_false_alarm_budget_per_30d",
        "A detector's part of it; what is left over is for T2, which takes too much.",
        (*SERIES, "detector", "direction"),
    ),
    DriftMetric("lanewatch_chi2_critical", "What G must reach in a window.", SERIES),
    # ---- how large a change is
    DriftMetric("lanewatch_rate", "Share of events.", (*SERIES, "window")),
    DriftMetric("lanewatch_rate_lower", "Lower end of its 95 % interval (Jeffreys).", (*SERIES, "window")),
    DriftMetric("lanewatch_rate_upper", "Upper end of its 95 % interval (Jeffreys).", (*SERIES, "window")),
    DriftMetric("lanewatch_rate_reference", "The rate that is still no drift, at this hour.", (*SERIES, "window")),
    DriftMetric("lanewatch_rate_ratio", "The rate over the reference's mean.", (*SERIES, "window")),
    DriftMetric("lanewatch_drift_psi", "PSI against the reference.", (*SERIES, "window")),
    DriftMetric("lanewatch_drift_psi_excess", "PSI beyond what chance makes.", (*SERIES, "window")),
    DriftMetric(
        "lanewatch_drift_psi_threshold", "PSI that chance exceeds once in 43,200 windows.", (*SERIES, "window")
    ),
    DriftMetric("lanewatch_drift_kl_nats", "KL divergence from the reference.", (*SERIES, "window")),
    DriftMetric("lanewatch_drift_js_distance", "Jensen-Shannon distance, base 2.", (*SERIES, "window")),
    DriftMetric(
        "lanewatch_drift_wasserstein_sd", "W1 distance in the reference's standard deviations.", (*SERIES, "window")
    ),
    DriftMetric("lanewatch_drift_log10_p", "Of G (or T2) in this window alone; not an alarm.", (*SERIES, "window")),
    DriftMetric("lanewatch_bin_contribution", "What a bin adds to PSI.", (*SERIES, "bin", "window")),
    DriftMetric("lanewatch_embedding_residual_psi", "PSI of the part beyond the components.", (*SERIES, "window")),
    DriftMetric(
        "lanewatch_embedding_components_over_ratio", "Components over their PSI threshold.", (*SERIES, "window")
    ),
    DriftMetric("lanewatch_effective_n", "Independent observations that a window is worth.", (*SERIES, "window")),
    # ---- what a signal is held against
    DriftMetric("lanewatch_design_effect", "Phi: how much more counts vary than independent ones.", SERIES),
    DriftMetric("lanewatch_reference_span_seconds", "Days that the reference has seen, in seconds.", SERIES),
    DriftMetric("lanewatch_reference_effective_n", "Independent observations that it is worth.", SERIES),
    DriftMetric("lanewatch_reference_inverse_n", "1/N + 1/kappa: what its shares are uncertain by.", SERIES),
    DriftMetric(
        "lanewatch_reference_kappa", "How alike days are, in observations; absent where they do not differ.", SERIES
    ),
    DriftMetric("lanewatch_reference_tau", "Factor by which a rate may differ from day to day.", SERIES),
    DriftMetric("lanewatch_reference_gap", "1 for what a signal's reference can't do yet.", (*SERIES, "gap")),
)


def drift_rows(view: DriftView) -> Iterator[Row]:
    """Every series of a view."""
    yield from _instance(view)
    services: dict[str, str] = {}
    for reading in view.readings:
        if reading.service not in services:
            services[reading.service] = _apart(label_text(reading.service), services.values())
        series = (services[reading.service], reading.lane, reading.signal)
        bins = _bin_labels(reading.bins)
        yield from _counted(view, reading, series, bins)
        yield from _alarm(reading, series)
        yield from _effects(reading, series, bins)
        yield from _reference(reading, series)


def _instance(view: DriftView) -> Iterator[Row]:
    storage = view.storage
    for phase in Phase:
        yield "lanewatch_drift_phase", (phase,), view.phase is phase
    if view.learning is not None:
        learning = view.learning
        yield "lanewatch_drift_learning_ratio", ("fit",), min(learning.fitted / learning.fit_traces, 1.0)
        counted = min(learning.counted_seconds / learning.learning_seconds, 1.0)
        yield "lanewatch_drift_learning_ratio", ("count",), counted
    yield "lanewatch_false_alarm_budget_per_30d", (view.budget_of,), view.budget
    if view.reference:
        yield "lanewatch_reference_info", (view.reference,), 1
        yield "lanewatch_reference_created_timestamp_seconds", (), view.reference_created
    for outcome in TOLD:
        yield "lanewatch_drift_traces", (outcome,), view.told.get(outcome, 0)
    yield "lanewatch_sampling_unknown", (), view.told.get("sampling_unknown", 0)
    yield "lanewatch_weight_capped", (), view.told.get("weight_capped", 0)
    yield "lanewatch_sessions_tracked", (), view.sessions
    for merged in Merged:
        yield "lanewatch_drift_merged", (merged,), view.merged.get(merged, 0)
    yield "lanewatch_drift_state_writes", ("written",), storage.written
    yield "lanewatch_drift_state_writes", ("failed",), storage.failed
    if storage.since:
        yield "lanewatch_drift_state_written_timestamp_seconds", (), storage.since
    for outcome, n in view.embeddings.items():
        yield "lanewatch_drift_embeddings", (outcome,), n
    yield "lanewatch_drift_files_set_aside", (), storage.set_aside
    yield "lanewatch_drift_series_begun_anew", (), storage.begun_anew


def _counted(view: DriftView, reading: SeriesReading, series: tuple[str, ...], bins: tuple[str, ...]) -> Iterator[Row]:
    for reason, n in zip(
        ("incomplete", "absent"), view.missed.get((reading.service, reading.signal), (0, 0)), strict=True
    ):
        yield "lanewatch_drift_not_observed", (*series, reason), n
    counted = view.counted.get((reading.service, reading.signal))
    if counted is None:
        return
    by_reference = (*series, view.reference)
    yield "lanewatch_observations", (*series, "raw"), counted.raw
    yield "lanewatch_observations", (*series, "weighted"), sum(counted.counts)
    yield "lanewatch_weight_sq", by_reference, counted.squares
    if reading.kind is Kind.EVENT:
        yield "lanewatch_trials", by_reference, sum(counted.counts)
        yield "lanewatch_events", by_reference, counted.counts[1]
        yield "lanewatch_expected_events", by_reference, counted.expected[1]
        return
    for name, count, expected in zip(bins, counted.counts, counted.expected, strict=True):
        yield "lanewatch_bin", (*by_reference, name), count
        yield "lanewatch_bin_expected", (*by_reference, name), expected


def _alarm(reading: SeriesReading, series: tuple[str, ...]) -> Iterator[Row]:
    kind, alarm = KINDS.get(reading.kind, "distribution"), reading.alarm
    for state in State:
        yield "lanewatch_drift_state", (*series, state), reading.state is state
    for because in dict.fromkeys(reason.partition(":")[0] for reason in reading.because):
        yield "lanewatch_drift_held_back", (*series, label_text(because)), 1
    for direction in ("up", "down") if reading.kind is Kind.EVENT else ("any",):
        stands = alarm is not None and alarm.direction == direction
        yield "lanewatch_alarm", (*series, kind, direction), stands
    yield "lanewatch_alarms", (*series, kind), reading.alarms
    if alarm is not None:
        yield "lanewatch_alarm_change_timestamp_seconds", (*series, kind), alarm.changed * TICK_SECONDS
        yield "lanewatch_alarm_return_ratio", series, alarm.back / CLEAR_MINUTES
        for name, moved in zip(_bin_labels(tuple(m.name for m in alarm.moved)), alarm.moved, strict=True):
            yield "lanewatch_alarm_moved", (*series, name, "expected"), moved.expected
            yield "lanewatch_alarm_moved", (*series, name, "found"), moved.found
    for one in reading.detecting:
        yield "lanewatch_evidence_ratio", (*series, one.detector, one.direction), one.ratio
        part = MEAN_PART if one.detector == "t2" else BANK_PART
        labels = (*series, one.detector, one.direction)
        yield "lanewatch_detector_false_alarm_budget_per_30d", labels, reading.budget * part
    yield "lanewatch_series_false_alarm_budget_per_30d", series, reading.budget
    if reading.critical is not None:
        yield "lanewatch_chi2_critical", series, reading.critical


def _effects(reading: SeriesReading, series: tuple[str, ...], bins: tuple[str, ...]) -> Iterator[Row]:
    for rate in reading.rates:
        labels = (*series, _window(rate.minutes))
        yield "lanewatch_rate", labels, rate.rate
        yield "lanewatch_rate_lower", labels, rate.lower
        yield "lanewatch_rate_upper", labels, rate.upper
        yield "lanewatch_rate_reference", labels, rate.reference
        yield "lanewatch_rate_ratio", labels, rate.ratio
        yield "lanewatch_effective_n", labels, rate.worth
    for shares in reading.shares:
        labels = (*series, _window(shares.minutes))
        yield "lanewatch_drift_psi", labels, shares.psi
        yield "lanewatch_drift_psi_excess", labels, shares.psi_excess
        yield "lanewatch_drift_psi_threshold", labels, shares.psi_threshold
        yield "lanewatch_drift_kl_nats", labels, shares.kl_nats
        yield "lanewatch_drift_js_distance", labels, shares.js_distance
        if shares.wasserstein_sd is not None:
            yield "lanewatch_drift_wasserstein_sd", labels, shares.wasserstein_sd
        yield "lanewatch_drift_log10_p", labels, shares.log10_p
        yield "lanewatch_effective_n", labels, shares.worth
        if shares.minutes == CONTRIBUTION_MINUTES:
            for name, part in zip(bins, shares.contributions, strict=True):
                yield "lanewatch_bin_contribution", (*series, name, _window(shares.minutes)), part
    for vectors in reading.vectors:
        labels = (*series, _window(vectors.minutes))
        yield "lanewatch_drift_psi", labels, vectors.psi
        if vectors.kl_nats is not None:
            yield "lanewatch_drift_kl_nats", labels, vectors.kl_nats
        yield "lanewatch_drift_log10_p", labels, vectors.log10_p
        yield "lanewatch_embedding_residual_psi", labels, vectors.residual_psi
        yield "lanewatch_embedding_components_over_ratio", labels, vectors.share_over
        yield "lanewatch_effective_n", labels, vectors.worth


def _reference(reading: SeriesReading, series: tuple[str, ...]) -> Iterator[Row]:
    facts = reading.reference
    yield "lanewatch_design_effect", series, facts.phi
    yield "lanewatch_reference_span_seconds", series, facts.days * 86_400
    yield "lanewatch_reference_effective_n", series, facts.worth
    yield "lanewatch_reference_inverse_n", series, facts.inverse_n
    if facts.kappa_day is not None:
        yield "lanewatch_reference_kappa", series, facts.kappa_day
    if facts.tau is not None:
        yield "lanewatch_reference_tau", series, facts.tau
    for gap in facts.gaps:
        yield "lanewatch_reference_gap", (*series, gap), 1


def _window(minutes: int) -> str:
    """As Prometheus writes durations.

    >>> _window(5), _window(1440)
    ('5m', '24h')
    """
    return f"{minutes}m" if minutes % 60 else f"{minutes // 60}h"


@lru_cache(maxsize=2048)  # asked at each scrape of each signal
def _bin_labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of bins as labels, each once: two tools may differ only in what a label can't show.

    >>> _bin_labels(("a", "", "?"))
    ('a', '?', '? #2')
    """
    labels: list[str] = []
    for name in names:
        labels.append(_apart(label_text(name), labels))
    return tuple(labels)


def _apart(label: str, taken: Collection[str]) -> str:
    number, apart = 1, label
    while apart in taken:
        number += 1
        apart = f"{label} #{number}"
    return apart
