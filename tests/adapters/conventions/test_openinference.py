"""OpenInference's documented quirks, by instrumentor."""

import json
from typing import Any

import pytest
from lanewatch.adapters.records import ErrorKind, Evidence, Executed, Outcome
from lanewatch.collector.spans import StatusCode
from lanewatch.monitors.lanes import Lane, Status, judge_lanes

from tests.adapters.spans import asking, oi, oi_llm, oi_tool, raised, record, span, text

LLAMA = "openinference.instrumentation.llama_index"
AGENTS = "openinference.instrumentation.openai_agents"
CREW = "openinference.instrumentation.crewai"
SMOL = "openinference.instrumentation.smolagents"


def _run(name: str = "look", value: Any = None, result: Any = "ok", **where: Any) -> Any:
    """The dispatch of one TOOL span alone."""
    (dispatch,) = record(oi_tool("t", name, value, result, **where)).dispatches
    return dispatch


def test_a_tool_that_is_named_after_an_agent_is_a_tool() -> None:
    """LangChain calls any run AGENT whose name says so (A3)."""
    found = record(oi("t", "AGENT", {"tool.name": "ask_weather_agent", "input.value": "Rome", "output.value": "warm"}))

    assert [run.name for run in found.dispatches] == ["ask_weather_agent"]


def test_a_bare_value_without_a_request_stays_a_text() -> None:
    """The argument's name is nowhere (A4)."""
    dispatch = _run(value="Lisbon")

    assert (dispatch.arguments, dispatch.shape) == ("Lisbon", "bare")


@pytest.mark.parametrize(("asked", "ran", "arguments"), [
    ('{"city": "Lisbon"}', "Lisbon", {"city": "Lisbon"}),
    ('{"text": "42"}', "42", {"text": "42"}),
    ('{"n": 42}', "42", {"n": 42}),
])  # fmt: skip
def test_a_bare_value_takes_its_name_from_the_request(asked: str, ran: str, arguments: dict[str, Any]) -> None:
    """And its type: a text that looks like a number stays one."""
    found = record(oi_llm("ask", ("look", asked, "c1"), at=(1, 2)), oi_tool("t", "look", ran, "ok", at=(3, 4)))

    assert found.dispatches[0].arguments == arguments


@pytest.mark.parametrize(("asked", "ran", "arguments"), [
    ('{"city": "Lisbon"}', "Porto", {"city": "Porto"}),
    ('{"n": 42}', "43", {"n": 43}),
    ('{"text": "a"}', "42", {"text": "42"}),
])  # fmt: skip
def test_a_bare_value_that_was_changed_is_told_as_it_ran(asked: str, ran: str, arguments: dict[str, Any]) -> None:
    """A middleware rewrote the only argument; the id in the result joins both."""
    result = {"type": "tool", "data": {"content": "ok", "tool_call_id": "c1", "status": "success"}}
    found = record(oi_llm("ask", ("look", asked, "c1"), at=(1, 2)), oi_tool("t", "look", ran, result, at=(3, 4)))

    assert (found.dispatches[0].match_rule, found.dispatches[0].arguments) == ("R3", arguments)


def test_the_node_above_names_the_argument_and_the_call() -> None:
    """LangGraph's `tools` node lists its call (A8), which may have been changed on the way to the tool."""
    listed = json.dumps([{"name": "look", "args": {"city": "Lisbon"}, "id": "c1", "type": "tool_call"}])
    node = oi("tools", "CHAIN", {"input.value": listed}, at=(2, 9))
    ask = oi_llm("ask", ("look", '{"city": "Lisbon"}', "c1"), at=(0, 1))
    same = record(ask, node, oi_tool("t", "look", "Lisbon", None, under="tools", at=(3, 4)))
    changed = record(ask, node, oi_tool("t", "look", "Porto", None, under="tools", at=(3, 4)))

    assert (same.dispatches[0].call_id, same.dispatches[0].arguments) == ("c1", {"city": "Lisbon"})
    assert changed.dispatches[0].arguments == {"city": "Porto"}


DUMPED: dict[str, Any] = {
    "type": "tool",
    "tool_call_id": "c1",
    "name": "look",
    "additional_kwargs": {},
    "artifact": None,
}
CALL = {"name": "look", "id": "call_7", "type": "tool_call"}
ANSWER = {"type": "ai", "data": {"type": "ai", "tool_calls": [{**CALL, "id": "call_6", "args": {"id": "x"}}]}}


