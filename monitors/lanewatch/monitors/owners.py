"""Who looks into a lane that fails or can't be judged.

The owner of the first difference, where one concerns the lane; else who answers for what the verdict's reason names. Where
evidence is missing, that is whoever runs the instrumentation, and never the part that the evidence would have been of.
"""

from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.divergence import RUNTIME, Boundary, Divergence
from lanewatch.monitors.lanes import Lane, Status, Verdict, unrecovered
from lanewatch.monitors.policies import Finding
from lanewatch.monitors.tools import Registry

INSTRUMENTATION = "instrumentation"  # content capture, exporters, sampling
MODEL = "model"
RETRIEVER = "retriever"
POLICY = "policy:"  # begins a reason, as lanes.py writes it
# Owners that need no name of the user's, by lane: what can be counted before anything was seen.
BUILT_IN = (
    (Lane.RETRIEVAL, RETRIEVER),
    (Lane.GENERATION, MODEL),
    (Lane.OUTCOME, MODEL),
    (Lane.OUTCOME, RUNTIME),
    (Lane.TOOLS, RUNTIME),
    *((lane, INSTRUMENTATION) for lane in (Lane.RETRIEVAL, Lane.GENERATION, Lane.TOOLS)),
)
ORDER = (Boundary.DISPATCH, Boundary.EXECUTION, Boundary.ARTIFACT)  # as a call passes them
EVIDENCE_REASONS = ("requests_", "dispatches_", "retrievals_", "responses_")


def first_difference(lane: Lane, divergences: tuple[Divergence, ...]) -> Divergence | None:
    """The difference at the first boundary among those that concern a lane; all of them are about tools."""
    if lane is not Lane.TOOLS or not divergences:
        return None
    return min(divergences, key=lambda difference: ORDER.index(difference.boundary))


def owner_of(
    lane: Lane,
    verdict: Verdict,
    record: TraceRecord,
    first: Divergence | None,
    registry: Registry,
    policies: tuple[Finding, ...] = (),
) -> str:
    """Who answers for the verdict of a lane; for what only a policy says, its owner."""
    if verdict.reasons and verdict.reasons[0].startswith(POLICY):
        named = verdict.reasons[0].removeprefix(POLICY)
        return next((one.policy.owner for one in policies if one.policy.name == named), RUNTIME)
    if first is not None:
        return first.owner
    if verdict.status is Status.INCOMPLETE and verdict.reasons and verdict.reasons[0].startswith(EVIDENCE_REASONS):
        return INSTRUMENTATION
    match lane:
        case Lane.RETRIEVAL:
            return RETRIEVER
        case Lane.GENERATION:
            return MODEL
        case Lane.OUTCOME if "refusal" in verdict.reasons:
            return MODEL
        case Lane.OUTCOME if "tool_error" in verdict.reasons:
            failed = unrecovered(record)
            return RUNTIME if failed is None else registry.owner(failed.name)
    return RUNTIME
