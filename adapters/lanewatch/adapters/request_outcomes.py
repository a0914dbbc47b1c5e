"""What became of a request: the one place that decides between dispatched, dropped, blocked, invalid and unknown."""

import sys
from bisect import bisect_left
from collections import defaultdict
from functools import cached_property
from itertools import islice

from msgspec.structs import replace

from lanewatch.adapters.answering_calls import is_answer, is_forced
from lanewatch.adapters.argument_schema import breaks_schema
from lanewatch.adapters.facts import AGENT, HANDOFF, ErrorKind, Executed, LlmCall, Step, ToolKind
from lanewatch.adapters.failures import is_pause
from lanewatch.adapters.identity import fold
from lanewatch.adapters.messages import ToolCall, ToolResult, opening
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Dispatch, Outcome, ToolRequest
from lanewatch.adapters.rejections import excerpts, rejected, says_invalid_arguments, says_unknown_tool
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.turns import SLACK_NS, Turn

HANDOFF_PREFIXES = ("transfer_to_", "handoff_to_", "transfer_back_to_")
HANDOFFS_LIMIT = 100  # of one turn that are looked at
REASONS_LIMIT = 100  # error texts of steps that are looked through for a request's name


class Reasons:
    """What a trace's calls, steps and runs say about requests that no run answers."""

    def __init__(self, calls: list[LlmCall], turns: list[Turn], steps: list[Step], dispatches: list[Dispatch]) -> None:
        self.calls, self.turns, self.steps, self.dispatches = calls, turns, steps, dispatches
        self._gone_on: dict[int, bool] = {}
        self._refused: dict[str, bool] = {}  # by name, for many requests are of one tool

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
    def ran(self) -> frozenset[str]:
        """Folded names of the tools that the trace shows runs of."""
        return frozenset(fold(run.name) for run in self.dispatches)

    @cached_property
    def paused(self) -> bool:
        """Whether a step or a tool stopped the run to wait for a person: what was asked beside it waits too."""
        errors = [step.error for step in self.steps] + [run.error for run in self.dispatches]
        return any(error is not None and is_pause(error) for error in errors)

    @cached_property
    def _starts(self) -> dict[int, int]:
        return {call.span.start_ns: turn for turn, call in reversed(list(enumerate(self.calls)))}

    def goes_on(self, turn: int) -> bool:
        """Whether the model was called again in the same conversation: a call that was to be answered would have been.

        A later call with another opening is another conversation (the next step of a workflow), unless it repeats what
        this one asked. One whose input is not recorded is taken for the same.
        """
        if turn not in self._gone_on:
            until = self.turns[turn].until_ns
            following = self._starts.get(until) if until is not None else None
            self._gone_on[turn] = following is not None and _continues(self.calls[turn], self.calls[following])
        return self._gone_on[turn]

    @cached_property
    def awaited(self) -> frozenset[str]:
        """Ids of calls that agents handed back."""
        return frozenset(call_id for step in self.steps for call_id in step.awaits)

    @cached_property
    def _agents(self) -> dict[str, list[int]]:
        """When agents began, by their folded names."""
        began: dict[str, list[int]] = defaultdict(list)
        for step in sorted(self.steps, key=lambda step: step.span.start_ns):
            if step.target and step.role in (HANDOFF, AGENT):
                began[fold(step.target)].append(step.span.start_ns)
        return began

    @cached_property
    def _handoffs(self) -> list[tuple[int, str]]:
        """When which agent took over, in order of time."""
        steps = (step for step in self.steps if step.target and step.role == HANDOFF)
        return sorted((step.span.start_ns, fold(step.target or "")) for step in steps)

    @cached_property
    def _errors(self) -> list[str]:
        """Error texts of steps that speak of tools or arguments, and there alone: a name stands beside what is said of it.
        Every step above the failing one repeats its text.
        """
        messages = dict.fromkeys(step.error.message for step in self.steps if step.error is not None)
        telling = (text for text in messages if text and (says_unknown_tool(text) or says_invalid_arguments(text)))
        return [part for text in islice(telling, REASONS_LIMIT) for part in excerpts(text)]

    def handed_over(self, request: ToolRequest) -> bool:
        """Whether a step in the request's turn carries it on: a handoff, which names the agent and not the call, or the
        agent's own span where agents are called by their names (smolagents).
        """
        turn = self.turns[request.turn]
        name = fold(request.name)
        until = turn.until_ns + SLACK_NS if turn.until_ns is not None else sys.maxsize
        agents = self._agents.get(name, ())
        place = bisect_left(agents, turn.span.start_ns)
        if place < len(agents) and agents[place] <= until:
            return True
        first = bisect_left(self._handoffs, (turn.span.start_ns,))
        return any(start <= until and agent in name for start, agent in self._handoffs[first : first + HANDOFFS_LIMIT])

    def refused_by_step(self, request: ToolRequest) -> bool:
        """Whether an agent's or chain's error says that this tool, or its arguments, could not be used."""
        if request.name not in self._refused:
            self._refused[request.name] = any(request.name in text for text in self._errors)
        return self._refused[request.name]

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
    tree: SpanTree,
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
    if reasons.calls[request.turn].output_state is State.TRUNCATED:
        return Outcome.UNKNOWN  # who was to run it may have stood behind the cut
    if shown is None:
        return _unanswered(request, part, reasons, tree, ended=ended)
    if not reasons.instrumented:
        return Outcome.UNKNOWN
    if reasons.breaks_offer(request):
        return Outcome.INVALID
    if not shown.is_error and rejected(shown.content.text) is Executed.YES:
        # The model was shown what looks like a genuine result, yet no span ran: this tool may not be instrumented.
        return Outcome.UNKNOWN
    return _without_run(request, reasons)


