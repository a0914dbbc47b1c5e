"""The readable form of a replay: per trace what was asked, what ran and what an evaluator is told, side by side."""

from collections.abc import Iterable, Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from lanewatch.adapters.artifact import told_arguments
from lanewatch.adapters.artifact_messages import OWN
from lanewatch.adapters.records import Dispatch, Disposition, Executed, Response, ToolRequest, TraceRecord
from lanewatch.handoffs.handoff import LaneHandoff, lane_handoffs
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared
from lanewatch.monitors.divergence import Boundary, Divergence
from lanewatch.monitors.lanes import Lane, Status
from lanewatch.monitors.policies import Finding
from lanewatch.monitors.schemas import SchemaCheck
from lanewatch.monitors.tools import UNREGISTERED, Registry
from lanewatch.observation import Observation
from lanewatch.producing.reference_report import reference_lines
from lanewatch.replaying.next_steps import next_step
from lanewatch.replaying.playback import Replayed
from lanewatch.shown_text import shown, shown_line, shown_path

UNCOMPARED = frozenset(ArtifactOutcome) - {ArtifactOutcome.EQUAL, ArtifactOutcome.DIVERGENT}
CALL_VIEWS = ("asked by the model", "run by the runtime", "told to the evaluator")
COLOURS = {
    Status.PASS: "green",
    Status.FAIL: "bold red",
    Status.INCOMPLETE: "yellow",
    Status.UNSUPPORTED: "dim",
    Status.NOT_APPLICABLE: "dim",
}
DIFFERENT = Text("!=", "bold red")
ADVICE = {
    "not_dispatched": "asked for, never ran",
    "unrequested": "ran without a request",
    "name": "another tool ran",
    "arguments": "ran with other arguments",
    "missing": "ran, and the artifact does not tell it",
    "unexpected": "told by the artifact, never ran",
    "order": "told in another order than asked",
    "attempts": "told another number of times than it ran",
    "result": "told with another result",
    "provenance": "the artifact was made from what it is compared with: that they agree proves nothing",
    "representation": "told in another form, which a strict consumer takes for another value",
    "echo": "the result contradicts the arguments in the span: something below the span may have changed them",
}


def print_report(
    replayed: Replayed, console: Console, registry: Registry = UNREGISTERED, *, divergent: bool = False
) -> None:
    """Print one path's traces, or the `divergent` ones alone, then a summary line of all. `registry` says who owns a tool."""
    kept = [seen for seen in replayed.observations if seen.divergences or not divergent]
    for seen in kept:
        console.print(trace_report(seen, lane_handoffs(seen, registry)))
    for problem in replayed.problems:
        console.print(Text(shown_line(f"not read: {problem}"), "red"))
    count = len(replayed.observations)
    diverging = sum(1 for seen in replayed.observations if seen.divergences)
    summary = f"{shown_path(replayed.path)}: {count} trace{'' if count == 1 else 's'}, {diverging} with a divergence"
    for lane in Lane:
        if failing := sum(1 for seen in replayed.observations if seen.lanes[lane].status is Status.FAIL):
            summary += f", {failing} failing in {lane}"
    console.print(Text(summary, "bold"))
    if left_out := count - len(kept):
        console.print(Text(f"  {left_out:,} without a divergence, not shown", "dim"))


def trace_report(seen: Observation, handoffs: Iterable[LaneHandoff] = ()) -> RenderableType:
    """One trace, and who is to look into it."""
    record = seen.record
    parts: list[RenderableType] = [Text(), _title(record), _lanes(seen)]
    if record.retrievals:
        parts.append(_retrievals(record))
    if record.requests or record.dispatches:
        parts.append(_calls(record, seen.divergences))
    parts.extend(_answers(record))
    parts.extend(_divergence(difference) for difference in seen.divergences)
    parts.extend(_not_compared(one) for one in seen.compared if one.verdict in UNCOMPARED and one.producer != OWN)
    parts.extend(_violation(check) for check in seen.checks if check.kinds)
    parts.extend(_policy(one) for one in seen.policies if one.ruling.status in (Status.FAIL, Status.INCOMPLETE))
    parts.extend(Text("  ").append(line) for one in seen.references for line in reference_lines(one))
    parts.extend(map(_hand_to, handoffs))
    return Group(*parts)


def _hand_to(one: LaneHandoff) -> Text:
    line = Text("  hand to   ").append(shown(one.owner), "bold").append(f": {one.lane} ")
    line.append(one.status, COLOURS[one.status]).append(f" ({shown(', '.join(one.reasons))})")
    step = next_step(one.reasons)
    return line if step is None else line.append(f": {step}")


def side(difference: Divergence, name: str) -> str:
    """One side's value on one line; `nothing` where there is none, which is no null."""
    return "nothing" if name in difference.missing else shown(getattr(difference, name))


