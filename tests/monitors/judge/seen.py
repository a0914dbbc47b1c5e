"""Traces as the desk sees them, small."""

from typing import Any

import msgspec
from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.divergence import Divergence, find_divergences
from lanewatch.monitors.lanes import Lane, Verdict, judge_lanes

from tests.monitors.records import answer, record, retrieval


class SeenTrace(msgspec.Struct, frozen=True):
    """What was seen of a trace."""

    record: TraceRecord
    divergences: tuple[Divergence, ...] = ()
    lanes: dict[Lane, Verdict] = {}
    again: bool = False


def seen(known: TraceRecord, *, again: bool = False) -> SeenTrace:
    """A record with its divergences and lanes."""
    divergences = find_divergences(known)
    return SeenTrace(known, divergences, judge_lanes(known, divergences), again)


def rag(number: int = 0, *, again: bool = False, **fields: Any) -> SeenTrace:
    """A question that was answered from a document: every metric of answers and contexts may be asked."""
    values: dict[str, Any] = {
        "trace_id": f"{number:032x}",
        "retrievals": (retrieval("The plan costs 12 euros."),),
        "responses": (answer("It costs 12 euros."),),
        "messages": (
            {"content": "What does it cost?", "metadata": None, "type": "human"},
            {"content": "It costs 12 euros.", "metadata": None, "type": "ai", "tool_calls": None},
        ),
    }
    return seen(record(**{**values, **fields}), again=again)
