"""docs/judge.md says of every reason what it means: a missing score must never be a riddle."""

import re

from lanewatch.config.reference import describe
from lanewatch.monitors.judge.forecast import TYPICAL
from lanewatch.monitors.judge.metrics import METRICS
from lanewatch.monitors.judge.results import Reason

from tests.contracts.source_tree import ROOT

PAGE = (ROOT / "docs" / "judge.md").read_text()


def test_every_reason_stands_in_the_page() -> None:
    """Alerts and the doctor send people there."""
    assert [reason for reason in Reason if reason and f"`{reason}`" not in PAGE] == []


def test_the_page_names_no_setting_that_is_not_there() -> None:
    """A renamed setting would send people into a fault."""
    named = set(re.findall(r"`((?:judge|budget|sampling)\.[a-z_]+)`", PAGE))

    assert named - {row.name for row in describe()} == {"judge.sqlite"} & named


def test_the_forecast_knows_every_metric_that_costs() -> None:
    """And the page tells its tokens."""
    paid = {metric.name for metric in METRICS if metric.paid}

    assert paid == set(TYPICAL)
    assert [name for name, (n, m) in TYPICAL.items() if f"| `{name}` | {n:,} / {m:,} |" not in PAGE] == []
