"""Whether a tool's body ran: every phantom TOOL span that was recorded, and the failures that they must not be taken for."""

from typing import Any

import pytest
from lanewatch.adapters.execution import judged
from lanewatch.adapters.facts import ErrorInfo, ErrorKind, Executed, Shape, ToolKind, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.reading import Content, State, read, read_arguments
from lanewatch.collector.spans import StatusCode

from tests.adapters.spans import raised, span

SCHEMA = {
    "type": "object",
    "properties": {"subscription_id": {"type": "string"}, "effective": {"type": "string"}},
    "required": ["subscription_id", "effective"],
}
GOOD = {"subscription_id": "sub_42", "effective": "period_end"}
BAD = {"subscription_id": 42, "effective": ["whenever"], "force": True}
LIBRARY = '  File "/venv/lib/python3.11/site-packages/langchain_core/tools/base.py", line 1099, in run\n'
PARSER = '  File "/venv/lib/python3.11/site-packages/langchain_core/tools/base.py", line 835, in _parse_input\n'
BODY = '  File "/srv/app/tools.py", line 44, in do_cancel\n'
REDACTED = "Error running tool (non-fatal): {'tool_name': 'cancel', 'error': 'Tool execution failed. Error details are redacted.'}"


def _failed(
    kind: str | None,
    message: str,
    *,
    stack: str = "",
    arguments: Any = GOOD,
    schema: dict[str, Any] | None = None,
    offered: dict[str, Any] | None = None,
) -> tuple[Executed, ErrorKind]:
    events = (raised(kind, message, stack),) if kind else ()
    one = span("t", status=StatusCode.ERROR, message=message, events=events)
    content = read_arguments(arguments)
    shape = Shape.OBJECT if isinstance(content.value, dict) else Shape.TEXT
    run = judged(
        ToolRun(one, "x", "cancel", arguments=content, shape=shape, error=error_of(one), schema=schema), offered or {}
    )
    assert run.error is not None
    return run.executed, run.error.kind


def _returned(result: Any) -> tuple[Executed, ErrorKind | None]:
    run = judged(ToolRun(span("t"), "x", "cancel", result=read(result)), {})
    return run.executed, run.error.kind if run.error is not None else None


NEVER_RAN = (Executed.NO, ErrorKind.VALIDATION)
FAILED = (Executed.YES, ErrorKind.FAILURE)


@pytest.mark.parametrize(
    ("kind", "message", "stack"),
    [
        ("pydantic_core._pydantic_core.ValidationError", "2 validation errors for cancel\nsubscription_id\n  ...", ""),
        ("pydantic_core._pydantic_core.ValidationError", "1 validation error for CancelInput\n ...", LIBRARY + PARSER),
        ("TypeError", "cancel() got an unexpected keyword argument 'when'", LIBRARY),
        ("TypeError", "cancel() missing 1 required positional argument: 'effective'", ""),
        ("ToolInvocationError", "bad input", ""),
        ("agents.exceptions.ModelBehaviorError", "Invalid JSON input for tool cancel", ""),
        (None, "{'message': 'Error running tool (non-fatal)', 'data': {'tool_name': 'cancel', 'error': 'Invalid JSON input for tool cancel'}}", ""),
        (None, "Error executing tool cancel: 2 validation errors for cancelArguments", ""),
        (None, "Unknown tool: cancel", ""),
    ],
)  # fmt: skip
def test_a_call_that_was_refused_before_the_body_never_ran(kind: str | None, message: str, stack: str) -> None:
    """14b, 14c: LangChain, LlamaIndex, smolagents, OpenAI Agents, MCP write TOOL spans for calls that they refused."""
    assert _failed(kind, message, stack=stack) == NEVER_RAN


def test_the_span_of_a_hidden_error_is_told_by_the_schema() -> None:
    """OpenAI Agents redacts the cause; arguments that can't be the tool's were refused, others reached the body."""
    assert _failed(None, REDACTED, arguments=BAD, schema=SCHEMA) == NEVER_RAN
    assert _failed(None, REDACTED, arguments=BAD, offered={"cancel": SCHEMA}) == NEVER_RAN
    assert _failed(None, REDACTED, schema=SCHEMA) == FAILED


def test_a_hidden_error_without_a_schema_is_not_guessed() -> None:
    """It may have been either."""
    assert _failed(None, REDACTED) == (Executed.UNKNOWN, ErrorKind.FAILURE)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"type": "integer"}, NEVER_RAN),
        ({"type": "string"}, FAILED),
        ({"type": "string", "pattern": "^pol-"}, (Executed.UNKNOWN, ErrorKind.FAILURE)),
        ({"enum": ["now", "later"]}, (Executed.UNKNOWN, ErrorKind.FAILURE)),
    ],
)
def test_what_a_validator_may_have_refused_is_unknown(rule: Any, expected: Any) -> None:
    """Where the cause is hidden, a run is told only of arguments in which a validator finds nothing at all."""
    schema = {"type": "object", "properties": {"effective": rule}}

    assert _failed(None, REDACTED, schema=schema) == expected
    assert _failed(None, "") == (Executed.UNKNOWN, ErrorKind.FAILURE)


