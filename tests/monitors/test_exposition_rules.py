"""The versions of the rules as a metric."""

from lanewatch.monitors.exposition import Exposition


def test_the_versions_of_registry_and_policies_are_told() -> None:
    """A rate that moves with a version moved with the rules, and not with the traffic."""
    exposition = Exposition(max_services=5, max_tools=5)
    exposition.watch_rules("0123456789ab", "")

    text = exposition.text(openmetrics=False).decode()

    assert 'lanewatch_rules_info{policies="",registry="0123456789ab"} 1.0' in text
