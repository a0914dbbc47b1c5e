"""The exposition: bounded series, zero from the start, exemplars, and text that Prometheus' own parser reads."""

from collections import Counter

import pytest
from lanewatch.monitors.exposition import METRICS, Exposition
from lanewatch.monitors.lanes import Lane, Status
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families

TRACE = "0f" * 16


def values(exposition: Exposition) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples by name and labels, read back by Prometheus' own parser."""
    families = text_string_to_metric_families(exposition.text(openmetrics=False).decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_a_service_is_exported_whole_from_its_first_trace() -> None:
    """Every lane and status is there as 0, so that a rate over it is 0 and not nothing."""
    exposition = Exposition(max_services=5, max_tools=5)
    exposition.add(Counter({("lanewatch_lane_status", ("shop", "tools", "fail")): 1}), TRACE, Counter())
    seen = values(exposition)

    for lane in Lane:
        for status in Status:
            labels = (("lane", lane), ("service", "shop"), ("status", status))
            assert seen["lanewatch_lane_status_total", labels] == float((lane, status) == (Lane.TOOLS, Status.FAIL))


def test_every_disposition_and_its_sources_are_exported_from_the_first_trace() -> None:
    """A source that never told a refusal is there as 0, and what can't be (an abstention told by a field) is not."""
    exposition = Exposition(max_services=5, max_tools=5)
    exposition.add(Counter({("lanewatch_lane_status", ("shop", "tools", "fail")): 1}), TRACE, Counter())
    series = {
        (dict(labels)["refusal"], dict(labels)["source"])
        for name, labels in values(exposition)
        if name == "lanewatch_responses_total"
    }

    assert series == {
        *(("refused", source) for source in ("field", "finish_reason", "marker", "exception", "text")),
        ("abstained", "text"),
        ("answered", "text"),
        ("undetermined", "none"),
    }


def test_labels_beyond_the_limit_fold_into_other_and_are_counted() -> None:
    """500,000 made-up tool names make one series more than the limit."""
    exposition = Exposition(max_services=2, max_tools=3)
    for number in range(10):
        exposition.add(Counter({("lanewatch_tool_requests", ("shop", f"tool{number}")): 1}), TRACE, Counter())
    seen = values(exposition)

    assert seen["lanewatch_tool_requests_total", (("service", "shop"), ("tool", "other"))] == 7
    assert seen["lanewatch_labels_folded_total", (("label", "tool"),)] == 7
    assert len([key for key in seen if key[0] == "lanewatch_tool_requests_total"]) == 4


@pytest.mark.parametrize(
    "name", ['a\nb"c\\d', "x" * 10_000, "\u202eevil", "", "tool{x=1}", "\x00", "\ud83d", "a\udc00b"]
)
def test_a_hostile_name_can_neither_break_the_text_nor_grow_it(name: str) -> None:
    """Names come from traced applications."""
    exposition = Exposition(max_services=2, max_tools=3)
    exposition.add(Counter({("lanewatch_tool_requests", ("shop", name)): 1}), TRACE, Counter())
    (tool,) = [
        dict(labels)["tool"] for (sample, labels) in values(exposition) if sample == "lanewatch_tool_requests_total"
    ]

    assert 0 < len(tool) <= 120
    assert tool.isprintable()


def test_openmetrics_carries_the_trace_as_an_exemplar() -> None:
    """From a diverging series to a trace in one click."""
    exposition = Exposition(max_services=2, max_tools=3)
    labels = ("shop", "refund", "dispatch", "arguments")
    exposition.add(Counter({("lanewatch_divergences", labels): 1}), TRACE, Counter())
    text = exposition.text(openmetrics=True).decode()
    families = parse_openmetrics(text)  # type: ignore[no-untyped-call]
    (sample,) = [s for f in families for s in f.samples if s.name == "lanewatch_divergences_total"]

    assert sample.exemplar.labels == {"trace_id": TRACE}


def test_withdrawn_counts_are_told() -> None:
    """A counter can't go down, so that it was wrong is a count of its own."""
    exposition = Exposition(max_services=2, max_tools=3)
    exposition.add(Counter(), TRACE, Counter({("lanewatch_divergences", ("shop", "t", "dispatch", "name")): 2}))

    assert values(exposition)["lanewatch_corrections_total", (("metric", "lanewatch_divergences"),)] == 2


def test_every_metric_has_a_service() -> None:
    """An instance watches several services, and none may hide behind another."""
    assert all("service" in labels for _, labels in METRICS.values())
