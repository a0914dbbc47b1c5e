"""Requests and dispatches of a trace: what models asked for and what ran, joined by pairing."""

from collections import defaultdict
from typing import Any

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.choices import with_unused
from lanewatch.adapters.duplicate_runs import Folded
from lanewatch.adapters.facts import LlmCall, Shape, Step, ToolRun
from lanewatch.adapters.identity import id_quality
from lanewatch.adapters.json_text import parse_json
from lanewatch.adapters.loose_arguments import loosely_same
from lanewatch.adapters.messages import ToolCall
from lanewatch.adapters.pairing import Answer, Match, pair
from lanewatch.adapters.reading import State, parse_literal
from lanewatch.adapters.records import Dispatch, ToolRequest
from lanewatch.adapters.request_outcomes import Reasons, outcome_of, throughout
from lanewatch.adapters.shown_results import ShownResults, aliases_in_inputs
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.turns import LoopsApart, Turn, find_turns, home_turns, is_adrift, processes_of
from lanewatch.adapters.unasked_runs import asked_otherwise, own_calls
from lanewatch.adapters.waiting_requests import Asked


class ToolRecords(msgspec.Struct, frozen=True):
    """Both sides of a trace's tool calls."""

    requests: list[ToolRequest]
    dispatches: list[Dispatch]
    asked_otherwise: bool = False  # a run may have been asked for where no request shows it (unasked_runs.py)


def tool_records(calls: list[LlmCall], folded: list[Folded], steps: list[Step], tree: SpanTree) -> ToolRecords:
    """Pair the requests in model outputs with the runs of tools, and say what became of each."""
    asked, parts = _asked(calls)
    if not asked and not folded:
        return ToolRecords([], [])
    runs = [one.run for one in folded]
    turns = find_turns(calls, runs, steps, tree)
    homes = home_turns(turns, runs, tree)
    inside = _inside(folded, tree)
    here = processes_of(calls)
    answers = [
        Answer(run, home, place is not None, adrift=is_adrift(run.span, tree, here))
        for run, home, place in zip(runs, homes, inside, strict=True)
    ]
    loops = LoopsApart(calls, runs, steps, tree)
    dispatches = _dispatches(folded, inside, homes, pair(asked, answers, tree.work, loops.are_apart), asked)
    requests = _requests(asked, parts, calls, turns, dispatches, steps, tree)
    if asked_otherwise(calls, dispatches, steps, tree):
        return ToolRecords(requests, dispatches, asked_otherwise=True)
    return ToolRecords(requests, own_calls(calls, requests, dispatches))


def _inside(folded: list[Folded], tree: SpanTree) -> list[int | None]:
    """For each run, the index of the run whose body made it."""
    place = {span.span_id: index for index, one in enumerate(folded) for span in one.spans}
    above = tree.nearest_above(place)
    return [place.get(above.get(one.spans[0].span_id, b"")) for one in folded]


def _asked(calls: list[LlmCall]) -> tuple[list[Asked], list[ToolCall]]:
    asked: list[Asked] = []
    parts: list[ToolCall] = []
    aliases = aliases_in_inputs(calls)
    for turn, call in enumerate(calls):
        for part in (part for message in call.output for part in message.calls):
            quality = id_quality(part.call_id, part.name)
            alias = aliases.get(part.call_id or "")
            also = (*part.aliases, alias) if alias is not None else part.aliases
            asked.append(
                Asked(part.name, part.call_id, quality, also, part.arguments, turn, call.span.start_ns),
            )
            parts.append(part)
    return asked, parts


