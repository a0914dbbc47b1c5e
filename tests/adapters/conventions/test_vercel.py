"""Vercel's AI SDK: its own spans of versions 3 to 6, and the GenAI spans of version 7."""

import json
from typing import Any

import pytest
from lanewatch.adapters.facts import Executed
from lanewatch.adapters.records import Evidence, Outcome, TraceRecord
from lanewatch.collector.spans import Span

from tests.adapters.spans import asking, call, raised, record, span, text
from tests.corpus.known import captures, verdicts

ARGUMENTS = {"city": "Lyon"}
PROMPT = [{"role": "user", "content": [{"type": "text", "text": "Weather in Lyon?"}]}]
GENAI = "gen_ai"


def ai(label: str, operation: str, attributes: dict[str, Any] | None = None, **where: Any) -> Span:
    """A span of the SDK itself, with the session in its telemetry metadata."""
    own = {"ai.operationId": operation, "ai.telemetry.metadata.sessionId": "s1"}
    return span(label, {**own, **(attributes or {})}, **{"scope": "ai", **where})


def root(**attributes: Any) -> Span:
    """The span around a whole run."""
    return ai("root", "ai.generateText", {"ai.response.finishReason": "stop", **attributes}, at=(0, 100))


def generate(label: str, at: tuple[float, float], *calls: dict[str, Any], **attributes: Any) -> Span:
    """A model call that asks for tools, or answers with `text`."""
    written: dict[str, Any] = {"ai.prompt.messages": json.dumps(PROMPT), "ai.response.finishReason": "stop"}
    if calls:
        written["ai.response.toolCalls"] = json.dumps(calls)
        written["ai.response.finishReason"] = "tool-calls"
    if "text" in attributes:
        written["ai.response.text"] = attributes.pop("text")
    where = {"at": at, "under": attributes.pop("under", "root")}
    return ai(label, attributes.pop("operation", "ai.generateText.doGenerate"), {**written, **attributes}, **where)


def asked(value: Any, call_id: str = "call_1", name: str = "weather", key: str = "input") -> dict[str, Any]:
    """A tool call as `ai.response.toolCalls` holds it."""
    return {"toolCallId": call_id, "toolName": name, key: value}


def ran(label: str, at: tuple[float, float], args: Any, result: Any = "sunny", **where: Any) -> Span:
    """A run of the tool."""
    attributes = {"ai.toolCall.name": "weather", "ai.toolCall.id": where.pop("call_id", "call_1")}
    attributes |= {"ai.toolCall.args": json.dumps(args)} if args is not None else {}
    attributes |= {"ai.toolCall.result": json.dumps(result)} if result is not None else {}
    return ai(label, "ai.toolCall", attributes, at=at, **{"under": "root", **where})


def one_call(*calls: dict[str, Any], run: Span | None = None, **attributes: Any) -> TraceRecord:
    """A run of the SDK with one round of tools."""
    spans = [root(), generate("ask", (1, 2), *calls, **attributes), generate("end", (5, 6), text="It is sunny.")]
    return record(*spans, *([run] if run is not None else []))


@pytest.mark.parametrize("capture", captures("vercel-ai-json"))
def test_no_capture_is_silently_wrong(capture: str) -> None:
    """Recordings of ai 6, against their truth: all but the rewrite inside a tool's own wrapper are exact."""
    seen = verdicts(capture)
    flagged = {facet for facet, verdict in seen.items() if verdict == "flagged"}

    assert flagged == ({"dispatches"} if capture.endswith("07_runtime_rewrite") else set())
    assert seen["divergence"] in ("hit", "quiet")
    assert "wrong" not in seen.values()


@pytest.mark.parametrize(
    ("key", "value"), [("input", ARGUMENTS), ("input", json.dumps(ARGUMENTS)), ("args", ARGUMENTS)]
)
def test_arguments_are_an_object_or_its_text_in_every_version(key: str, value: Any) -> None:
    """Version 4 writes `args`, later ones `input`; the model's text where the SDK has not parsed it yet."""
    seen = one_call(asked(value, key=key), run=ran("run", (3, 4), ARGUMENTS))

    assert (seen.requests[0].arguments, seen.requests[0].outcome) == (ARGUMENTS, Outcome.DISPATCHED)
    assert (seen.dispatches[0].match_rule, seen.dispatches[0].result) == ("R1", "sunny")
    assert (seen.session_id, seen.responses[0].text) == ("s1", "It is sunny.")
    assert all(seen.evidence[kind] is Evidence.COMPLETE for kind in ("requests", "dispatches", "responses"))