@pytest.mark.parametrize("text", ['{"id": 7}', "[1, 2]", "{'id': 7}"])
@pytest.mark.parametrize(
    "above",
    [
        lambda call: [call],
        lambda call: [call, {**call, "id": "call_8"}],
        lambda call: {"__type": "tool_call_with_context", "tool_call": call, "state": {"messages": [ANSWER]}},
        lambda call: {"messages": [ANSWER, {"type": "ai", "data": {"type": "ai", "tool_calls": [call]}}]},
    ],
)
def test_an_only_argument_that_looks_like_json_is_a_text(above: Any, text: str) -> None:
    """LangChain writes it bare, with JSON's mime type; the node above has the arguments as they were."""
    node = {"input.value": json.dumps(above({**CALL, "args": {"order": text}})), "input.mime_type": "application/json"}
    result = {"type": "tool", "data": {"content": "ok", "tool_call_id": "call_7", "status": "success"}}
    seen = record(
        oi_llm("a", ("look", json.dumps({"order": text}), "call_7"), at=(0, 1)),
        oi("tools", "CHAIN", node, at=(2, 9)),
        oi_tool("t", "look", text, result, under="tools", at=(3, 4), extra={"input.mime_type": "application/json"}),
    )

    assert [(d.call_id, d.arguments) for d in seen.dispatches] == [("call_7", {"order": text})]
    assert seen.evidence["dispatches"] is Evidence.COMPLETE


@pytest.mark.parametrize(
    ("output", "result", "failed"),
    [
        ({"type": "tool", "data": {"content": "warm", "tool_call_id": "c1", "status": "success"}}, "warm", False),
        ({"type": "tool", "data": {"content": '{"t": 21}', "tool_call_id": "c1"}}, {"t": 21}, False),
        ({"type": "tool", "data": {"content": [{"type": "text", "text": "warm"}], "tool_call_id": "c1"}}, "warm", False),
        ({"type": "tool", "data": {"content": "Error: boom", "tool_call_id": "c1", "status": "error"}}, "Error: boom", True),
        ({**DUMPED, "content": "warm", "status": "success"}, "warm", False),
        ({**DUMPED, "content": [{"type": "text", "text": "warm"}]}, "warm", False),
        ({**DUMPED, "content": "Error: boom", "status": "error"}, "Error: boom", True),
        ("content='it\\'s warm' name='look' tool_call_id='c1'", "it's warm", False),
        ('content="warm" name=\'look\' id=\'x\' tool_call_id=\'c1\' status=\'error\'', "warm", True),
    ],
)  # fmt: skip
def test_langchains_tool_message_is_opened(output: Any, result: Any, failed: bool) -> None:
    """Result and call id stand in the serialised message, as JSON or in older releases as its repr."""
    dispatch = _run(result=output, value={"a": 1})

    assert (dispatch.result, dispatch.call_id, dispatch.error is not None) == (result, "c1", failed)


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"kwargs": {"city": "Rome"}}, {"city": "Rome"}),
        ({"args": [], "sanitize_inputs_outputs": True, "kwargs": {"city": "Rome"}}, {"city": "Rome"}),
        ({"args": ["Rome"], "kwargs": {"days": 2}}, {"city": "Rome", "days": 2}),
        ({}, {}),
    ],
)
def test_wrappers_around_arguments_are_opened(value: Any, arguments: Any) -> None:
    """LlamaIndex and smolagents (A7); positional values take their names from the schema."""
    schema = {"tool.parameters": json.dumps({"city": {"type": "string"}, "days": {"type": "integer"}})}

    assert _run(value=value, extra=schema, scope=SMOL).arguments == arguments


def test_a_tool_with_an_argument_of_that_name_has_no_wrapper() -> None:
    """Its schema says so."""
    schema = {"tool.parameters": json.dumps({"type": "object", "properties": {"kwargs": {"type": "object"}}})}

    assert _run(value={"kwargs": {"a": 1}}, extra=schema).arguments == {"kwargs": {"a": 1}}


def test_positional_values_without_names_are_not_guessed() -> None:
    """Evidence says that they can't be compared."""
    found = record(oi_tool("t", "look", {"args": ["Rome"], "kwargs": {}}, "ok", scope=SMOL))

    assert found.dispatches[0].shape == "positional"


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [({"city": "Rome"}, {"city": "Rome"}), ({"type": "object", "properties": {"city": {"type": "string"}}}, {})],
)
def test_tool_parameters_are_arguments_or_a_schema(parameters: Any, arguments: Any) -> None:
    """Hand-made spans write arguments, most instrumentors the schema (A6)."""
    assert _run(extra={"tool.parameters": json.dumps(parameters)}, scope="shop").arguments == arguments