def _unanswered(request: ToolRequest, part: ToolCall, reasons: Reasons, tree: SpanTree, *, ended: bool) -> Outcome:
    """Decide for a request that no run answers and of which no model was shown a result."""
    call = reasons.calls[request.turn]
    last_word = fold(request.name) not in reasons.ran and not reasons.goes_on(request.turn)
    if last_word and (is_answer(call, part, tree) or (reasons.instrumented and is_forced(call, part))):
        return Outcome.ANSWER
    if not ended or request.call_id in reasons.awaited:
        return Outcome.PENDING
    if not reasons.instrumented or call.error is not None:
        return Outcome.UNKNOWN  # what a failed call said may never have reached the runtime
    if reasons.breaks_offer(request):
        return Outcome.INVALID
    if part.left_open:
        return Outcome.PENDING
    settled = _without_run(request, reasons)
    if settled is Outcome.NOT_DISPATCHED and (reasons.paused or not reasons.goes_on(request.turn)):
        return Outcome.PENDING  # the model's last words: dropped, waiting for a person, or an answer that shows no sign
    return settled


def _without_run(request: ToolRequest, reasons: Reasons) -> Outcome:
    """A tool of this name may have run, and no rule could say for which request: clocks that differ, or counts that do not
    agree.
    """
    return Outcome.UNKNOWN if fold(request.name) in reasons.unpaired else Outcome.NOT_DISPATCHED


def throughout(requests: list[ToolRequest], reasons: Reasons) -> list[ToolRequest]:
    """Requests with the trace's output tools known for all of them: an answer that was refused and asked for again is
    one too.
    """
    names = {fold(request.name) for request in requests if request.outcome is Outcome.ANSWER} - reasons.ran
    return [
        replace(request, outcome=Outcome.ANSWER) if names and fold(request.name) in names else request
        for request in requests
    ]


def _continues(call: LlmCall, following: LlmCall) -> bool:
    """Whether a later call's input goes on from a call, or may."""
    if call.input_state is not State.CAPTURED or following.input_state is not State.CAPTURED:
        return True
    if opening(call.input) == opening(following.input):
        return True
    asked = [part for message in call.output for part in message.calls]
    ids = {part.call_id for part in asked if part.call_id}
    names = {part.name for part in asked}
    repeated = (part for message in following.input for part in message.calls)
    return any(part.call_id in ids or (not part.call_id and part.name in names) for part in repeated)


def _answered(answers: list[Dispatch]) -> Outcome:
    if any(answer.kind is ToolKind.HANDOFF for answer in answers):
        return Outcome.HANDOFF
    if any(answer.executed is Executed.YES for answer in answers):
        return Outcome.DISPATCHED
    if answers[-1].error is not None and answers[-1].error.kind is ErrorKind.DEFERRED:
        return Outcome.PENDING
    if any(answer.executed is Executed.UNKNOWN for answer in answers):
        return Outcome.UNKNOWN
    kinds = {answer.error.kind for answer in answers if answer.error is not None}
    if ErrorKind.BLOCKED in kinds:
        return Outcome.BLOCKED
    if ErrorKind.VALIDATION in kinds:
        return Outcome.INVALID
    # A cache's result: no body had to run.
    kept = any(answer.error is None and answer.result is not None for answer in answers)
    return Outcome.DISPATCHED if kept else Outcome.NOT_DISPATCHED


def _told(request: ToolRequest, shown: ToolResult | None, reasons: Reasons) -> Outcome | None:
    """Why the runtime would not run it, where the result that the model was shown or an error on a step says so."""
    text = shown.content.text if shown is not None else None
    if rejected(text) is Executed.NO:
        return Outcome.BLOCKED
    if text is not None and (says_unknown_tool(text) or says_invalid_arguments(text)):
        return Outcome.INVALID
    return Outcome.INVALID if reasons.refused_by_step(request) else None