def _title(record: TraceRecord) -> Text:
    milliseconds = max(0, record.end_ns - record.start_ns) // 1_000_000
    words = [f"trace {shown(record.trace_id)}", shown(record.service or "service unknown"), f"{milliseconds} ms"]
    words.append(shown("+".join(record.conventions)) or "no convention known")
    if record.session_id:
        words.append(f"session {shown(record.session_id)}")
    if record.revision:
        words.append(f"revision {record.revision}")
    return Text(" | ".join(words), "bold cyan")


def _lanes(seen: Observation) -> RenderableType:
    """Lanes and evidence, an item a cell, so that a narrow terminal breaks between items."""
    lanes = [
        Text(f"{lane} ")
        .append(verdict.status, COLOURS[verdict.status])
        .append(f" ({shown(', '.join(verdict.reasons))})" * bool(verdict.reasons))
        for lane, verdict in seen.lanes.items()
    ]
    evidence = [
        Text(f"{kind} ").append(
            "none seen" if _unused(kind, seen.record) else state,
            "" if state == "complete" or _unused(kind, seen.record) else "yellow",
        )
        for kind, state in seen.record.evidence.items()
    ]
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_row("  lanes", Columns(lanes, padding=(0, 3)))
    table.add_row("  evidence", Columns(evidence, padding=(0, 3)))
    return table


def _unused(kind: str, record: TraceRecord) -> bool:
    return kind == "retrievals" and not record.retrievals


def _retrievals(record: TraceRecord) -> Table:
    table = Table("", *map(_folded, ("retrieved for", "documents (id, score)")), box=SIMPLE_HEAD)
    for retrieval in record.retrievals:
        documents = [
            f"{d.id or f'#{d.rank + 1}'} {'' if d.score is None else f'{d.score:g}'}".strip()
            for d in retrieval.documents
        ]
        query = "not recorded" if retrieval.query is None else shown(retrieval.query)
        table.add_row("  ", Text(query), Text(shown(", ".join(documents) or "none")))
    return table


def _calls(record: TraceRecord, divergences: tuple[Divergence, ...]) -> Table:
    """One row a call: the request, the dispatch that answers it, and the evaluator's message. `!=` marks a difference,
    `??` what could not be compared, `==` what was compared and is the same.
    """
    table = Table("", *map(_folded, CALL_VIEWS), box=SIMPLE_HEAD)
    marked = {d.span_id for d in divergences if d.boundary is Boundary.DISPATCH}
    renamed = {d.call_id for d in divergences if d.boundary is Boundary.DISPATCH and d.kind == "name"} - {None}
    doubted = {d.span_id for d in divergences if d.boundary is Boundary.EXECUTION}
    told = {(m.get("metadata") or {}).get("tool_call_id"): m["content"] for m in record.messages if m["type"] == "tool"}
    for index, request in enumerate(record.requests):
        answers = [dispatch for dispatch in record.dispatches if dispatch.request == index]
        for dispatch in answers or (None,):
            mark = DIFFERENT if request.call_id in renamed else _mark(request, dispatch, marked, doubted)
            table.add_row(mark, _request(request), _dispatch(dispatch, request, record), _told(request, told))
    for dispatch in record.dispatches:
        if dispatch.request is None:
            mark = _mark(None, dispatch, marked, doubted)
            table.add_row(mark, Text("-", "dim"), _dispatch(dispatch, None, record), Text("-", "dim"))
    return table


def _folded(header: str) -> Column:
    """A column that breaks long words, such as ids, where rich by itself would cut their ends off."""
    return Column(header, overflow="fold")


def _mark(
    request: ToolRequest | None, dispatch: Dispatch | None, marked: set[str | None], doubted: set[str | None]
) -> Text:
    spans = {one.span_id for one in (request if dispatch is None else None, dispatch) if one is not None}
    if marked & spans or (dispatch is not None and dispatch.executed is Executed.NO):
        return DIFFERENT
    hidden = request is None or dispatch is None or request.arguments is None or dispatch.arguments is None
    if hidden or doubted & spans or dispatch is None or dispatch.executed is not Executed.YES:
        return Text("??", "yellow")
    return Text("==", "green")


def _request(request: ToolRequest) -> Text:
    arguments = request.arguments if request.arguments is not None else request.arguments_raw
    text = "arguments not recorded" if arguments is None else shown(arguments)
    return Text(f"{shown(request.name)} {text}\n").append(shown(request.call_id or "no id"), "dim")