def test_malformed_arguments_stay_text_and_have_no_span() -> None:
    """The SDK refuses the call before it opens a span for the tool."""
    tools = [json.dumps({"type": "function", "name": "weather", "inputSchema": {"properties": {}}})]
    other = ran("run", (7, 8), ARGUMENTS, call_id="call_2")
    last = generate("again", (6.5, 6.8), asked(json.dumps(ARGUMENTS), "call_2"))
    ask = generate("ask", (1, 2), asked('{"city": "Ly'), **{"ai.prompt.tools": tools})
    seen = record(root(), ask, last, other, generate("end", (9, 10), text="done"))

    assert (seen.requests[0].arguments, seen.requests[0].arguments_raw) == (None, '{"city": "Ly')
    assert seen.requests[0].outcome is Outcome.INVALID


def test_a_call_of_an_unknown_tool_is_invalid() -> None:
    """The next prompt holds the SDK's words."""
    told = {"type": "tool-result", "toolCallId": "call_1", "toolName": "weather",
            "output": {"type": "error-text", "value": "Model tried to call unavailable tool 'weather'."}}  # fmt: skip
    prompt = json.dumps([*PROMPT, {"role": "tool", "content": [told]}])
    end = generate("end", (5, 6), text="sorry", **{"ai.prompt.messages": prompt})
    seen = record(root(), generate("ask", (1, 2), asked(ARGUMENTS)), end)

    assert seen.requests[0].outcome is Outcome.INVALID
    assert seen.requests[0].observed_result == "Model tried to call unavailable tool 'weather'."


def test_a_guards_words_stand_in_quotes() -> None:
    """Results are JSON, so that a text has quotes around it."""
    seen = one_call(asked(ARGUMENTS), run=ran("run", (3, 4), ARGUMENTS, "blocked by policy"))

    assert (seen.dispatches[0].executed, seen.requests[0].outcome) == (Executed.NO, Outcome.BLOCKED)


def test_a_tool_that_throws_ran() -> None:
    """The result is absent; the exception event has the words."""
    events = (raised("Error", "out of stock", "Error: out of stock\n    at execute (file:///app/tools.mjs:3:9)"),)
    run = ran("run", (3, 4), ARGUMENTS, None, status=2, message="out of stock", events=events)
    (dispatch,) = one_call(asked(ARGUMENTS), run=run).dispatches

    assert dispatch.executed is Executed.YES
    assert dispatch.error is not None
    assert dispatch.error.message == "out of stock"


def test_a_streamed_call_runs_its_tools_below_it() -> None:
    """Tools of `streamText` start before the model has finished, as children of the model's span."""
    ask = generate("ask", (1, 5), asked(ARGUMENTS), operation="ai.streamText.doStream", **{"ai.response.text": ""})
    seen = record(root(), ask, ran("run", (2, 3), ARGUMENTS, under="ask"), generate("end", (6, 7), text="sunny"))

    assert seen.dispatches[0].match_rule == "R1"
    assert [response.text for response in seen.responses] == ["sunny"]


@pytest.mark.parametrize(("number", "state"), [(9007199254740992, Evidence.TRUNCATED), (42, Evidence.COMPLETE)])
def test_numbers_that_javascript_has_rounded_are_not_the_models(number: int, state: Evidence) -> None:
    """A stream's arguments went through doubles before they were written."""
    seen = one_call(asked({"id": number}), run=ran("run", (3, 4), {"id": number}))

    assert seen.evidence["requests"] is state


def test_rounded_numbers_of_a_dispatch_differ_from_the_models_digits() -> None:
    """The model's own text keeps all digits; the tool got a double."""
    seen = one_call(asked('{"id": 9007199254740993}'), run=ran("run", (3, 4), {"id": 9007199254740992}))

    assert seen.requests[0].arguments == {"id": 9007199254740993}
    assert seen.dispatches[0].arguments == {"id": 9007199254740992}


def test_without_recorded_outputs_nothing_is_made_up() -> None:
    """`recordOutputs: false` hides answers, calls and tools' arguments alike."""
    ask, end = generate("ask", (1, 2)), generate("end", (5, 6))
    seen = record(root(), ask, ran("run", (3, 4), None, None), end)

    assert (seen.requests, seen.dispatches[0].arguments) == ((), None)
    assert seen.evidence["requests"] is not Evidence.COMPLETE
    assert seen.evidence["dispatches"] is not Evidence.COMPLETE
    assert seen.evidence["responses"] is not Evidence.COMPLETE


def test_calls_that_a_length_limit_cut_are_said_to_be_cut() -> None:
    """`ai.response.toolCalls` is one JSON text, and a cut one gives no call at all."""
    cut: dict[str, Any] = {"ai.response.toolCalls": '[{"toolCallId": "call_1", "toolNa'}
    seen = one_call(**cut)

    assert seen.evidence["requests"] is Evidence.TRUNCATED


def test_a_run_that_ends_with_open_calls_leaves_them_to_the_client() -> None:
    """A tool without a function runs in the browser, which writes no spans."""
    ask = generate("ask", (1, 2), asked(ARGUMENTS), asked(ARGUMENTS, "call_2"))
    held = {"ai.response.finishReason": "tool-calls", "ai.response.toolCalls": json.dumps([asked(ARGUMENTS)])}
    seen = record(root(**held), ask, ran("run", (3, 4), ARGUMENTS, call_id="call_2"))

    assert [request.outcome for request in seen.requests] == [Outcome.PENDING, Outcome.DISPATCHED]
    assert seen.evidence["dispatches"] is not Evidence.COMPLETE


