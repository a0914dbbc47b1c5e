"""Runs that no request accounts for: whether a model may have asked for them in a way that no output's calls show.

Code agents and ReAct loops are driven by text, and a run that was interrupted (a human's approval, a queue) may answer a
request of an earlier trace, which the first input then repeats. Other models may not be instrumented at all. Such runs
are not called unrequested.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from lanewatch.adapters.facts import AGENT, Executed, LlmCall, Step, ToolKind
from lanewatch.adapters.failures import mentions
from lanewatch.adapters.identity import canonical
from lanewatch.adapters.name_index import NameIndex
from lanewatch.adapters.records import Dispatch
from lanewatch.adapters.span_tree import SpanTree

LIMIT = 200  # runs that are looked into; one that may have been asked for is enough
HISTORY = 2000  # calls of the history that each of them is held against
TEXT_LIMIT = 4 * 2**20  # characters of outputs that are looked through for the names of runs
CHARACTERS = 100  # that are looked through in one step of work
WORD = re.compile(r"\w+")


def asked_otherwise(calls: list[LlmCall], dispatches: list[Dispatch], steps: list[Step], tree: SpanTree) -> bool:
    """Whether some run without a request may have been asked for in a text, in an earlier trace, or by an agent whose
    model is not instrumented.
    """
    unasked = list(islice((dispatch for dispatch in dispatches if is_unasked(dispatch)), LIMIT))
    if not unasked:
        return False
    if _in_texts(calls, unasked, tree) or _in_history(calls, unasked):
        return True
    agents = {step.span.span_id for step in steps if step.role == AGENT}
    above = tree.nearest_above(agents)
    speaking = {above.get(call.span.span_id) for call in calls}
    for span in reversed(tree.order):  # an agent that holds a speaking one speaks too
        if span.span_id in agents and span.span_id in speaking:
            speaking.add(above.get(span.span_id))
    return any(above.get(bytes.fromhex(run.span_id)) in agents - speaking for run in unasked)


def is_unasked(dispatch: Dispatch) -> bool:
    """Whether an application's tool ran, for all that is known, without a model's request."""
    return (
        dispatch.request is None
        and dispatch.inside is None
        and dispatch.executed is Executed.YES
        and dispatch.kind is ToolKind.FUNCTION
    )


def _in_texts(calls: list[LlmCall], unasked: list[Dispatch], tree: SpanTree) -> bool:
    """Whether a run's name stands in an output before it, or in what a later input repeats of one (smolagents writes
    calls as text there). More text than TEXT_LIMIT is not looked through: then it may.
    """
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
    return any(_is_said(dispatch, texts, since, tree) for dispatch in first.values())


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
