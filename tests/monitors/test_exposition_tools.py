"""What the registry says of tools, as a metric: by every spelling that other metrics use, the unknown risk told as such."""

from typing import Any

from lanewatch.monitors.exposition import Exposition
from lanewatch.monitors.readings import Readings
from lanewatch.monitors.tools import Registry, Risk, Tool
from prometheus_client.parser import text_string_to_metric_families

REGISTRY = Registry((Tool("refund", ("issue_refund",), risk=Risk.DESTRUCTIVE, owner="payments"), Tool("search")))


def told(*seen: str, max_tools: int = 5) -> dict[str, tuple[str, str]]:
    """By tool: risk and owner, after these tools were asked for."""
    exposition = Exposition(max_services=2, max_tools=max_tools)
    exposition.watch_tools(REGISTRY)
    exposition.add(Readings({("lanewatch_tool_requests", ("shop", one)): 1 for one in seen}))
    families = text_string_to_metric_families(exposition.text(openmetrics=False).decode())
    samples: list[Any] = [one for family in families for one in family.samples if one.name == "lanewatch_tool_info"]
    assert {one.value for one in samples} <= {1.0}
    assert len({one.labels["tool"] for one in samples}) == len(samples)
    return {one.labels["tool"]: (one.labels["risk"], one.labels["owner"]) for one in samples}


def test_configured_tools_are_told_before_any_traffic() -> None:
    """By name and alias; what has no risk or owner of its own has the unknown one and the tool itself."""
    assert told() == {
        "refund": ("destructive", "payments"),
        "issue_refund": ("destructive", "payments"),
        "search": ("unknown", "tool search"),
    }


def test_a_spelling_of_a_configured_tool_has_its_risk() -> None:
    """The rules join by the label that divergences have, which is as the spans spell it."""
    assert told("shop-Refund")["shop-Refund"] == ("destructive", "payments")


def test_a_tool_that_nobody_configured_is_of_unknown_risk() -> None:
    """Unknown is not harmless."""
    assert told("delete_all")["delete_all"] == ("unknown", "tool delete_all")


def test_what_is_folded_is_of_unknown_risk() -> None:
    """`other` may be anything, and stands there once the limit is reached."""
    assert "other" not in told("a")
    assert told("a", "b", max_tools=2)["other"] == ("unknown", "tool other")
