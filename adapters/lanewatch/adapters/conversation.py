"""A conversation of several traces: the turns of one session, joined into one artifact."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from lanewatch.adapters.records import TraceRecord


def conversations(records: Iterable[TraceRecord]) -> dict[str, tuple[dict[str, Any], ...]]:
    """Ragas' message dictionaries by session id, turns in order of their start.

    Each trace's own messages hold that turn alone, so joining them repeats nothing. Of several revisions of a trace the
    last one counts. Traces without a session id belong to no conversation.
    """
    latest: OrderedDict[str, TraceRecord] = OrderedDict()
    for record in records:
        if record.session_id is not None:
            known = latest.get(record.trace_id)
            if known is None or known.revision <= record.revision:
                latest[record.trace_id] = record
    joined: dict[str, tuple[dict[str, Any], ...]] = {}
    for record in sorted(latest.values(), key=lambda r: (r.start_ns, r.trace_id)):
        assert record.session_id is not None
        joined[record.session_id] = joined.get(record.session_id, ()) + record.messages
    return joined