def test_malformed_json_never_reaches_a_body() -> None:
    """14a: smolagents passes the cut text on as one positional argument."""
    assert _failed("TypeError", "broken", arguments='{"subscription_id": "sub_42", "eff') == NEVER_RAN


def test_a_free_text_argument_is_no_malformed_json() -> None:
    """A custom tool takes any text, and may fail with it."""
    assert _failed("RuntimeError", "exit status 1", arguments="ls /nowhere") == FAILED


@pytest.mark.parametrize(
    ("kind", "message", "stack"),
    [
        ("TimeoutError", "upstream timed out after 5 s", ""),
        ("app.AuthorizationError", "403: caller is not allowed to change sub_42", LIBRARY + BODY),
        ("pydantic_core._pydantic_core.ValidationError", "1 validation error for UpstreamAnswer", LIBRARY + BODY),
        ("json.decoder.JSONDecodeError", "Expecting value: line 1 column 1", LIBRARY + BODY),
        ("TypeError", "charge() got an unexpected keyword argument 'currency'", LIBRARY + BODY),
        ("LookupError", "Lambda function 'x' not found", LIBRARY + BODY),
        (None, "Error executing tool cancel: upstream timed out after 5 s", ""),
    ],
)
def test_a_body_that_raised_has_run(kind: str | None, message: str, stack: str) -> None:
    """05: its own errors may look like a refusal; the stack shows application code below the framework's."""
    assert _failed(kind, message, stack=stack) == FAILED


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("pydantic_core._pydantic_core.ValidationError", "1 validation error for UpstreamAnswer"),
        ("JSONDecodeError", "Expecting value: line 1 column 1"),
        ("TypeError", "charge() got an unexpected keyword argument 'currency'"),
        ("LookupError", "Lambda function 'x' not found"),
        ("ValueError", "invalid argument: date is in the past"),
    ],
)
def test_what_may_be_either_is_unknown(kind: str, message: str) -> None:
    """Without a stack nobody can tell whose arguments were meant."""
    assert _failed(kind, message)[0] is Executed.UNKNOWN


def test_a_guard_that_raises_has_blocked() -> None:
    """ADK and others turn a guard's answer into an error."""
    assert _failed("PolicyError", "blocked by policy") == (Executed.NO, ErrorKind.BLOCKED)


def test_a_cancelled_run_may_have_run() -> None:
    """Unless its body was seen."""
    assert _failed("asyncio.CancelledError", "") == (Executed.UNKNOWN, ErrorKind.CANCELLED)
    assert _failed("asyncio.CancelledError", "x", stack=LIBRARY + BODY) == (Executed.YES, ErrorKind.CANCELLED)


@pytest.mark.parametrize(
    "result",
    [
        "Blocked by policy: this action was not carried out.",
        {"error": "blocked by policy"},
        {"content": [{"type": "text", "text": "Blocked by policy: not carried out."}], "isError": True},
        {"content": [{"type": "text", "text": "Blocked by policy: not carried out."}]},
        [{"type": "text", "text": "Blocked by policy: not carried out."}],
        "User denied tool execution",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        {"message": "Tool execution was not approved."},
    ],
)
def test_a_guardrails_text_as_a_result_with_status_ok(result: Any) -> None:
    """08: nothing but the text tells it from a run."""
    assert _returned(result) == (Executed.NO, ErrorKind.BLOCKED)


@pytest.mark.parametrize("result", ["Declined: card expired", {"status": "rejected", "reason": "Denied by our policy"}])
def test_a_result_that_may_be_a_guards_is_doubted(result: Any) -> None:
    """The record says unknown, and its evidence is partial; a doubt is no error."""
    assert _returned(result) == (Executed.UNKNOWN, None)


@pytest.mark.parametrize(
    "result",
    [
        {"status": "blocked", "card": "4711"},
        {"status": "failed"},
        {"job_id": 7, "status": "failed", "error": "disk full"},
        {"job_id": 7, "status": "error"},
        {"status": "failed", "finished_at": "2026-01-02"},
        "The account was blocked by an administrator on 3 May.",
        {"message": "The account was blocked by an administrator."},
        [{"type": "text", "text": "The job failed twice and was stopped by the scheduler."}],
        {"content": [{"type": "text", "text": "saved"}], "isError": False},
        "The linter reports 2 validation errors for Order",
        "Error budget: 3 % left",
        {"status": "cancelled"},
        {"ok": True, "note": "blocked by policy"},
        ["blocked by policy"],
        "saved",
        None,
        7,
    ],
)
def test_a_result_of_the_tools_own_is_a_run(result: Any) -> None:
    """A tool may block a card, and a document may speak of policies."""
    assert _returned(result) == (Executed.YES, None)


