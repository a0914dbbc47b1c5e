"""What became of a request: the one place that decides between dispatched, dropped, blocked, invalid and unknown."""

from bisect import bisect_left
from functools import cached_property
from itertools import islice

from lanewatch.adapters.argument_schema import breaks_schema
from lanewatch.adapters.facts import AGENT, HANDOFF, ErrorKind, Executed, LlmCall, Step, ToolKind
from lanewatch.adapters.identity import fold
from lanewatch.adapters.messages import ToolCall, ToolResult
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Dispatch, Outcome, ToolRequest
from lanewatch.adapters.rejections import rejected, says_invalid_arguments, says_unknown_tool
from lanewatch.adapters.turns import SLACK_NS, Turn

HANDOFF_PREFIXES = ("transfer_to_", "handoff_to_", "transfer_back_to_")
STEPS_LIMIT = 1000  # agents and handoffs of one turn that are looked at
REASONS_LIMIT = 100  # error texts of steps that are looked through for a request's name


class Reasons:
    """What a trace's calls, steps and runs say about requests that no run answers."""

    def __init__(self, calls: list[LlmCall], turns: list[Turn], steps: list[Step], dispatches: list[Dispatch]) -> None:
        self.calls, self.turns, self.steps, self.dispatches = calls, turns, steps, dispatches

    # Worked out where a request is unanswered, which is rare.

    @cached_property
    def instrumented(self) -> bool:
        """Whether the trace shows runs, so that it would show this one too."""
        return bool(self.dispatches) or any(step.instruments_tools for step in self.steps)

    @cached_property
    def unpaired(self) -> frozenset[str]:
        """Folded names of tools that ran for no request."""
        runs = (run for run in self.dispatches if run.request is None and run.executed is not Executed.NO)
        return frozenset(fold(run.name) for run in runs)

    @cached_property
    def awaited(self) -> frozenset[str]:
        """Ids of calls that agents handed back."""
        return frozenset(call_id for step in self.steps for call_id in step.awaits)

    @cached_property
    def _started(self) -> list[tuple[int, str, bool]]:
        """When which agent began, and whether by a handoff, in order of time."""
        agents = (step for step in self.steps if step.target and step.role in (HANDOFF, AGENT))
        return sorted((step.span.start_ns, fold(step.target or ""), step.role == HANDOFF) for step in agents)

    @cached_property
    def _errors(self) -> list[str]:
        """Error texts of steps that speak of tools or arguments; every step above the failing one repeats its text."""
        messages = dict.fromkeys(step.error.message for step in self.steps if step.error is not None)
        telling = (text for text in messages if text and (says_unknown_tool(text) or says_invalid_arguments(text)))
        return list(islice(telling, REASONS_LIMIT))

    def handed_over(self, request: ToolRequest) -> bool:
        """Whether a step in the request's turn carries it on: a handoff, which names the agent and not the call, or the
        agent's own span where agents are called by their names (smolagents).
        """
        turn = self.turns[request.turn]
        name = fold(request.name)
        first = bisect_left(self._started, (turn.span.start_ns,))
        for start, agent, handoff in self._started[first : first + STEPS_LIMIT]:
            if turn.until_ns is not None and start > turn.until_ns + SLACK_NS:
                return False
            if agent == name or (handoff and agent in name):
                return True
        return False

    def refused_by_step(self, request: ToolRequest) -> bool:
        """Whether an agent's or chain's error says that this tool, or its arguments, could not be used."""
        return any(request.name in text for text in self._errors)

    def breaks_offer(self, request: ToolRequest) -> bool:
        """Whether the model called a tool that it was not offered, or with arguments that can't be the tool's."""
        offered = self.calls[request.turn].tools
        if request.arguments_state == State.CAPTURED and request.arguments is None:
            return True  # no JSON object: nothing to call a function with
        if offered is None:
            return False
        schema = offered.get(request.name)
        return request.name not in offered or (isinstance(schema, dict) and breaks_schema(request.arguments, schema))


def outcome_of(
    request: ToolRequest,
    part: ToolCall,
    answers: list[Dispatch],
    shown: ToolResult | None,
    reasons: Reasons,
    *,
    ended: bool,
) -> Outcome:
    """Decide for one request. `ended`: the run went on or came to its end after the request, so that an answer would
    have arrived.
    """
    if answers:
        return _answered(answers)
    if part.by_provider:
        return Outcome.BY_PROVIDER
    if request.name.startswith(HANDOFF_PREFIXES) or reasons.handed_over(request):
        return Outcome.HANDOFF
    told = _told(request, shown, reasons)
    if told is not None:
        return told
    if shown is None and (not ended or request.call_id in reasons.awaited):
        return Outcome.PENDING
    if not reasons.instrumented:
        return Outcome.UNKNOWN
    if reasons.breaks_offer(request):
        return Outcome.INVALID
    if part.left_open and shown is None:
        return Outcome.PENDING
    if shown is not None and not shown.is_error and rejected(shown.content.text) is Executed.YES:
        # The model was shown what looks like a genuine result, yet no span ran: this tool may not be instrumented.
        return Outcome.UNKNOWN
    if fold(request.name) in reasons.unpaired:
        # The tool ran, and no rule could say for which request: clocks that differ, or counts that do not agree.
        return Outcome.UNKNOWN
    return Outcome.NOT_DISPATCHED


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


def _told(request: ToolRequest, shown: ToolResult | None, reasons: Reasons) -> Outcome | None:
    """Why the runtime would not run it, where the result that the model was shown or an error on a step says so."""
    text = shown.content.text if shown is not None else None
    if rejected(text) is Executed.NO:
        return Outcome.BLOCKED
    if text is not None and (says_unknown_tool(text) or says_invalid_arguments(text)):
        return Outcome.INVALID
    return Outcome.INVALID if reasons.refused_by_step(request) else None