def test_genai_mode_leaves_calls_open_too() -> None:
    """The agent's span repeats its last messages."""
    messages = {"gen_ai.output.messages": json.dumps([asking(call("weather", ARGUMENTS))])}
    agent = genai("agent", "invoke_agent", {**messages, "gen_ai.response.finish_reasons": ["tool-calls"]}, at=(0, 100))
    seen = record(agent, genai("chat", "chat", messages, at=(2, 3), under="agent"))

    assert seen.requests[0].outcome is Outcome.PENDING


def test_a_tool_that_the_provider_defines_and_runs_has_no_span() -> None:
    """Provider tools are listed with a type of their own."""
    tool = json.dumps({"type": "provider", "name": "weather", "id": "openai.weather"})
    offered: dict[str, Any] = {"ai.prompt.tools": [tool]}
    seen = one_call(asked(ARGUMENTS), **offered)

    assert seen.requests[0].outcome is Outcome.BY_PROVIDER


def test_an_object_is_an_answer() -> None:
    """`generateObject` has its answer in a key of its own."""
    attributes = {"ai.response.object": '{"a": 1}', "ai.response.finishReason": "stop"}
    seen = record(ai("call", "ai.generateObject.doGenerate", attributes))

    assert seen.responses[0].text == '{"a": 1}'


def test_a_filtered_answer_is_a_refusal() -> None:
    """The SDK names the finish reason with a hyphen."""
    seen = record(root(), generate("end", (1, 2), text="No.", **{"ai.response.finishReason": "content-filter"}))

    assert seen.responses[0].refusal


def test_embeddings_are_no_model_calls() -> None:
    """`ai.embed.doEmbed` has a model and no messages."""
    spans = (ai("embed", "ai.embed"), ai("do", "ai.embed.doEmbed", {"gen_ai.request.model": "e"}, under="embed"))

    assert record(*spans).generations == ()


def test_usage_is_read_in_the_spelling_of_every_version() -> None:
    """`promptTokens` up to version 4; a root repeats the sum and is no model call."""
    tokens = {"ai.usage.promptTokens": 3, "ai.usage.completionTokens": 4.0}
    seen = record(root(**tokens), generate("end", (1, 2), text="hi", **tokens))

    assert [(one.usage.input, one.usage.output) for one in seen.generations] == [(3, 4)]


def genai(label: str, operation: str, attributes: dict[str, Any] | None = None, **where: Any) -> Span:
    """A span of version 7's GenAI mode."""
    return span(label, {"gen_ai.operation.name": operation, **(attributes or {})}, **{"scope": GENAI, **where})


def genai_run(*outputs: dict[str, Any], run: Span, finish: str = "stop") -> TraceRecord:
    """A run of version 7: an agent, a step, the model's call, a tool."""
    first = {"gen_ai.output.messages": json.dumps([{**asking(*outputs), "finish_reason": "tool_call"}])}
    last = {"gen_ai.output.messages": json.dumps([asking(text("It is sunny."))])}
    return record(
        genai("agent", "invoke_agent", {"gen_ai.response.finish_reasons": [finish], **last}, at=(0, 100)),
        genai("step 1", "agent_step", at=(1, 50), under="agent"),
        genai("chat", "chat", first, at=(2, 3), under="step 1"),
        run,
        genai("step 2", "agent_step", at=(51, 60), under="agent"),
        genai("end", "chat", last, at=(52, 53), under="step 2"),
    )


def test_genai_mode_writes_texts_in_quotes() -> None:
    """Results and arguments went through JSON.stringify."""
    attributes = {
        "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "call_1", "gen_ai.execute_tool.duration": 0.1,
        "gen_ai.tool.call.arguments": json.dumps(ARGUMENTS), "gen_ai.tool.call.result": '"blocked by policy"',
    }  # fmt: skip
    run = genai("run", "execute_tool", attributes, at=(4, 5), under="step 1")
    seen = genai_run(call("weather", ARGUMENTS), run=run)

    assert (seen.dispatches[0].executed, seen.dispatches[0].result) == (Executed.NO, "blocked by policy")
    assert [response.text for response in seen.responses] == ["It is sunny."]


def test_genai_mode_shows_what_the_provider_ran() -> None:
    """A span of no length below the model's, of type extension."""
    attributes = {"gen_ai.tool.name": "search", "gen_ai.tool.call.id": "call_1", "gen_ai.tool.type": "extension"}
    run = genai("run", "execute_tool", attributes, at=(2, 2), under="chat")
    seen = genai_run(call("search", ARGUMENTS), run=run)

    assert (seen.dispatches, seen.requests[0].outcome) == ((), Outcome.BY_PROVIDER)
