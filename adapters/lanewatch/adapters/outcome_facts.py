"""Explicit facts of what a turn or session left behind: `lanewatch.outcome`, as a span's event or as a log record.

A tool's "ok" is no proof of the durable state; whoever looked at the state can say what was expected and what was found.
Invariant: a fact that says neither a status nor both states is kept, and holds for nothing.
"""

from collections.abc import Mapping
from typing import Any

from lanewatch.adapters.identity import same
from lanewatch.adapters.json_text import is_too_deep
from lanewatch.adapters.records import OutcomeFact
from lanewatch.collector.spans import Trace

EVENT = "lanewatch.outcome"
KEYS = (b"lanewatch.outcome",)  # what the decoder looks for in raw bytes
SESSION_KEYS = ("session.id", "gen_ai.conversation.id")
STATUS = {"pass": True, "fail": False}
UNNAMED = "outcome"
MOST = 1_000  # facts of one trace
MISSING = object()


def outcome_facts(trace: Trace) -> tuple[OutcomeFact, ...]:
    """The facts of a trace, as they came in time."""
    facts = [
        fact_of(
            _short(event.attributes), session_id=_session(event.attributes), time_ns=event.time_ns, span_id=span.span_id
        )
        for span in trace.spans
        for event in span.events
        if event.name == EVENT
    ]
    for log in trace.logs:
        if log.event_name == EVENT:
            body = log.body if isinstance(log.body, dict) else {}
            values = {**body, **_short(log.attributes)}
            facts.append(
                fact_of(values, session_id=_session(log.attributes), time_ns=log.time_ns, span_id=log.span_id),
            )
    return tuple(sorted(facts[:MOST], key=lambda fact: fact.time_ns or 0))


def fact_of(
    values: Mapping[str, Any],
    *,
    session_id: str | None = None,
    time_ns: int | None = None,
    span_id: bytes = b"",
    told_by: str = "span",
) -> OutcomeFact:
    """A fact of `name`, `status` (pass or fail), `expected` and `observed`, each of which may be missing."""
    name, status = values.get("name"), values.get("status")
    expected, observed = values.get("expected", MISSING), values.get("observed", MISSING)
    held = STATUS.get(status) if isinstance(status, str) else None
    if held is None and expected is not MISSING and observed is not MISSING and not is_too_deep([expected, observed]):
        held = same(expected, observed)
    return OutcomeFact(
        name if isinstance(name, str) and name else UNNAMED,
        held,
        None if expected is MISSING else expected,
        None if observed is MISSING else observed,
        session_id,
        time_ns,
        span_id.hex() or None,
        told_by,
    )


def _short(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes below `lanewatch.outcome.`, without that."""
    prefix = f"{EVENT}."
    return {key.removeprefix(prefix): value for key, value in attributes.items() if key.startswith(prefix)}


def _session(attributes: Mapping[str, Any]) -> str | None:
    return next((value for key in SESSION_KEYS if isinstance(value := attributes.get(key), str) and value), None)
