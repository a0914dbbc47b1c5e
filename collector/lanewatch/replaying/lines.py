"""The machine-readable form of a replay: one JSON object a path, its fields as the replay output names them."""

from typing import Any

from lanewatch.adapters.conversation import conversations
from lanewatch.adapters.records import Dispatch, OutcomeFact, Response, Retrieval, ToolRequest, TraceRecord
from lanewatch.monitors.artifact_outcomes import Compared
from lanewatch.monitors.divergence import Divergence
from lanewatch.monitors.efficiency import FACTS, Amount
from lanewatch.monitors.policies import Finding
from lanewatch.monitors.reference_calls import ReferenceCompared
from lanewatch.monitors.schemas import SchemaCheck
from lanewatch.observation import Observation
from lanewatch.record_json import encode
from lanewatch.replaying.playback import Replayed


def line_of(replayed: Replayed) -> bytes:
    """One line, without its end."""
    traces = [_trace(seen) for seen in replayed.observations]
    joined = conversations(seen.record for seen in replayed.observations)
    sessions = [{"session_id": session, "messages": messages} for session, messages in joined.items()]
    return encode({"input": replayed.path, "traces": traces, "sessions": sessions, "problems": replayed.problems})


def _trace(seen: Observation) -> dict[str, Any]:
    record = seen.record
    return {
        "trace_id": record.trace_id,
        "session_id": record.session_id,
        "service": record.service,
        "conventions": record.conventions,
        "requests": [_request(request) for request in record.requests],
        "dispatches": [_dispatch(dispatch, record) for dispatch in record.dispatches],
        "retrievals": [_retrieval(retrieval) for retrieval in record.retrievals],
        "responses": [_response(response) for response in record.responses],
        "messages": record.messages,
        "divergences": [divergence_dict(difference) for difference in seen.divergences],
        "artifacts": [_artifact(one) for one in seen.compared],
        "schema_violations": [_violation(check) for check in seen.checks if check.kinds],
        "outcomes": [_outcome(fact) for fact in seen.outcomes],
        "policies": [_policy(finding) for finding in seen.policies],
        "facts": {fact: _amount(getattr(seen.facts, fact)) for fact in FACTS},
        "references": [reference_dict(one) for one in seen.references],
        "evidence": record.evidence,
        "lanes": {lane: {"status": v.status, "reasons": v.reasons} for lane, v in seen.lanes.items()},
    }


def _request(request: ToolRequest) -> dict[str, Any]:
    return {
        "call_id": request.call_id,
        "name": request.name,
        "arguments": request.arguments,
        "arguments_raw": request.arguments_raw,
        "outcome": request.outcome,
        "observed_result": request.observed_result,
        "span_id": request.span_id,
    }


def _dispatch(dispatch: Dispatch, record: TraceRecord) -> dict[str, Any]:
    error = dispatch.error
    request = record.requests[dispatch.request] if dispatch.request is not None else None
    return {
        "call_id": dispatch.call_id,
        "name": dispatch.name,
        "arguments": dispatch.arguments,
        "result": dispatch.result,
        "executed": dispatch.executed,
        "error": None if error is None else {"type": error.type, "kind": error.kind, "message": error.message},
        "attempt": dispatch.attempt,
        "application": dispatch.application,
        "match_rule": dispatch.match_rule,
        "answers": None if request is None else request.call_id,
        "request": dispatch.request,
        "inside": dispatch.inside,
        "span_id": dispatch.span_id,
        "provenance": {"span_ids": dispatch.span_ids, "keys": dispatch.keys},
    }


def _retrieval(retrieval: Retrieval) -> dict[str, Any]:
    documents = [
        {"id": d.id, "content": d.content, "score": d.score, "score_kind": d.score_kind} for d in retrieval.documents
    ]
    return {"query": retrieval.query, "documents": documents, "source": retrieval.source, "span_id": retrieval.span_id}


def _response(response: Response) -> dict[str, Any]:
    return {
        "text": response.text,
        "refusal": response.refusal,
        "finish_reason": response.finish_reason,
        "disposition": response.disposition,
        "disposition_source": response.disposition_source,
        "disposition_rule": response.disposition_rule,
    }


def divergence_dict(difference: Divergence) -> dict[str, Any]:
    """A divergence, its fields as the replay output names them."""
    return {
        "boundary": difference.boundary,
        "kind": difference.kind,
        "tool": difference.tool,
        "call_id": difference.call_id,
        "path": difference.path,
        "requested": difference.requested,
        "dispatched": difference.dispatched,
        "artifact": difference.artifact,
        "result": difference.result,
        "owner": difference.owner,
        "reason": difference.reason,
        "span_id": difference.span_id,
        "producer": difference.producer,
        "missing": difference.missing,
    }


def _violation(check: SchemaCheck) -> dict[str, Any]:
    return {
        "tool": check.tool,
        "side": check.side,
        "kinds": check.kinds,
        "paths": check.places,
        "schema": check.source,
        "call_id": check.call_id,
        "span_id": check.span_id,
    }


def _policy(finding: Finding) -> dict[str, Any]:
    policy, ruling = finding.policy, finding.ruling
    return {
        "policy": policy.name,
        "requirement": policy.requirement,
        "lane": policy.lane,
        "criticality": policy.criticality,
        "owner": policy.owner,
        "status": ruling.status,
        "reason": ruling.reason,
        "tools": ruling.tools,
        "span_ids": ruling.span_ids,
    }


def _outcome(fact: OutcomeFact) -> dict[str, Any]:
    return {
        "name": fact.name,
        "held": fact.held,
        "expected": fact.expected,
        "observed": fact.observed,
        "told_by": fact.told_by,
        "span_id": fact.span_id,
    }


def _amount(amount: Amount) -> dict[str, Any]:
    """`complete` false: so much at least."""
    return {"value": amount.value, "complete": amount.complete}


def reference_dict(one: ReferenceCompared) -> dict[str, Any]:
    """An artifact against reference calls, its fields as the replay output names them."""
    return {
        "producer": one.producer,
        "outcome": one.compared.verdict,
        "differences": [
            {
                "kind": difference.kind,
                "tool": difference.tool,
                "path": difference.path,
                "expected": difference.dispatched,
                "artifact": difference.artifact,
                "reason": difference.reason,
            }
            for difference in one.compared.divergences
        ],
        "ragas": {"agreement": one.scores.agreement, **one.scores.values, "reason": one.scores.reason},
    }


def _artifact(one: Compared) -> dict[str, Any]:
    return {"producer": one.producer, "owner": one.owner, "outcome": one.verdict, "reason": one.reason}
