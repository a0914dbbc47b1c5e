"""Runs that no request accounts for: whether a model may have asked for them in a way that no output's calls show.

Code agents and ReAct loops are driven by text, a client may run tools inside its call of the model, and a run that was
interrupted (a human's approval, a queue) may answer a request of an earlier trace, which the first input then repeats.
Other models may not be instrumented at all. Such runs are not called unrequested. Nor are those that an application makes
by design: it looks things up before it calls a model, and stores or sends what the model answered.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.facts import AGENT, Executed, LlmCall, Step, ToolKind
from lanewatch.adapters.failures import mentions
from lanewatch.adapters.identity import canonical, fold, id_quality
from lanewatch.adapters.name_index import NameIndex
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import TOOL_CALL_REASONS, Dispatch, IdQuality, Outcome, ToolRequest
from lanewatch.adapters.span_tree import SpanTree

LIMIT = 200  # runs that are looked into; one that may have been asked for is enough
HISTORY = 2000  # calls of the history that each of them is held against
TEXT_LIMIT = 4 * 2**20  # characters of outputs that are looked through for the names of runs
CHARACTERS = 100  # that are looked through in one step of work
BEFORE, AFTER = "before_any_answer", "nothing_was_asked"
UNPAIRED = (Outcome.UNKNOWN, Outcome.NOT_DISPATCHED, Outcome.PENDING)
SHORT = 4  # characters; the folded form of a shorter name stands in other words
WORD = re.compile(r"\w+")


def asked_otherwise(calls: list[LlmCall], dispatches: list[Dispatch], steps: list[Step], tree: SpanTree) -> bool:
    """Whether some run without a request may have been asked for in a text, in an earlier trace, within a model call that
    shows its last answer alone, or by an agent whose model is not instrumented.
    """
    unasked = list(islice((dispatch for dispatch in dispatches if is_unasked(dispatch)), LIMIT))
    if not unasked:
        return False
    # Google's client runs tools by itself: one span holds the loop, its runs, and the last answer alone.
    within = tree.nearest_above({call.span.span_id for call in calls})
    if any(within.get(bytes.fromhex(run.span_id)) is not None for run in unasked):
        return True
    # A model's call has an id, an application's own has none: it was asked for in an earlier trace, and approved since.
    first_answer = min((call.span.end_ns for call in calls), default=0)
    if any(run.start_ns < first_answer and id_quality(run.call_id, run.name) is IdQuality.REAL for run in unasked):
        return True
    if _in_texts(calls, unasked, tree) or _in_history(calls, unasked):
        return True
    agents = {step.span.span_id for step in steps if step.role == AGENT}
    above = tree.nearest_above(agents)
    speaking = {above.get(call.span.span_id) for call in calls}
    for span in reversed(tree.order):  # an agent that holds a speaking one speaks too
        if span.span_id in agents and span.span_id in speaking:
            speaking.add(above.get(span.span_id))
    return any(above.get(bytes.fromhex(run.span_id)) in agents - speaking for run in unasked)


def own_calls(calls: list[LlmCall], requests: list[ToolRequest], dispatches: list[Dispatch]) -> list[Dispatch]:
    """Dispatches with the application's own calls marked, by why no model can have asked for them: no model had answered
    yet, or the one that had asked for nothing.
    """
    if not calls or not any(is_unasked(dispatch) for dispatch in dispatches):
        return dispatches
    first_answer = min(call.span.end_ns for call in calls)
    # A run that may belong to a request, for all that the clocks tell, is not the application's own.
    wanted: NameIndex[bool] = NameIndex()
    for request in requests:
        if request.outcome in UNPAIRED:
            wanted.add(request.name, True)
    return [
        replace(run, application=_why_own(run, calls, first_answer))
        if is_unasked(run) and next(wanted.find(run.name), None) is None
        else run
        for run in dispatches
    ]


def _why_own(run: Dispatch, calls: list[LlmCall], first_answer: int) -> str | None:
    if 0 < run.start_ns < first_answer:
        return BEFORE
    call = calls[run.turn] if run.turn is not None else None
    if call is None or call.output_state is not State.CAPTURED or call.error is not None:
        return None
    asks = any(not part.by_provider for message in call.output for part in message.calls)
    hides = (call.finish_reason or "").lower() in TOOL_CALL_REASONS
    return None if asks or hides or not call.output else AFTER


def is_unasked(dispatch: Dispatch) -> bool:
    """Whether an application's tool ran, for all that is known, without a model's request."""
    return (
        dispatch.request is None
        and dispatch.match_rule is None  # else the request stands in a related trace
        and dispatch.inside is None
        and dispatch.executed is Executed.YES
        and dispatch.kind is ToolKind.FUNCTION
    )


def _in_texts(calls: list[LlmCall], unasked: list[Dispatch], tree: SpanTree) -> bool:
    """Whether a run's name stands in an output before it, or in what a later input repeats of one (smolagents writes
    calls as text there). More text than TEXT_LIMIT is not looked through: then it may.
    """
    if any(call.hides_text for call in calls):
        return True
    said = [(call.span.start_ns, message.text) for call in calls for message in call.output]
    repeated = (m.text for call in calls for m in call.input if m.role == "assistant")
    texts = said + [(0, text) for text in dict.fromkeys(repeated)]
    length = sum(len(text) for _, text in texts)
    if length > TEXT_LIMIT:
        return True
    tree.work.spend(length // CHARACTERS)
    since: dict[str, int] = {}  # when each word was said first
    for start, text in texts:
        for word in WORD.findall(text):
            if start < since.get(word, start + 1):
                since[word] = start
    first = {dispatch.name: dispatch for dispatch in reversed(unasked)}  # they are in order of time
    if any(_is_said(dispatch, texts, since, tree) for dispatch in first.values()):
        return True
    # ReAct agents say a tool's display name: "Search Orders" for search_orders.
    names = list(islice((name for name in map(fold, first) if len(name) >= SHORT), LIMIT))
    folded = [fold(text) for _, text in texts] if names else []
    tree.work.spend(len(names) * sum(map(len, folded)) // CHARACTERS)
    return any(name in text for text in folded for name in names)


def _is_said(dispatch: Dispatch, texts: list[tuple[int, str]], since: dict[str, int], tree: SpanTree) -> bool:
    """Whether all words of a name were said before its run, and the name as it is."""
    words = WORD.findall(dispatch.name)
    if not all(word in since and since[word] <= dispatch.start_ns for word in words):
        return False
    if [dispatch.name] == words:
        return True
    tree.work.spend(sum(len(text) for _, text in texts) // CHARACTERS)
    return any(mentions(text, dispatch.name) for start, text in texts if start <= dispatch.start_ns)


def _in_history(calls: list[LlmCall], unasked: list[Dispatch]) -> bool:
    """Whether inputs repeat a call that a run may answer: of its id, or of its name and arguments."""
    repeated = (call for model_call in calls for message in model_call.input for call in message.calls)
    once = islice({(call.call_id, call.name, call.arguments.raw): call for call in repeated}.values(), HISTORY)
    ids: set[str | None] = set()
    asked: NameIndex[Any] = NameIndex()
    for call in once:
        ids.add(call.call_id)
        asked.add(call.name, _canonical(call.arguments.value))
    return any(
        (run.call_id is not None and run.call_id in ids) or _may_be_one_of(run, asked.find(run.name)) for run in unasked
    )


def _may_be_one_of(run: Dispatch, asked: Iterator[Any]) -> bool:
    """Whether arguments are equal, or one side has lost what it would take to tell."""
    ran = _canonical(run.arguments)
    return any(one is None or ran is None or one == ran for one in asked)


def _canonical(arguments: Any) -> Any:
    return canonical(arguments) if isinstance(arguments, dict) else None
