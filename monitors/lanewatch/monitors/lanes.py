"""The four lanes of a trace, each with a status and reasons of its own; nothing is ever blended across them.

A lane passes only where its evidence is complete. What was not asked for is `not_applicable`, what can't be judged from
the evidence is `incomplete`, and what needs a fact that no span carries (was the durable state changed?) is
`unsupported`.
"""

from lanewatch.adapters.records import (
    Dispatch,
    Disposition,
    ErrorKind,
    Evidence,
    Executed,
    Outcome,
    OutcomeFact,
    TraceRecord,
)
from lanewatch.monitors.divergence import Boundary, Divergence
from lanewatch.monitors.policies import Finding
from lanewatch.monitors.told_state import Told, told
from lanewatch.monitors.verdicts import Lane, Status, Verdict

__all__ = ["Lane", "Status", "Verdict", "judge_lanes", "unrecovered"]


def judge_lanes(
    record: TraceRecord,
    divergences: tuple[Divergence, ...],
    policies: tuple[Finding, ...] = (),
    outcomes: tuple[OutcomeFact, ...] | None = None,
    *,
    hidden: bool = False,
) -> dict[Lane, Verdict]:
    """The verdict of each lane. A policy fails the lane that it names, and no other one. `outcomes` are those that the
    record tells unless others are known as well. `hidden`: arguments are hidden in a way that does
    not compare. Of a trace that no record could be made of, nothing is known.
    """
    if record.incomplete is not None:
        return dict.fromkeys(Lane, Verdict(Status.INCOMPLETE, (record.incomplete,)))
    verdicts = {
        Lane.RETRIEVAL: _retrieval(record),
        Lane.GENERATION: _generation(record),
        Lane.TOOLS: _tools(record, divergences, hidden=hidden),
        Lane.OUTCOME: _outcome(record, told(record, record.outcomes if outcomes is None else outcomes)),
    }
    return {lane: _heeding(verdict, policies, lane) for lane, verdict in verdicts.items()} if policies else verdicts


def _heeding(verdict: Verdict, policies: tuple[Finding, ...], lane: Lane) -> Verdict:
    """A lane's verdict with what the policies of that lane say. A kept policy proves nothing more than itself."""
    own = [one for one in policies if one.policy.lane is lane and one.counts]
    broken = tuple(f"policy:{one.policy.name}" for one in own if one.failed)
    unknown = tuple(f"policy:{one.policy.name}" for one in own if one.ruling.status is Status.INCOMPLETE)
    if broken:
        return Verdict(Status.FAIL, (*(verdict.reasons if verdict.status is Status.FAIL else ()), *broken))
    if unknown and verdict.status is not Status.FAIL:
        return Verdict(Status.INCOMPLETE, (*(verdict.reasons if verdict.status is Status.INCOMPLETE else ()), *unknown))
    return verdict


def _retrieval(record: TraceRecord) -> Verdict:
    """An abstention says that the documents do not tell. That may be so, or the model may have overlooked it: the lane
    does not pass, and does not fail by that alone.
    """
    evidence = record.evidence["retrievals"]
    abstained = ("abstention",) * any(response.abstained for response in record.responses)
    if not record.retrievals:
        return Verdict(Status.NOT_APPLICABLE, ("no_retrieval", *abstained))
    if evidence is not Evidence.COMPLETE:
        return Verdict(Status.INCOMPLETE, (f"retrievals_{evidence}", *abstained))
    if any(not retrieval.documents for retrieval in record.retrievals):
        return Verdict(Status.FAIL, ("empty_retrieval", *abstained))
    return Verdict(Status.INCOMPLETE, abstained) if abstained else Verdict(Status.PASS)


def _generation(record: TraceRecord) -> Verdict:
    evidence = record.evidence["responses"]
    failed = [generation for generation in record.generations if generation.error is not None]
    if not record.generations and not any(response.text for response in record.responses):  # a guard stopped it first
        return Verdict(Status.NOT_APPLICABLE, ("no_model_call",))
    if failed and not record.responses:
        return Verdict(Status.FAIL, ("model_error",))
    if evidence is not Evidence.COMPLETE:
        return Verdict(Status.INCOMPLETE, (f"responses_{evidence}",))
    return Verdict(Status.PASS)


