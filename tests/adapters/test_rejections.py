"""Texts of runtimes that did not run a tool, and texts of tools that ran and say no."""

import pytest
from lanewatch.adapters.facts import Executed
from lanewatch.adapters.rejections import EXCERPT, rejected, says_invalid_arguments, says_unknown_tool


@pytest.mark.parametrize(
    "text",
    [
        "Blocked by policy: this action was not carried out.",
        "blocked by policy",
        "Tool execution blocked by hook. Tool: delete_report",
        "Tool execution was not approved.",
        "Tool execution for call_1 was manually rejected by user.",
        "User rejected the tool call for `refund` with reason: too much",
        "The tool call `refund` was blocked because it was classified as risky",
        "Error: Tool call invocation was rejected by user.",
        "The tool call was denied.",
        "This action was not executed.",
        "Function call blocked by the input guardrail",
        "Rejected by our safety policy.",
    ],
)
def test_a_guards_own_words_prove_that_nothing_ran(text: str) -> None:
    """The words of frameworks, and of the guards in the recordings."""
    assert rejected(text) is Executed.NO


@pytest.mark.parametrize(
    "text",
    [
        "Cancelled subscription sub_42.",
        "cancelled",
        "Your refund request was received.",
        "Order 12 was cancelled by the customer on 3 May.",
        "The policy covers water damage.",
        "Payment of 20 EUR accepted.",
        "403: caller is not allowed to change sub_42",
        "not_authorized",
        "Permission denied: /etc/shadow",
        "Lisbon: 21 degrees, clear.",
        "",
        "Blocked by policy. " + "A long document about firewalls. " * 20,
    ],
)
def test_a_tools_own_answer_is_an_answer(text: str) -> None:
    """To call a run that happened no run would be silently wrong."""
    assert rejected(text) is Executed.YES


@pytest.mark.parametrize(
    "text",
    [
        "Claim rejected due to policy exclusion 4.",
        "Declined: card expired",
        "Denied",
        "Not allowed: amount above 50",
        "Blocked by user",
        "The request was rejected by the server",
        "This violates the company's policy.",
        "Guardrail tripped",
        "Approval required",
    ],
)
def test_words_that_may_be_either_cast_doubt(text: str) -> None:
    """A bank's refusal and a guard's read alike."""
    assert rejected(text) is Executed.UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        "Tool not found: {'tool_name': 'drop_tables'}",
        "Error: drop_tables is not a valid tool, try one of [refund].",
        "Tool with name drop_tables not found. Please select a tool that is available.",
        "Unknown tool: drop_tables",
        "Tool 'drop_tables' doesn't exist",
        "No such function drop_tables",
    ],
)
def test_words_for_a_tool_that_does_not_exist(text: str) -> None:
    """Of OpenAI Agents, LangGraph, LlamaIndex, MCP, CrewAI."""
    assert says_unknown_tool(text)


@pytest.mark.parametrize(
    "text",
    [
        "2 validation errors for cancel_subscription\nsubscription_id\n  Input should be a valid string",
        "Invalid JSON input for tool refund",
        "Arguments validation failed: 1 validation error",
        "refund() missing 1 required positional argument: 'amount'",
        "got an unexpected keyword argument 'force'",
        "Error: invalid JSON arguments: Expecting value",
    ],
)
def test_words_for_arguments_that_were_refused(text: str) -> None:
    """Of pydantic, the Agents SDK, CrewAI, and the interpreter."""
    assert says_invalid_arguments(text)


@pytest.mark.parametrize(
    "text", ["Order not found.", "The arguments were good.", "A valid argument", "Your tool belt is in stock"]
)
def test_ordinary_results_are_neither(text: str) -> None:
    """A result may speak of tools and of arguments."""
    assert not says_unknown_tool(text)
    assert not says_invalid_arguments(text)


def test_only_the_ends_of_a_long_text_are_read() -> None:
    """The sentence stands at the start of a message, or at the end of a traceback."""
    filler = "x " * EXCERPT

    assert says_unknown_tool(f"Unknown tool: a {filler}{filler}")
    assert says_unknown_tool(f"{filler}{filler} Unknown tool: a")
    assert not says_unknown_tool(f"{filler}{filler} Unknown tool: a {filler}{filler}")
