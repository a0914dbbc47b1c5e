"""What to do about a lane that fails or can't be judged: one clause a reason, for whoever was just paged."""

# By the reason, or by the part of it before a colon.
STEPS = {
    "not_dispatched:dropped": "see where the runtime lost the call",
    "not_dispatched:blocked": "see whether the guard was right to stop it",
    "not_dispatched:invalid": "see which arguments were refused, and whether the tool's schema told the model better",
    "not_dispatched": "see why the runtime did not run it",
    "unrequested": "see who calls the tool where the model did not",
    "name": "see which name the runtime maps it to; an alias belongs into the registry (docs/registry.md)",
    "arguments": "see what changes them between the model and the tool",
    "echo": "see what lies between the span and the tool: its result tells of other arguments",
    "empty_retrieval": "ask the index this query, with its filters",
    "abstention": "see whether the documents hold the answer: the retriever's gap, or the model's",
    "model_error": "see the error of the model call",
    "refusal": "see whether it should have been answered",
    "tool_error": "see the tool's error above",
    "tool_cancelled": "see who cancelled the run, and whether the model was told",
    "ended_in_a_tool_call": "see whether somebody's approval is still due, or the process ended",
    "wrong_state": "see what the tool did to the state that was told",
    "reversed": "see who undid it",
    "outcome_unknown": "see the fact that was told of the outcome: it leaves open whether it held",
    "outcome_of_another_session": "see why the outcome that was told names another session",
    "policy": "see the policy's line above",
    "artifact": "see the producer's lines above: its evaluations can't be trusted",
}
STATES = {
    "absent": "switch message content on for this instrumentor (docs/stacks.md)",
    "partial": "see which spans are missing or in doubt (docs/report.md, Evidence)",
    "redacted": "see who hides it before it is sent, and whether it may be shown, or hidden by tokens that compare (docs/security.md)",
    "truncated": "raise the SDK's limit on attributes (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT)",
}
RECORDS = ("requests", "dispatches", "retrievals", "responses")


def next_step(reasons: tuple[str, ...]) -> str | None:
    """What to do about the first of the reasons that has a step; None where none has."""
    return next((step for reason in reasons if (step := _step(reason)) is not None), None)


def _step(reason: str) -> str | None:
    kind, _, state = reason.rpartition("_")
    if kind in RECORDS:
        return STATES.get(state)
    head = reason.partition(":")[0]
    return STEPS.get(reason) or STEPS.get(head) or (STEPS["artifact"] if head.startswith("artifact_") else None)
