"""What became of a request: the one place that decides between dispatched, dropped, blocked, invalid and unknown."""

from lanewatch.adapters.facts import HANDOFF, ErrorKind, Executed, LlmCall, Step, ToolKind
from lanewatch.adapters.failures import INVALID_ARGUMENTS, UNKNOWN_TOOL, breaks_schema, rejected
from lanewatch.adapters.identity import fold
from lanewatch.adapters.messages import ToolCall, ToolResult
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Dispatch, Outcome, ToolRequest

HANDOFF_PREFIXES = ("transfer_to_", "handoff_to_", "transfer_back_to_")


def outcome_of(
    request: ToolRequest,
    part: ToolCall,
    answers: list[Dispatch],
    shown: ToolResult | None,
    calls: list[LlmCall],
    steps: list[Step],
    *,
    instrumented: bool,
    ended: bool,
) -> Outcome:
    """Decide for one request.

    `instrumented`: this trace would show a tool's run. `ended`: the run went on or came to its end after the request,
    so that an answer would have arrived.
    """
    if answers:
        return _answered(answers)
    if part.by_provider:
        return Outcome.BY_PROVIDER
    if request.name.startswith(HANDOFF_PREFIXES) or _handed_over(request, calls, steps):
        return Outcome.HANDOFF
    reason = _refusal(request, shown, calls, steps)
    if reason is not None:
        return reason
    if not ended and shown is None:
        return Outcome.PENDING
    if not instrumented:
        return Outcome.UNKNOWN
    if shown is not None and not shown.is_error and rejected(shown.content.text) is Executed.YES:
        # The model was shown what looks like a genuine result, yet no span ran: this tool may not be instrumented.
        return Outcome.UNKNOWN
    return Outcome.NOT_DISPATCHED


def _handed_over(request: ToolRequest, calls: list[LlmCall], steps: list[Step]) -> bool:
    """Whether a handoff step right after the model's call is this request: it names the agent, not the call."""
    asked = calls[request.turn].span
    later = [call.span.start_ns for call in calls[request.turn + 1 :] if call.span.start_ns >= asked.end_ns]
    until = min(later, default=None)
    names = [
        fold(step.span.name.rpartition(" ")[2])
        for step in steps
        if step.role == HANDOFF
        and step.span.start_ns >= asked.start_ns
        and (until is None or step.span.start_ns <= until)
    ]
    return any(name and name in fold(request.name) for name in names)


def _answered(answers: list[Dispatch]) -> Outcome:
    if any(answer.kind is ToolKind.HANDOFF for answer in answers):
        return Outcome.HANDOFF
    if any(answer.executed is Executed.YES for answer in answers):
        return Outcome.DISPATCHED
    if any(answer.executed is Executed.UNKNOWN for answer in answers):
        return Outcome.UNKNOWN
    kinds = {answer.error.kind for answer in answers if answer.error is not None}
    if ErrorKind.BLOCKED in kinds:
        return Outcome.BLOCKED
    return Outcome.INVALID if ErrorKind.VALIDATION in kinds else Outcome.NOT_DISPATCHED


def _refusal(
    request: ToolRequest,
    shown: ToolResult | None,
    calls: list[LlmCall],
    steps: list[Step],
) -> Outcome | None:
    """Why the runtime would not run it, where that is told: by the result, by an error on a step, or by the tools that
    were offered.
    """
    text = shown.content.text if shown is not None else None
    if text is not None and rejected(text) is Executed.NO:
        return Outcome.BLOCKED
    if text is not None and (UNKNOWN_TOOL.search(text) or INVALID_ARGUMENTS.search(text)):
        return Outcome.INVALID
    for step in steps:
        message = step.error.message if step.error is not None else None
        if message and request.name in message and (UNKNOWN_TOOL.search(message) or INVALID_ARGUMENTS.search(message)):
            return Outcome.INVALID
    offered = calls[request.turn].tools
    if offered is not None and request.name not in offered:
        return Outcome.INVALID
    if request.arguments_state == State.CAPTURED and request.arguments is None:
        return Outcome.INVALID  # no JSON object: nothing to call a function with
    schema = offered.get(request.name) if offered is not None else None
    if isinstance(schema, dict) and breaks_schema(request.arguments, schema):
        return Outcome.INVALID
    return None