def test_a_call_without_arguments_has_no_input() -> None:
    """LangChain leaves the key out (A15); a span that shows nothing at all proves nothing."""
    assert _run(result="pong").arguments == {}
    assert record(oi_tool("t", "look")).dispatches[0].arguments is None


@pytest.mark.parametrize("key", ["tool.id", "tool_call.id", "tool.call_id", "gen_ai.tool.call.id"])
def test_call_ids_stand_under_several_keys(key: str) -> None:
    """Where there is one at all."""
    assert _run(extra={key: "c1"}).call_id == "c1"


def test_the_derived_genai_keys_are_ignored() -> None:
    """Dual mode writes poorer twins of its own keys."""
    twins = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.tool.name": "other",
        "gen_ai.tool.call.result": "raw",
        "gen_ai.tool.call.arguments": "{}",
    }
    dispatch = _run("look", {"city": "Rome"}, "warm", extra=twins)

    assert (dispatch.name, dispatch.arguments, dispatch.result) == ("look", {"city": "Rome"}, "warm")


def test_llamaindex_tells_the_id_in_the_event_above() -> None:
    """As a Python repr inside JSON (A8)."""
    event = json.dumps({"ev": "ToolCall(tool_name='look', tool_kwargs={}, tool_id='c1')"})
    step = oi("BaseWorkflowAgent.call_tool", "CHAIN", {"input.value": event}, at=(1, 9), scope=LLAMA)
    found = record(step, oi_tool("t", "look", {"kwargs": {"a": 1}}, "ok", under=step.name, at=(2, 3), scope=LLAMA))

    assert found.dispatches[0].call_id == "c1"


def test_llamaindex_output_is_opened() -> None:
    """`raw_output` is what the function returned."""
    output = {"tool_name": "look", "raw_output": {"t": 21}, "content": "{'t': 21}", "is_error": False}

    assert _run(value={"kwargs": {"a": 1}}, result=output, scope=LLAMA).result == {"t": 21}


def test_llamaindex_private_model_steps_are_no_calls() -> None:
    """`OpenAI._prepare_chat_with_tools` has kind LLM and no messages (A19)."""
    found = record(
        oi_llm("say", content="hi", scope=LLAMA, at=(1, 2)),
        oi("OpenAI._prepare_chat_with_tools", "LLM", {}, scope=LLAMA, at=(0, 1)),
    )

    assert len(found.generations) == 1


def test_llamaindex_reports_a_retrieval_twice() -> None:
    """`aretrieve` has the documents, `_retrieve` below it their reprs (A18)."""
    outer = oi(
        "R.aretrieve",
        "RETRIEVER",
        {"input.value": "q", "retrieval.documents.0.document.content": "d"},
        at=(1, 9),
        scope=LLAMA,
    )
    inner = oi(
        "R._retrieve", "RETRIEVER", {"output.value": '["<NodeWithScore>"]'}, under="R.aretrieve", at=(2, 3), scope=LLAMA
    )

    assert len(record(outer, inner).retrievals) == 1


def test_openai_agents_handoff_is_a_step() -> None:
    """A TOOL span without `tool.name`, whose values are the agents (A2)."""
    found = record(oi("handoff to b", "TOOL", {"input.value": "a", "output.value": "b"}, scope=AGENTS))

    assert found.dispatches == ()


def test_openai_agents_tool_that_is_mapped_to_a_retriever_is_both() -> None:
    """`tool_span_kinds` lets users say so."""
    attributes = {
        "tool.name": "search_policy",
        "input.value": '{"query": "x"}',
        "output.value": '[{"id": "d1", "content": "text"}]',
    }
    found = record(oi("search_policy", "RETRIEVER", attributes, scope=AGENTS))

    assert ([run.name for run in found.dispatches], len(found.retrievals)) == (["search_policy"], 1)
    assert found.retrievals[0].documents[0].id == "d1"


def test_openai_agents_streamed_answer_stands_in_the_output_value() -> None:
    """A list with a response of id `__fake_id__`, and no flattened messages (A25)."""
    item = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "look", "arguments": '{"a": 1}'}
    value = json.dumps([{"id": "__fake_id__", "object": "response", "output": [item]}])
    (request,) = record(oi("ask", "LLM", {"output.value": value}, scope=AGENTS)).requests

    assert (request.call_id, request.arguments) == ("c1", {"a": 1})