@pytest.mark.parametrize(
    "result",
    [
        {"error": "not_authorized", "message": "403"},
        {"isError": True},
        {"status": "error", "message": "upstream timed out"},
        {"status": "error", "content": [{"text": "upstream timed out"}]},
        {"content": [{"type": "text", "text": "upstream timed out"}], "isError": True},
        {"error": "no such order", "order_id": "A-7"},
    ],
)
def test_an_error_that_a_tool_returns_is_a_failure_of_a_run(result: Any) -> None:
    """20: no instrumentor marks it."""
    assert _returned(result) == FAILED


@pytest.mark.parametrize(
    "result",
    [
        "Error: cancel is not a valid tool, try one of [look].",
        "Error invoking tool 'cancel' with kwargs {'a': 1} with error:\n 1 validation error for cancel\nb\n Field required",
        "Error invoking tool cancel: 2 validation errors for cancelArguments",
        {"content": [{"type": "text", "text": "Unknown tool: cancel"}], "isError": True},
        {"content": [{"type": "text", "text": "Input validation error: 'b' is required, cancel"}], "isError": True},
        "Unknown tool name: 'cancel'. Available tools: 'look'",
    ],
)
def test_a_frameworks_refusal_as_a_result_with_status_ok(result: Any) -> None:
    """LangGraph, MCP and Pydantic AI answer the model so, under a span that succeeded."""
    assert _returned(result) == (Executed.NO, ErrorKind.VALIDATION)


def test_a_call_that_waits_for_a_person_is_deferred() -> None:
    """No body ran, and nobody refused it."""
    result = {"error": "This tool call requires confirmation, please approve or reject."}

    assert _returned(result) == (Executed.NO, ErrorKind.DEFERRED)


@pytest.mark.parametrize(
    "kind", ["GraphInterrupt", "langgraph.errors.GraphInterrupt", "ApprovalRequired", "InterruptException"]
)
def test_an_interrupt_is_no_failure_of_the_tool(kind: str) -> None:
    """LangGraph's `interrupt()` raises out of the body, which runs again from its start once a person has answered."""
    assert _failed(kind, "(Interrupt(value='Refund 20 EUR?'),)", stack=LIBRARY + BODY) == (
        Executed.UNKNOWN,
        ErrorKind.DEFERRED,
    )


@pytest.mark.parametrize(
    ("name", "arguments"), [("handoff", {"to_agent": "b", "reason": "x"}), ("Delegate work to coworker", {"task": "x"})]
)
def test_a_frameworks_handoff_is_no_dispatch_that_can_be_compared(name: str, arguments: dict[str, Any]) -> None:
    """16: LlamaIndex and CrewAI report it as a tool; what was done only the other agent's spans show."""
    run = judged(
        ToolRun(span("t"), "x", name, arguments=Content(arguments, None, State.CAPTURED), shape=Shape.OBJECT), {}
    )

    assert (run.kind, run.executed) == (ToolKind.HANDOFF, Executed.UNKNOWN)


def test_a_tool_that_only_shares_the_name_is_a_tool() -> None:
    """LlamaIndex' handoff names the agent it goes to."""
    run = judged(ToolRun(span("t"), "x", "handoff", arguments=Content({"parcel": 1}, None, State.CAPTURED)), {})

    assert run.kind is ToolKind.FUNCTION


def test_an_output_tool_is_not_judged_by_its_text() -> None:
    """Smolagents' final answer may be a refusal."""
    run = ToolRun(span("t"), "x", "final_answer", result=read("blocked by policy"), kind=ToolKind.OUTPUT)

    assert judged(run, {}) == run


def test_a_command_to_the_graph_around_is_no_failure() -> None:
    """LangGraph's handoff out of a subgraph raises through the tool that called it."""
    one = span("t", status=StatusCode.ERROR, message="x", events=(raised("langgraph.errors.ParentCommand", "x"),))
    run = judged(ToolRun(one, "x", "cancel", error=error_of(one)), {})

    assert (run.executed, run.error) == (Executed.YES, None)


def test_an_error_in_the_payload_counts_like_one_of_the_span() -> None:
    """LlamaIndex and LangChain tell it in the result's envelope."""
    told = ErrorInfo(message="cancel() got an unexpected keyword argument 'force'")

    assert judged(ToolRun(span("t"), "x", "cancel", error=told), {}).executed is Executed.NO
