"""The exposition: bounded series, zero from the start, exemplars, and text that Prometheus' own parser reads."""

from collections import Counter

import pytest
from lanewatch.monitors.exposition import METRICS, Exposition
from lanewatch.monitors.lanes import Lane, Status
from lanewatch.monitors.owners import BUILT_IN
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
    exposition.add(Counter({("lanewatch_lane_status", ("shop", "tools", "fail")): 1}), TRACE)
    seen = values(exposition)

    for lane in Lane:
        for status in Status:
            labels = (("lane", lane), ("service", "shop"), ("status", status))
            assert seen["lanewatch_lane_status_total", labels] == float((lane, status) == (Lane.TOOLS, Status.FAIL))


def test_every_disposition_and_its_sources_are_exported_from_the_first_trace() -> None:
    """A source that never told a refusal is there as 0, and what can't be (an abstention told by a field) is not."""
    exposition = Exposition(max_services=5, max_tools=5)
    exposition.add(Counter({("lanewatch_lane_status", ("shop", "tools", "fail")): 1}), TRACE)
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


def test_handoffs_of_every_owner_that_is_built_in_are_exported_from_the_first_trace() -> None:
    """As 0: an alert on a rise from nothing needs the nothing."""
    exposition = Exposition(max_services=10, max_tools=10)
    exposition.add(Counter({("lanewatch_lane_status", ("shop", "tools", "pass")): 1}))
    found = {key: value for key, value in values(exposition).items() if key[0] == "lanewatch_handoffs_total"}

    assert len(found) == len(BUILT_IN) == len(set(BUILT_IN))
    assert set(found.values()) == {0}


def test_labels_beyond_the_limit_fold_into_other_and_are_counted() -> None:
    """500,000 made-up tool names make one series more than the limit."""
    exposition = Exposition(max_services=2, max_tools=3)
    for number in range(10):
        exposition.add(Counter({("lanewatch_tool_requests", ("shop", f"tool{number}")): 1}), TRACE)
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
    exposition.add(Counter({("lanewatch_tool_requests", ("shop", name)): 1}), TRACE)
    (tool,) = [
        dict(labels)["tool"] for (sample, labels) in values(exposition) if sample == "lanewatch_tool_requests_total"
    ]

    assert 0 < len(tool) <= 120
    assert tool.isprintable()


@pytest.mark.parametrize("code", [0x200F, 0x061C, 0xFEFF, 0x200B, 0x2066, 0xAD, 0x9B, 0x7F, 0xD800, 0xE0041])
def test_a_character_that_hides_or_reorders_is_written_out(code: int) -> None:
    """Two names that look alike are two series, and whoever looks at them sees why."""
    exposition = Exposition(max_services=2, max_tools=3)
    for name in (f"re{chr(code)}fund", "refund"):
        exposition.add(Counter({("lanewatch_tool_requests", ("shop", name)): 1}), TRACE)
    tools = {
        dict(labels)["tool"] for (sample, labels) in values(exposition) if sample == "lanewatch_tool_requests_total"
    }

    assert tools == {"refund", f"re{ascii(chr(code))[1:-1]}fund"}


def test_bounded_readings_share_their_series() -> None:
    """What was counted for ten thousand traces is remembered, so each must not hold names of its own."""
    exposition = Exposition(max_services=2, max_tools=3)
    readings = [
        exposition.bounded(Counter({("lanewatch_tool_requests", ("shop", f"{'x' * 500}{n}")): 1 for n in range(50)}))
        for _ in range(2)
    ]

    assert readings[0] == readings[1]
    assert len(readings[0]) == 1  # all are the same once they are cut
    assert {id(series) for series in readings[0]} == {id(series) for series in readings[1]}


def test_what_folds_is_counted_once_for_each_count() -> None:
    """Bounding the same readings again, as a revision does, folds nothing more."""
    exposition = Exposition(max_services=2, max_tools=1)
    counts = exposition.bounded(Counter({("lanewatch_tool_requests", ("shop", f"tool{n}")): 2 for n in range(3)}))
    exposition.bounded(Counter({("lanewatch_tool_requests", ("shop", "tool2")): 2}))
    exposition.count(counts, TRACE)
    seen = values(exposition)

    assert seen["lanewatch_tool_requests_total", (("service", "shop"), ("tool", "other"))] == 4
    assert seen["lanewatch_labels_folded_total", (("label", "tool"),)] == 4


def test_openmetrics_carries_the_trace_as_an_exemplar() -> None:
    """From a diverging series to a trace in one click."""
    exposition = Exposition(max_services=2, max_tools=3)
    labels = ("shop", "refund", "dispatch", "arguments")
    exposition.add(Counter({("lanewatch_divergences", labels): 1}), TRACE)
    text = exposition.text(openmetrics=True).decode()
    families = parse_openmetrics(text)  # type: ignore[no-untyped-call]
    (sample,) = [s for f in families for s in f.samples if s.name == "lanewatch_divergences_total"]

    assert sample.exemplar.labels == {"trace_id": TRACE}


def test_withdrawn_counts_are_told() -> None:
    """A counter can't go down, so that it was wrong is a count of its own."""
    exposition = Exposition(max_services=2, max_tools=3)
    exposition.count(
        Counter(), TRACE, exposition.bounded(Counter({("lanewatch_divergences", ("shop", "t", "dispatch", "name")): 2}))
    )

    assert values(exposition)["lanewatch_corrections_total", (("metric", "lanewatch_divergences"),)] == 2


def test_every_metric_has_a_service() -> None:
    """An instance watches several services, and none may hide behind another."""
    assert all("service" in labels for _, labels in METRICS.values())
