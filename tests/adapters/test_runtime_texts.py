"""What runtimes say instead of running a tool, what a convention knows of a run, and what an agent gave its caller."""

import pytest
from lanewatch.adapters.execution import judged
from lanewatch.adapters.facts import AGENT, ErrorInfo, ErrorKind, Executed, LlmCall, Step, ToolRun
from lanewatch.adapters.messages import Message, Text
from lanewatch.adapters.reading import EMPTY_OBJECT, NO_CONTENT, Content, State
from lanewatch.adapters.rejections import says_invalid_arguments, says_unknown_tool
from lanewatch.adapters.responses import read_responses

from tests.adapters.spans import raised, span

STACK = (
    "Traceback (most recent call last):\n"
    '  File "/venv/lib/python3.11/site-packages/semantic_kernel/functions/kernel_function.py", line 278, in invoke\n'
    '  File "/venv/lib/python3.11/site-packages/semantic_kernel/x.py", line 100, in gather_function_parameters\n'
)


@pytest.mark.parametrize(
    "text",
    [
        "Error: Argument parsing failed.",
        "Received unexpected argument(s): ['force']. Please revise the arguments to match the function signature.",
        "Parameter city is expected to be parsed to <class 'str'> but is not.",
        "Input validation error: 42 is not of type 'string'",
    ],
)
def test_refused_arguments_are_recognised(text: str) -> None:
    """The words of Agent Framework, Semantic Kernel and MCP servers."""
    assert says_invalid_arguments(text)


@pytest.mark.parametrize(
    "text", ["The arguments parsed well.", "unexpected argumentation", "No unexpected arguing here"]
)
def test_other_talk_of_arguments_is_not_a_refusal(text: str) -> None:
    """A result may speak of arguments without refusing them."""
    assert not says_invalid_arguments(text)


def test_a_tool_outside_the_provided_ones_is_unknown() -> None:
    """Semantic Kernel's words."""
    assert says_unknown_tool("The tool call with name `erase` is not part of the provided tools, please try again.")


def test_arguments_that_were_never_parsed_reached_no_body() -> None:
    """Semantic Kernel parses a function's parameters inside the tool's span."""
    broken = span("t", status=2, events=(raised("FunctionExecutionException", "no", STACK),))
    run = judged(ToolRun(broken, "x", "look", error=ErrorInfo("FunctionExecutionException", message="no")), {})

    assert run.executed is Executed.NO
    assert run.error is not None
    assert run.error.kind is ErrorKind.VALIDATION


@pytest.mark.parametrize(
    ("arguments", "executed"), [(NO_CONTENT, Executed.UNKNOWN), (EMPTY_OBJECT, Executed.YES)], ids=["hidden", "shown"]
)
def test_an_error_without_words_proves_a_run_only_with_arguments_that_fit(
    arguments: Content, executed: Executed
) -> None:
    """MCP's `tool_error` stands for refused arguments as for a body that raised."""
    failed = ToolRun(span("t", status=2), "x", "look", arguments=arguments, error=ErrorInfo("tool_error"))

    assert judged(failed, {"look": {"type": "object", "properties": {}}}).executed is executed


def test_a_convention_that_knows_of_no_run_is_believed() -> None:
    """A cached result looks like any other."""
    result = Content("42", "42", State.CAPTURED)
    cached = ToolRun(span("t"), "x", "look", result=result, executed=Executed.NO)

    assert judged(cached, {}).executed is Executed.NO
    assert judged(ToolRun(span("t"), "x", "look", result=result), {}).executed is Executed.YES


def _said(text: str, end: float) -> LlmCall:
    message = Message("assistant", (Text(text),))
    return LlmCall(span(text, at=(end - 1, end)), "x", output=(message,), output_state=State.CAPTURED)


def test_an_agents_answer_completes_the_last_output_in_it() -> None:
    """Agent Framework's caller gets the texts of all turns; the model's last output is the end of that alone."""
    step = Step(span("agent", at=(0, 10)), "x", AGENT, answer="I look.Sunny.")
    before, answer, after = read_responses([_said("Hi.", -1), _said("Sunny.", 9), _said("Sunny.", 12)], [], [step])

    assert [before.text, answer.text, after.text] == ["Hi.", "I look.Sunny.", "Sunny."]


def test_an_agents_answer_that_ends_otherwise_changes_nothing() -> None:
    """It may have been rewritten, or be of another run: then both are not to be mixed."""
    step = Step(span("agent", at=(0, 10)), "x", AGENT, answer="Something else.")
    (answer,) = read_responses([_said("Sunny.", 9)], [], [step])

    assert answer.text == "Sunny."