def _dispatch(dispatch: Dispatch | None, request: ToolRequest | None, record: TraceRecord) -> Text:
    if dispatch is None:
        return Text(f"no run ({request.outcome if request is not None else 'unknown'})", "yellow")
    arguments = "arguments not recorded" if dispatch.arguments is None else shown(dispatch.arguments)
    line = Text(f"{shown(dispatch.name)} {arguments}\n")
    if dispatch.executed is not Executed.YES:
        line.append(f"executed: {dispatch.executed}  ", "yellow")
    if dispatch.error is not None:
        line.append(f"{dispatch.error.kind}: {shown(dispatch.error.message or dispatch.error.type or '', 80)}  ", "red")
    elif dispatch.result is not None:
        line.append(f"-> {shown(dispatch.result, 80)}  ", "dim")
    if dispatch.attempt > 1:
        line.append(f"attempt {dispatch.attempt}  ", "dim")
    if dispatch.inside is not None and request is None:
        return line.append(f"inside {shown(record.dispatches[dispatch.inside].name, 80)}", "dim")
    return line.append(f"[{shown(dispatch.match_rule or 'unmatched')}]", "dim")


def _told(request: ToolRequest, told: dict[Any, str]) -> Text:
    """The call as the artifact tells it, and its result."""
    content = told.get(request.call_id)
    line = Text(f"{shown(request.name)} {shown(told_arguments(request))}\n")
    return line.append("no result" if content is None else f"-> {shown(content, 80)}", "dim")


def _answers(record: TraceRecord) -> Iterator[Text]:
    for response in record.responses:
        line = Text("  answer    ").append("not recorded" if response.text is None else shown(response.text))
        line.append(f"  {_disposition(response)}", "bold yellow" if response.refusal else "dim")
        yield line


def _disposition(response: Response) -> str:
    if response.disposition is Disposition.UNDETERMINED:
        return "undetermined (nothing tells whether it answers)"
    rule = f" {shown(response.disposition_rule)}" if response.disposition_rule else ""
    return f"{response.disposition} (told by {response.disposition_source}{rule})"


def _divergence(difference: Divergence) -> Text:
    line = Text("  ! ", "bold red").append(f"{difference.boundary} boundary, {difference.kind}", "bold red")
    if difference.boundary is Boundary.ARTIFACT:
        return _artifact_divergence(line, difference)
    line.append(f": {shown(difference.tool)}: {ADVICE.get(difference.kind, difference.kind)}")
    if difference.reason and difference.kind == "not_dispatched":
        line.append(f" ({shown(difference.reason)})")
    if difference.path or difference.kind == "name":
        asked, ran = side(difference, "requested"), side(difference, "dispatched")
        place = f" at {shown(difference.path)}" if difference.path else ""
        line.append(
            f"{place}: asked {asked}, ran {ran}"
            if difference.kind != "echo"
            else f"{place}: the span says {ran}, the result {shown(difference.result)}"
        )
    return line.append(f"  owner: {shown(difference.owner)}", "bold")


def _violation(check: SchemaCheck) -> Text:
    """A call that breaks its tool's schema, by what and where; the values stand with the call itself."""
    line = Text("  ! ", "bold yellow").append(f"schema, {check.side}", "bold yellow")
    line.append(f": {shown(check.tool)}: {', '.join(check.kinds)} at {shown(', '.join(check.places))}")
    return line.append(f" ({check.source} schema)") if check.source is not None else line


def _policy(finding: Finding) -> Text:
    """A policy that is broken, or can't be judged."""
    policy, ruling = finding.policy, finding.ruling
    colour = "bold red" if finding.failed else "yellow"
    line = Text("  ! " if finding.failed else "  ? ", colour).append(
        f"policy {policy.name}, {policy.lane} lane", colour
    )
    line.append(f": {shown(policy.requirement)}: {ruling.reason}")
    if ruling.tools:
        line.append(f" ({shown(', '.join(ruling.tools))})")
    return line.append(f"  {policy.criticality}, owner: {shown(policy.owner)}", "bold")


def _not_compared(one: Compared) -> Text:
    """Of our own artifact the evidence says it already; of a producer that was asked, its silence must not look like truth."""
    return Text(f"  ? artifact ({shown(one.producer)}) not compared, {one.verdict}: {shown(one.reason)}", "yellow")


def _artifact_divergence(line: Text, difference: Divergence) -> Text:
    line.append(f" ({shown(difference.producer)})").append(f": {shown(difference.tool)}: ")
    line.append(
        {"name": "told as another tool", "arguments": "told with other arguments"}.get(difference.kind)
        or ADVICE[difference.kind]
    )
    if difference.reason:
        line.append(f" ({shown(difference.reason)})")
    if difference.path or difference.kind == "name":
        place = f" at {shown(difference.path)}" if difference.path else ""
        line.append(f"{place}: ran {side(difference, 'dispatched')}, told {side(difference, 'artifact')}")
    return line.append(f"  owner: {shown(difference.owner)}", "bold")