def test_crewais_names_fold() -> None:
    """The model is given `issue_refund`, the span says `Issue refund` or `Issue refund.run`."""
    ask = oi_llm("ask", ("Issue_refund", '{"n": 1}', "c1"), at=(1, 2))
    named = oi_tool("t", "Issue refund", {"n": 1}, "ok", scope=CREW, at=(3, 4))
    listener = oi("Issue refund.run", "TOOL", {"input.value": '{"n": 1}', "output.value": "ok"}, scope=CREW, at=(3, 4))

    for run in (named, listener):
        assert record(ask, run).requests[0].outcome is Outcome.DISPATCHED


def test_autogen_puts_the_agent_before_the_tool() -> None:
    """`{agent}.{tool}`."""
    run = oi(
        "helper.look",
        "TOOL",
        {"input.value": "{}", "output.value": "ok"},
        scope="openinference.instrumentation.autogen_agentchat",
    )

    assert record(run).dispatches[0].name == "look"


def test_arguments_that_a_model_span_leaves_out_are_empty() -> None:
    """For `{}` and for "" alike (A15)."""
    attributes = {"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "ping"}

    assert record(oi("ask", "LLM", attributes)).requests[0].arguments == {}


def test_arguments_are_unknown_where_a_stream_was_put_together_wrongly() -> None:
    """LlamaIndex lists the pieces of parallel streamed calls as calls of their own, without name and id."""
    place = "llm.output_messages.0.message.tool_calls"
    pieces = {f"{place}.{n}.tool_call.function.arguments": text for n, text in ((2, '{"a'), (3, '{"b'), (4, '": 1}'))}
    names = {f"{place}.{n}.tool_call.function.name": name for n, name in enumerate(("look", "ping"))}
    seen = record(oi_llm("a", extra={**names, **pieces, f"{place}.0.tool_call.id": "call_1"}))

    assert [(r.name, r.arguments) for r in seen.requests] == [("look", None), ("ping", None)]
    assert seen.evidence["requests"] is Evidence.TRUNCATED


def test_raw_arguments_are_kept_as_the_model_wrote_them() -> None:
    """Spelling, and what does not parse (A12, A16)."""
    found = record(oi_llm("ask", ("a", '{"x":2.50}', "c1"), ("b", '{"x": "pe', "c2")))

    assert [(r.arguments, r.arguments_raw) for r in found.requests] == [({"x": 2.5}, '{"x":2.50}'), (None, '{"x": "pe')]


def test_contents_repeat_calls_only_where_there_are_calls() -> None:
    """`contents.M.tool_call` beside `tool_calls` is read once, and alone it is read."""
    place = "llm.output_messages.0.message"
    content = {f"{place}.contents.0.message_content.type": "text", f"{place}.contents.0.message_content.text": "hm",
               f"{place}.contents.1.message_content.type": "tool_use",
               f"{place}.contents.1.tool_call.id": "c1", f"{place}.contents.1.tool_call.function.name": "look",
               f"{place}.contents.1.tool_call.function.arguments": '{"a": 1}'}  # fmt: skip
    both = {f"{place}.tool_calls.0.tool_call.id": "c1", f"{place}.tool_calls.0.tool_call.function.name": "look",
            f"{place}.tool_calls.0.tool_call.function.arguments": '{"a": 1}', **content}  # fmt: skip

    for attributes in (content, both):
        found = record(oi("ask", "LLM", attributes))
        assert [(r.call_id, r.name, r.arguments) for r in found.requests] == [("c1", "look", {"a": 1})]


def test_an_old_function_call_is_read() -> None:
    """Without an id."""
    place = "llm.output_messages.0.message"
    found = record(
        oi("ask", "LLM", {f"{place}.function_call_name": "look", f"{place}.function_call_arguments_json": '{"a": 1}'})
    )

    assert [(r.name, r.arguments, r.call_id) for r in found.requests] == [("look", {"a": 1}, None)]


def test_calls_of_the_provider_are_told_by_their_name() -> None:
    """OpenAI's Responses: the item's type for a name and its id for an id; no dispatch follows."""
    found = record(
        oi("root", "AGENT", at=(0, 9)), oi_llm("ask", ("web_search_call", "{}", "ws_1"), under="root", at=(1, 2))
    )

    assert found.requests[0].outcome is Outcome.BY_PROVIDER


def test_the_completions_api_has_prompts_and_choices() -> None:
    """No messages at all."""
    found = record(oi("ask", "LLM", {"llm.prompts.0.prompt.text": "Say hi", "llm.choices.0.completion.text": "hi"}))

    assert [response.text for response in found.responses] == ["hi"]
    assert found.messages[0]["content"] == "Say hi"


@pytest.mark.parametrize(
    "tools",
    [
        {
            "llm.tools.0.tool.json_schema": json.dumps(
                {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
            )
        },
        {"llm.tools.0.tool.json_schema": json.dumps({"name": "look", "input_schema": {"type": "object"}})},
        {"llm.tools": json.dumps([{"function": {"name": "look", "parameters": {"type": "object"}}}])},
    ],
)
def test_offered_tools_are_read_in_every_spelling(tools: dict[str, Any]) -> None:
    """OpenAI's, Anthropic's, and CrewAI's one text."""
    assert record(oi_llm("say", content="hi", extra=tools)).tools == {"look": {"type": "object"}}


def test_hidden_values_are_redacted_and_not_arguments() -> None:
    """`__REDACTED__` looks like a value (A17); the finish reason is the only sign of calls."""
    hidden = {"input.value": "__REDACTED__", "output.value": "__REDACTED__", "llm.finish_reason": "tool_calls"}
    found = record(oi("ask", "LLM", hidden, at=(1, 2)), oi_tool("t", "look", "__REDACTED__", "__REDACTED__", at=(3, 4)))

    assert (found.dispatches[0].arguments, found.dispatches[0].result) == (None, None)
    assert (found.evidence["requests"], found.evidence["dispatches"]) == ("redacted", "redacted")


def test_langchains_documents_are_completed_from_the_output() -> None:
    """Ids and scores are not flattened (A18)."""
    output = json.dumps({"documents": [{"id": "pol-1", "page_content": "text", "metadata": {"score": 0.9}}]})
    attributes = {"input.value": "q", "output.value": output, "retrieval.documents.0.document.content": "text"}
    (document,) = record(oi("r", "RETRIEVER", attributes)).retrievals[0].documents

    assert (document.id, document.content, document.score) == ("pol-1", "text", 0.9)


def test_documents_stay_in_order_of_rank() -> None:
    """Index 10 comes after 9."""
    attributes = {f"retrieval.documents.{n}.document.id": n for n in (10, 2, 9)}

    assert [d.id for d in record(oi("r", "RETRIEVER", attributes)).retrievals[0].documents] == ["2", "9", "10"]


def test_the_session_is_on_the_spans() -> None:
    """From the thread's id (A24)."""
    assert record(oi_llm("say", content="hi", extra={"session.id": "s1"})).session_id == "s1"


def test_an_error_with_a_stack_in_the_status_text_is_read() -> None:
    """LangChain writes a whole traceback there (A21)."""
    event = raised("TimeoutError", "slow")
    found = record(
        oi_tool(
            "t",
            "look",
            {"a": 1},
            status=StatusCode.ERROR,
            message="TimeoutError('slow')Traceback (most recent call last):",
            events=(event,),
        )
    )

    assert found.dispatches[0].error is not None
    assert (found.dispatches[0].error.type, found.dispatches[0].executed) == ("TimeoutError", "yes")


@pytest.mark.parametrize("kind", ["CHAIN", "EMBEDDING", "GUARDRAIL", "EVALUATOR", "PROMPT", "DECISION", "UNKNOWN", 7])
def test_other_kinds_are_steps(kind: Any) -> None:
    """They state no record."""
    found = record(
        span(
            "x",
            {
                "openinference.span.kind": kind,
                "llm.output_messages.0.message.content": "x",
                "output.value": json.dumps([asking(text("x"))]),
            },
        )
    )

    assert (found.generations, found.dispatches, found.retrievals, found.conventions) == (
        (),
        (),
        (),
        ("openinference",),
    )


def test_a_tool_that_claude_s_sdk_left_open_is_unknown() -> None:
    """With the run every open span is ended, whatever became of the tool: neither a run that is proved, nor a failure."""
    scope = "openinference.instrumentation.claude_agent_sdk"
    abandoned = oi_tool("t", "Bash", {"cmd": "ls"}, status=2, message="Abandoned", scope=scope)
    seen = record(abandoned)
    dispatch = seen.dispatches[0]

    assert (dispatch.executed, dispatch.error and dispatch.error.kind) == (Executed.UNKNOWN, ErrorKind.CANCELLED)
    assert seen.evidence["dispatches"] is Evidence.PARTIAL
    assert judge_lanes(seen, ())[Lane.OUTCOME].status is not Status.FAIL
    failed = record(oi_tool("t", "Bash", {"cmd": "ls"}, status=2, message="no such file", scope=scope)).dispatches[0]
    assert (failed.executed, failed.error and failed.error.kind) == (Executed.YES, ErrorKind.FAILURE)