def _dispatches(
    folded: list[Folded],
    inside: list[int | None],
    homes: list[int | None],
    matches: list[Match],
    asked: list[Asked],
) -> list[Dispatch]:
    by_run = {match.run: match for match in matches}
    attempts: dict[int, int] = defaultdict(int)
    dispatches: list[Dispatch] = []
    for index, one in enumerate(folded):
        run, match = one.run, by_run.get(index)
        request = asked[match.request] if match is not None else None
        if match is not None:
            attempts[match.request] += 1
        arguments, shape = _arguments(run, request)
        dispatches.append(
            Dispatch(
                name=run.name,
                call_id=run.call_id or (request.call_id if request is not None else None),
                arguments=arguments,
                arguments_state=run.arguments.state,
                shape=shape,
                result=run.result.value if run.result.state is State.CAPTURED else None,
                executed=run.executed,
                error=run.error,
                attempt=attempts[match.request] if match is not None else 1,
                match_rule=match.rule if match is not None else None,
                request=match.request if match is not None else None,
                span_id=run.span.span_id.hex(),
                start_ns=run.span.start_ns,
                end_ns=run.span.end_ns,
                kind=run.kind,
                inside=inside[index],
                turn=homes[index],
                span_ids=tuple(span.span_id.hex() for span in one.spans),
                keys=run.keys,
                schema=run.schema,
            ),
        )
    return dispatches


def _arguments(run: ToolRun, request: Asked | None) -> tuple[Any, Shape]:
    """A run's arguments, and the shape in which they are now known. Where the span lost names, they come from the
    request, but only where the values are those of the request, or where just one name is missing.
    """
    if run.arguments.state is State.AMBIGUOUS:
        return run.arguments.raw, run.shape
    if run.arguments.state is not State.CAPTURED:
        return None, run.shape
    if run.shape is Shape.OBJECT:
        return run.arguments.value, run.shape
    wanted = request.arguments.value if request is not None else None
    if run.shape in (Shape.BARE, Shape.POSITIONAL) and isinstance(wanted, dict):
        if loosely_same(wanted, None, run.arguments.value, run.shape):
            return wanted, run.shape
        if run.shape is Shape.BARE and len(wanted) == 1:
            ((name, value),) = wanted.items()
            return {name: _typed_like(value, run.arguments.value)}, Shape.OBJECT
    return run.arguments.text, run.shape


def _typed_like(value: Any, text: Any) -> Any:
    """A bare text as a value: text where text was asked for, else what it says."""
    if isinstance(value, str) or not isinstance(text, str):
        return text
    for parse in (parse_json, parse_literal):
        try:
            return parse(text)
        except ValueError:
            continue
    return text


def _requests(
    asked: list[Asked],
    parts: list[ToolCall],
    calls: list[LlmCall],
    turns: list[Turn],
    dispatches: list[Dispatch],
    steps: list[Step],
    tree: SpanTree,
) -> list[ToolRequest]:
    if not asked:
        return []
    answers: dict[int, list[Dispatch]] = defaultdict(list)
    for dispatch in dispatches:
        if dispatch.request is not None:
            answers[dispatch.request].append(dispatch)
    reasons = Reasons(calls, turns, steps, dispatches)
    shown = ShownResults(calls)
    requests: list[ToolRequest] = []
    places: dict[int, int] = defaultdict(int)
    same_ids: dict[tuple[int, str | None], int] = defaultdict(int)
    for index, (one, part) in enumerate(zip(asked, parts, strict=True)):
        call = calls[one.turn]
        result = shown.result((one.call_id, *one.aliases), one.turn, same_ids[one.turn, one.call_id])
        request = ToolRequest(
            name=part.name,
            call_id=part.call_id,
            call_id_quality=one.quality,
            arguments=part.arguments.value if isinstance(part.arguments.value, dict) else None,
            arguments_raw=part.arguments.raw,
            arguments_state=part.arguments.state,
            turn=one.turn,
            position=places[one.turn],
            span_id=call.span.span_id.hex(),
            aliases=one.aliases,
            observed_result=result.content.text if result is not None else None,
        )
        places[one.turn] += 1
        same_ids[one.turn, one.call_id] += 1
        ended = (tree.rooted and turns[one.turn].until_ns is not None) or _root_ended(tree, call)
        outcome = outcome_of(request, part, answers[index], result, reasons, tree, ended=ended)
        requests.append(replace(request, outcome=outcome))
    return throughout(with_unused(requests, calls, answers), reasons)


def _root_ended(tree: SpanTree, call: LlmCall) -> bool:
    """Whether the chain of parents has arrived up to a root: whatever was to follow has then happened."""
    top = tree.top(call.span)
    return not top.parent_id and top is not call.span
