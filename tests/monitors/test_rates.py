"""Rates out of counters: what is divided by what, and what is never added up."""

from typing import Any

import pytest
from lanewatch.monitors.drift.calibration import wilson
from lanewatch.monitors.exposition import METRICS
from lanewatch.monitors.rates import RATES, Rate, Sample, passed, service_rates
from lanewatch.monitors.verdicts import Lane, Status


def sample(metric: str, value: float, service: str = "shop", **labels: Any) -> Sample:
    """One sample of a counter."""
    return (metric, {"service": service, **{label: str(one) for label, one in labels.items()}}, value)


def rate(name: str, *samples: Sample) -> Rate:
    """One rate of the shop."""
    (only,) = service_rates(samples)
    return next(one for one in only.rates if one.name == name)


ANSWERS = (
    sample("lanewatch_responses", 3, refusal="refused", source="field"),
    sample("lanewatch_responses", 1, refusal="refused", source="text"),
    sample("lanewatch_responses", 2, refusal="abstained", source="text"),
    sample("lanewatch_responses", 34, refusal="undetermined", source="none"),
)


def test_a_rate_has_the_interval_of_its_counts() -> None:
    """4 refusals among 40 answers, over all sources."""
    found = rate("refusal", *ANSWERS)

    assert (found.events, found.trials, found.unknown, found.rate) == (4, 40, 34, 0.1)
    assert (found.low, found.high) == wilson(4, 40)


def test_a_refusal_is_no_abstention() -> None:
    """Each has a lane of its own."""
    found = rate("abstention", *ANSWERS)

    assert (found.events, found.lane) == (2, Lane.RETRIEVAL)
    assert rate("refusal", *ANSWERS).lane is Lane.OUTCOME


def test_without_a_trial_there_is_no_rate() -> None:
    """Neither 0 nor 1."""
    found = rate("tool_error", *ANSWERS)

    assert (found.trials, found.rate, found.low, found.high) == (0, None, None, None)


def test_only_runs_that_are_proved_are_trials() -> None:
    """A call that was turned down did not run; of one that may have run nothing is told."""
    labels = {"tool": "pay"}
    found = rate(
        "tool_error",
        sample("lanewatch_tool_dispatches", 8, executed="yes", outcome="ok", **labels),
        sample("lanewatch_tool_dispatches", 2, executed="yes", outcome="failure", **labels),
        sample("lanewatch_tool_dispatches", 1, executed="yes", outcome="deferred", **labels),
        sample("lanewatch_tool_dispatches", 5, executed="no", outcome="blocked", **labels),
        sample("lanewatch_tool_dispatches", 7, executed="unknown", outcome="failure", **labels),
    )

    assert (found.events, found.trials, found.unknown) == (2, 11, 7)


def test_what_has_no_schema_is_no_trial() -> None:
    """Unchecked is never valid."""
    found = rate(
        "schema_requested",
        sample("lanewatch_schema_checks", 1, tool="pay", side="requested", outcome="invalid"),
        sample("lanewatch_schema_checks", 3, tool="pay", side="requested", outcome="valid"),
        sample("lanewatch_schema_checks", 90, tool="pay", side="requested", outcome="no_schema"),
        sample("lanewatch_schema_checks", 5, tool="pay", side="dispatched", outcome="invalid"),
    )

    assert (found.events, found.trials, found.unknown) == (1, 4, 90)


def test_services_are_told_apart() -> None:
    """In order of their names."""
    found = service_rates([*ANSWERS, sample("lanewatch_responses", 5, "mail", refusal="refused", source="field")])

    assert [(one.service, next(r.trials for r in one.rates if r.name == "refusal")) for one in found] == [
        ("mail", 5),
        ("shop", 40),
    ]


def test_a_lane_passes_among_what_was_judged() -> None:
    """What is incomplete is neither passed nor failed."""
    statuses = dict.fromkeys(Status, 0.0) | {Status.PASS: 3, Status.FAIL: 1, Status.INCOMPLETE: 96}

    assert passed(statuses) == (3, 4, wilson(3, 4))
    assert passed(dict.fromkeys(Status, 0.0)) == (0, 0, None)


@pytest.mark.parametrize("row", RATES, ids=lambda row: row.name)
def test_each_rate_divides_counters_that_are_exported(row: Any) -> None:
    """By labels that these counters have; events are trials, and what is unknown is no event."""
    for part in (row.events, row.trials, row.unknown):
        assert set(part.only) <= set(METRICS[part.metric][1])
    assert row.events.metric == row.trials.metric
    assert all(values <= row.trials.only.get(label, values) for label, values in row.events.only.items())


def test_no_rate_is_of_two_lanes() -> None:
    """Lane by lane, side by side: nothing has all lanes in it."""
    assert all(isinstance(row.lane, Lane) for row in RATES)
    assert not any(part.metric == "lanewatch_lane_status" for row in RATES for part in (row.events, row.trials))