def _tools(record: TraceRecord, divergences: tuple[Divergence, ...], *, hidden: bool) -> Verdict:
    differ = [d for d in divergences if d.boundary is Boundary.DISPATCH]
    doubted = [d for d in divergences if d.boundary is not Boundary.DISPATCH]
    weak = [kind for kind in ("requests", "dispatches") if not record.shows(kind)]
    if differ:
        return Verdict(
            Status.FAIL, tuple(dict.fromkeys(f"{d.kind}:{d.reason}" if d.reason else d.kind for d in differ))
        )
    asked = any(request.outcome is not Outcome.ANSWER for request in record.requests)  # an output tool is none
    if not asked and not record.dispatches and record.shows("requests"):
        return Verdict(Status.NOT_APPLICABLE, ("no_tool_call",))
    if not record.generations and not record.dispatches:
        return Verdict(Status.NOT_APPLICABLE, ("no_tool_call",))
    if weak:
        return Verdict(Status.INCOMPLETE, tuple(f"{kind}_{record.evidence[kind]}" for kind in weak))
    if hidden:
        return Verdict(Status.UNSUPPORTED, ("hidden_arguments",))
    if doubted:
        return Verdict(Status.INCOMPLETE, tuple(dict.fromkeys(_doubt(d) for d in doubted)))
    return Verdict(Status.PASS)


def _doubt(difference: Divergence) -> str:
    """What runs as asked may still be told otherwise: then an evaluator's verdict on the tools can't be trusted."""
    return f"artifact_{difference.kind}" if difference.boundary is Boundary.ARTIFACT else difference.kind


def _outcome(record: TraceRecord, told_state: Told) -> Verdict:
    """Refusals, errors that no later attempt recovered, and a state that is told to be wrong fail; a pass needs a state
    that is told to be right, since neither an answer nor a tool's "ok" proves the durable state. An undetermined answer is
    unknown, which is never a pass.
    """
    failed = {
        "refusal": record.disposition is Disposition.REFUSED,
        "tool_error": unrecovered(record) is not None,
        "reversed": told_state.reversed,
        "wrong_state": told_state.wrong and not told_state.reversed,
    }
    if any(failed.values()):
        return Verdict(Status.FAIL, tuple(reason for reason, holds in failed.items() if holds))
    if told_state.doubts:
        return Verdict(Status.INCOMPLETE, told_state.doubts)
    if told_state.held:
        return Verdict(Status.PASS, ("told_state",))
    if not record.generations and not record.responses:
        return Verdict(Status.NOT_APPLICABLE, ("no_model_call",))
    if unrecovered(record, cancelled=True) is not None:
        return Verdict(Status.INCOMPLETE, ("tool_cancelled",))
    if any(request.outcome is Outcome.PENDING for request in record.requests):
        return Verdict(Status.INCOMPLETE, ("ended_in_a_tool_call",))
    return Verdict(Status.UNSUPPORTED, ("no_outcome_fact",))


def unrecovered(record: TraceRecord, *, cancelled: bool = False) -> Dispatch | None:
    """The first run of a tool that failed where no later run of it succeeded; or, which is no failure of the tool's and tells
    nothing of what it had done until then, that was `cancelled`.
    """
    succeeded: set[str] = set()
    first = None
    for dispatch in reversed(record.dispatches):
        if dispatch.error is None and dispatch.executed is Executed.YES:
            succeeded.add(dispatch.name)
        elif dispatch.error is None or dispatch.executed is Executed.NO or dispatch.error.kind is ErrorKind.DEFERRED:
            continue  # it did not run, or waits for a person
        elif dispatch.name not in succeeded and (dispatch.error.kind is ErrorKind.CANCELLED) is cancelled:
            first = dispatch
    return first
