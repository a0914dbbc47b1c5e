"""What several frameworks do that no convention's module can settle alone."""

import pytest
from lanewatch.adapters.execution import judged
from lanewatch.adapters.facts import ErrorInfo, ErrorKind, Executed, ToolRun
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.reading import State, read
from lanewatch.adapters.records import Evidence
from lanewatch.adapters.rejections import says_invalid_arguments

from tests.adapters.spans import agent, asking, call, chat, record, span, text, tool


@pytest.mark.parametrize(
    ("output", "shown", "is_error"),
    [
        ({"type": "json", "value": {"a": 1}}, {"a": 1}, False),
        ({"type": "text", "value": "fine"}, "fine", False),
        ({"type": "error-text", "value": "no"}, "no", True),
        ({"type": "execution-denied", "reason": "too dear"}, "too dear", True),
        ([{"json": {"a": 1}}], {"a": 1}, False),
    ],
)
def test_a_result_is_taken_out_of_its_tags(output: object, shown: object, is_error: bool) -> None:
    """Vercel tags results with their type, Bedrock and Strands with their format."""
    block = {"type": "tool-result", "toolCallId": "call_1", "toolName": "t", "output": output}
    (message,) = read_messages([{"role": "tool", "content": [block]}])
    (result,) = message.results

    assert (result.content.value, result.is_error) == (shown, is_error)


def test_an_object_with_a_type_of_its_own_is_no_tag() -> None:
    """A tool may itself return an object that has a type."""
    block = {"type": "tool-result", "toolCallId": "c", "output": {"type": "json"}}

    assert read_messages([{"role": "tool", "content": [block]}])[0].results[0].content.value == {"type": "json"}


@pytest.mark.parametrize(
    "message",
    [
        "Invalid input for tool cancel_subscription: JSON parsing failed: Text: {",
        "Invoking `cancel()` failed as the following mandatory input parameters are not present:\nid",
    ],
)
def test_refusals_of_frameworks_are_recognised(message: str) -> None:
    """The words of Vercel's AI SDK and of Google's ADK."""
    assert says_invalid_arguments(message)


def test_a_convention_that_knows_of_a_refusal_is_believed_though_the_error_looks_like_a_failure() -> None:
    """Pydantic AI and others say on the span that the arguments were refused."""
    run = ToolRun(span("t"), "x", "t", executed=Executed.NO, error=ErrorInfo("E", ErrorKind.VALIDATION, "boom"))

    assert judged(run, {}) == run


def test_elided_content_is_redacted() -> None:
    """Google's ADK writes `<elided>` where content capture is off."""
    assert read("<elided>").state is State.REDACTED


def test_an_output_that_ends_in_a_malformed_call_hides_it() -> None:
    """Gemini's and ADK's finish reason; the call itself is dropped."""
    hidden = chat("chat", under="agent")
    hidden.attributes["gen_ai.response.finish_reasons"] = ["malformed_function_call"]

    assert record(agent(), hidden).evidence["requests"] is not Evidence.COMPLETE


@pytest.mark.parametrize(("offered", "state"), [("cancel", Evidence.PARTIAL), ("cancel_sub", Evidence.COMPLETE)])
def test_a_run_under_a_name_that_nobody_offered_is_not_wholly_known(offered: str, state: Evidence) -> None:
    """A hook resolved the name to a tool that the span does not name."""
    definitions = f'[{{"name": "{offered}"}}]'
    spans = (
        agent(),
        chat(
            "chat",
            call("cancel_sub", {"a": 1}),
            at=(1, 2),
            under="agent",
            extra={"gen_ai.tool.definitions": definitions},
        ),
        tool("run", "cancel_sub", {"a": 1}, call_id="call_1", at=(3, 4), under="agent"),
        chat("end", text("done"), inputs=[asking(call("cancel_sub", {"a": 1}))], at=(5, 6), under="agent"),
    )

    assert record(*spans).evidence["dispatches"] is state


def test_what_the_provider_ran_is_answered_in_the_same_output() -> None:
    """A web search by the provider is no call that an answer could still follow."""
    searched = {"type": "server_tool_call", "id": "ws_1", "name": "web_search", "server_tool_call": {}}
    (response,) = record(agent(), chat("chat", searched, text("It rains."), under="agent")).responses

    assert response.text == "It rains."


def test_a_part_may_name_its_type_as_kind() -> None:
    """Pydantic AI's events do; a thought is then no text of the answer."""
    content = [{"kind": "thinking", "text": "hm"}, {"kind": "text", "text": "Lyon"}]
    (message,) = read_messages([{"role": "assistant", "content": content}])

    assert message.text == "Lyon"
