"""What an application's instrumentation leaves out of every trace: message content, and the session.

Neither is a fault of the traffic: a switch, or a line in the application, brings it. Who looks for it asks `lanewatch doctor`.
"""

from enum import StrEnum

from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Evidence, TraceRecord


class Capture(StrEnum):
    """Whether a trace shows message content."""

    SHOWN = "shown"
    HIDDEN = "hidden"


class Told(StrEnum):
    """Whether a trace names its session."""

    TOLD = "told"
    MISSING = "missing"


_HIDDEN = (Evidence.ABSENT, Evidence.REDACTED)


def hides_content(record: TraceRecord) -> bool | None:
    """Whether what a model was asked for or answered, or what a tool was given, was kept out of the spans on purpose.

    None where no model was called: then nothing can be missed. `partial` evidence alone is no sign, since it may come of one
    span that was lost; names without any arguments are.
    """
    if not record.generations:
        return None
    if record.evidence["responses"] is Evidence.REDACTED:
        return True
    # A card number that is masked in arguments that are seen is no switch that was left off.
    if record.evidence["requests"] in _HIDDEN and "requests" not in record.half_hidden:
        return True
    if record.evidence["dispatches"] is Evidence.REDACTED and "dispatches" not in record.half_hidden:
        return True
    # A tool that takes nothing has no arguments either; then all that there is was seen.
    unseen = record.requests and not record.shows("requests")
    return bool(unseen) and all(call.arguments_state in {State.ABSENT, State.REDACTED} for call in record.requests)
