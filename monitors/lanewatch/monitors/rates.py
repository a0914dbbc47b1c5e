"""Rates with honest intervals, out of the counters that are exported: one table of what is divided by what.

Invariants: each rate belongs to one lane and one service, and nothing is added up across lanes; what was not seen or can't
be told is in no denominator, and its number is told beside it; without a trial there is no rate, which is not 0.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from lanewatch.adapters.records import Disposition, ErrorKind, Executed
from lanewatch.monitors.drift.calibration import wilson
from lanewatch.monitors.verdicts import Lane, Status

Labels: TypeAlias = Mapping[str, str]
Sample: TypeAlias = tuple[str, Labels, float]  # counter's name without `_total`, labels, value


class Of(msgspec.Struct, frozen=True):
    """The sum of a counter over the label values named; a label that is not named may have any value."""

    metric: str
    only: Mapping[str, frozenset[str]] = {}

    def has(self, metric: str, labels: Labels) -> bool:
        """Whether a sample is part of it."""
        return metric == self.metric and all(labels.get(label) in values for label, values in self.only.items())


class RateRow(msgspec.Struct, frozen=True):
    """One rate: `events` among `trials`; `unknown` are those that could not be told and are no trial."""

    name: str
    lane: Lane
    events: Of
    trials: Of
    unknown: Of


class Rate(msgspec.Struct, frozen=True):
    """A rate of one service with its 95 % interval (Wilson 1927); without a trial all three are None."""

    name: str
    lane: Lane
    events: float
    trials: float
    unknown: float
    rate: float | None
    low: float | None
    high: float | None


class ServiceRates(msgspec.Struct, frozen=True):
    """What a report tells of one service: per lane the number of traces by status, and the rates."""

    service: str
    lanes: dict[Lane, dict[Status, float]]
    rates: tuple[Rate, ...]


def _of(metric: str, **only: str | tuple[str, ...]) -> Of:
    sets = {label: frozenset((values,) if isinstance(values, str) else values) for label, values in only.items()}
    return Of(metric, sets)


def _responses(*dispositions: Disposition) -> Of:
    return _of("lanewatch_responses", refusal=dispositions)


# Refusals and abstentions are told positively or not at all: an undetermined answer is an answer that was seen, so it is a
# trial (docs/decisions/0009); how many there were is told beside the rate.
ANSWERS = _responses(*Disposition)
ERRORS = tuple(kind for kind in ErrorKind if kind is not ErrorKind.DEFERRED)  # what waits for a person did not fail
RATES: tuple[RateRow, ...] = (
    RateRow("abstention", Lane.RETRIEVAL, _responses(Disposition.ABSTAINED), ANSWERS, _responses(Disposition.UNDETERMINED)),
    RateRow("refusal", Lane.OUTCOME, _responses(Disposition.REFUSED), ANSWERS, _responses(Disposition.UNDETERMINED)),
    RateRow(
        "tool_error",
        Lane.TOOLS,
        _of("lanewatch_tool_dispatches", executed=Executed.YES, outcome=ERRORS),
        _of("lanewatch_tool_dispatches", executed=Executed.YES),
        _of("lanewatch_tool_dispatches", executed=Executed.UNKNOWN),
    ),
    *(
        RateRow(
            f"schema_{side}",
            Lane.TOOLS,
            _of("lanewatch_schema_checks", side=side, outcome="invalid"),
            _of("lanewatch_schema_checks", side=side, outcome=("valid", "invalid")),
            _of(
                "lanewatch_schema_checks",
                side=side,
                outcome=("no_schema", "unusable_schema", "not_seen", "not_proved", "too_expensive"),
            ),
        )
        for side in ("requested", "dispatched")
    ),
    RateRow(
        "runtime_divergence",
        Lane.TOOLS,
        _of("lanewatch_dispatch_comparisons", result="divergent"),
        _of("lanewatch_dispatch_comparisons", result=("equal", "divergent")),
        _of("lanewatch_dispatch_comparisons", result="unknown"),
    ),
    RateRow(
        "artifact_divergence",
        Lane.TOOLS,
        _of("lanewatch_artifacts", outcome="divergent"),
        _of("lanewatch_artifacts", outcome=("equal", "divergent")),
        _of("lanewatch_artifacts", outcome=("incomplete", "failed", "timed_out", "skipped", "unclaimed", "unsupported")),
    ),
)  # fmt: skip


def service_rates(samples: Iterable[Sample]) -> tuple[ServiceRates, ...]:
    """The rates of every service that the samples name, by service."""
    kept = [sample for sample in samples if "service" in sample[1]]
    by_service: dict[str, list[Sample]] = {}
    for sample in kept:
        by_service.setdefault(sample[1]["service"], []).append(sample)
    return tuple(_rates(service, own) for service, own in sorted(by_service.items()))


def _rates(service: str, samples: list[Sample]) -> ServiceRates:
    def total(of: Of) -> float:
        return sum(value for metric, labels, value in samples if of.has(metric, labels))

    lanes = {
        lane: {status: total(_of("lanewatch_lane_status", lane=lane, status=status)) for status in Status}
        for lane in Lane
    }
    rates = tuple(_rate(row, total(row.events), total(row.trials), total(row.unknown)) for row in RATES)
    return ServiceRates(service, lanes, rates)


def _rate(row: RateRow, events: float, trials: float, unknown: float) -> Rate:
    if trials <= 0:
        return Rate(row.name, row.lane, events, trials, unknown, None, None, None)
    low, high = wilson(min(events, trials), trials)
    return Rate(row.name, row.lane, events, trials, unknown, events / trials, low, high)


def passed(statuses: Mapping[Status, float]) -> tuple[float, float, tuple[float, float] | None]:
    """(passed, judged, 95 % interval) of a lane; what was not judged is in neither."""
    judged = statuses[Status.PASS] + statuses[Status.FAIL]
    return statuses[Status.PASS], judged, wilson(statuses[Status.PASS], judged) if judged else None
