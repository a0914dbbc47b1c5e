"""OpenInference (Arize): `openinference.span.kind`, flattened messages, values with a mime type.

Quirks by instrumentor are told by the scope's last word; sources are section 2 of the conventions table in docs.
"""

import re
from typing import Any

from lanewatch.adapters.facts import (
    Document,
    ErrorInfo,
    Executed,
    Fact,
    LlmCall,
    Search,
    Shape,
    Step,
    ToolKind,
    ToolRun,
    Usage,
)
from lanewatch.adapters.failures import error_of, judge_error, judge_result
from lanewatch.adapters.message_shapes import joined_text, read_completion, read_message, read_messages
from lanewatch.adapters.messages import Message, Refusal, Text
from lanewatch.adapters.reading import (
    EMPTY_OBJECT,
    NO_CONTENT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    read,
    read_arguments,
    read_json,
    unflatten,
)
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "openinference"
KEYS = (b"openinference.span.kind",)
SCOPES = ("openinference.instrumentation",)

KIND = "openinference.span.kind"
# Instrumentors of a bare client library never see a tool's body.
CLIENTS = frozenset(
    {
        "openai", "anthropic", "bedrock", "groq", "mistralai", "vertexai", "google_genai", "litellm", "instructor",
        "portkey", "guardrails",
    },
)  # fmt: skip
# `tool.parameters` holds the arguments here; everywhere else it holds their JSON Schema.
ARGUMENTS_IN_PARAMETERS = frozenset({"agno", "autogen", "autogen_agentchat", "google_adk", "pydantic_ai", "strands",
                                     "agent_framework", "claude_agent_sdk"})  # fmt: skip
ID_KEYS = ("tool.id", "tool_call.id", "tool.call_id", "gen_ai.tool.call.id")
TOOL_ID_IN_EVENT = re.compile(r"\btool_id='([^']+)'")  # LlamaIndex's ToolCall event, as its repr


def matches(span: Span) -> bool:
    """Whether the span is OpenInference's."""
    return KIND in span.attributes


def read_span(span: Span, tree: SpanTree) -> Fact:
    """The fact that a span states."""
    kind = str(span.attributes.get(KIND, "")).upper()
    tool_name = span.attributes.get("tool.name")
    named = isinstance(tool_name, str) and bool(tool_name)
    if kind == "LLM" and not _is_part_of_call(span):
        return _llm_call(span)
    if kind == "TOOL" or (kind == "AGENT" and named and "tool.description" in span.attributes):
        # LangChain calls every run AGENT whose name contains "agent", a tool of that name too.
        return _tool_run(span, tree, named=named)
    if kind == "RETRIEVER":
        return _search(span, tree)
    return Step(
        span,
        NAME,
        kind.lower() or "unknown",
        instruments_tools=instrumentor(span) not in CLIENTS and span.scope.name.startswith(SCOPES),
        error=error_of(span),
        refusal=_buried_refusal(span),
        session_id=session(span),
    )


def instrumentor(span: Span) -> str:
    """Last word of the scope: langchain, llama_index, openai, ..."""
    return span.scope.name.rpartition(".")[2]


def session(span: Span) -> str | None:
    """The conversation that the span belongs to."""
    value = span.attributes.get("session.id")
    return str(value) if value and not is_placeholder(value) else None


def _is_part_of_call(span: Span) -> bool:
    """LlamaIndex gives kind LLM to private steps of a call too, such as `OpenAI._prepare_chat_with_tools`."""
    return instrumentor(span) == "llama_index" and span.name.rpartition(".")[2].startswith("_")


# ---- model calls


def _llm_call(span: Span) -> LlmCall:
    attributes = span.attributes
    output, output_state = _output(span)
    input_, input_state = _side(span, "llm.input_messages.", "input.value")
    finish = attributes.get("llm.finish_reason") or next((m.finish_reason for m in output if m.finish_reason), None)
    model = attributes.get("llm.response.model_name") or attributes.get("llm.model_name")
    return LlmCall(
        span,
        NAME,
        input_,
        output,
        input_state,
        output_state,
        finish if isinstance(finish, str) else None,
        model if isinstance(model, str) else None,
        _string(attributes.get("llm.provider") or attributes.get("llm.system")),
        _response_id(attributes.get("output.value")),
        Usage(_integer(attributes.get("llm.token_count.prompt")), _integer(attributes.get("llm.token_count.completion"))),
        _offered_tools(attributes),
        error_of(span),
        session(span),
    )


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flat_messages(attributes: dict[str, Any], prefix: str, role: str) -> tuple[Message, ...]:
    tree = unflatten(attributes, prefix)
    return tuple(read_message(_unwrapped(item["message"]), role) for item in dictionaries(tree) if isinstance(item.get("message"), dict))


def _unwrapped(message: dict[str, Any]) -> dict[str, Any]:
    """`contents.M.message_content.{type,text}` as a plain content list; tool calls in it repeat `tool_calls`."""
    contents = message.get("contents")
    if not isinstance(contents, list):
        return _with_legacy_call(message)
    blocks = [dict(c["message_content"]) for c in dictionaries(contents) if isinstance(c.get("message_content"), dict)]
    texts = [b for b in blocks if b.get("type") not in ("tool_use", "tool_call")] if "tool_calls" in message else blocks
    plain = {key: value for key, value in message.items() if key != "contents"}
    if texts or "content" not in plain:
        plain["content"] = texts
    return _with_legacy_call(plain)


def _with_legacy_call(message: dict[str, Any]) -> dict[str, Any]:
    if "function_call_name" not in message or "tool_calls" in message:
        return message
    call = {"name": message["function_call_name"], "arguments": message.get("function_call_arguments_json")}
    return {**message, "function_call": call}


def _captured_calls(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Arguments that an LLM span leaves out are empty: the attribute is omitted for `{}`, "" and None alike."""
    from msgspec.structs import replace

    from lanewatch.adapters.messages import ToolCall

    return tuple(
        replace(
            message,
            parts=tuple(
                replace(part, arguments=EMPTY_OBJECT)
                if isinstance(part, ToolCall) and part.arguments.state is State.ABSENT and not part.by_provider
                else part
                for part in message.parts
            ),
        )
        for message in messages
    )


def _side(span: Span, prefix: str, value_key: str) -> tuple[tuple[Message, ...], State]:
    messages = _captured_calls(_flat_messages(span.attributes, prefix, "user"))
    value = span.attributes.get(value_key)
    if messages:
        return messages, State.CAPTURED
    if is_placeholder(value):
        return (), State.REDACTED
    if value is None:
        return (), State.ABSENT
    return read_messages(value), State.CAPTURED


def _output(span: Span) -> tuple[tuple[Message, ...], State]:
    """What the model answered. The flattened messages come first; the provider's whole answer in `output.value` fills
    in what they leave out: refusals, invalid calls, and streamed answers (OpenAI Agents over chat completions).
    """
    value = span.attributes.get("output.value")
    flat = _captured_calls(_flat_messages(span.attributes, "llm.output_messages.", "assistant"))
    whole: tuple[Message, ...] = ()
    empty = not any(message.parts for message in flat)
    if isinstance(value, str) and (empty or '"refusal"' in value) and not is_placeholder(value):
        whole = read_completion(value)
        if empty and not any(message.parts for message in whole) and not flat:
            whole = whole or ((Message("assistant", (Text(value),)),) if not value.lstrip().startswith(("{", "[")) else ())
    if empty:
        if any(message.parts for message in whole):
            return whole, State.CAPTURED
        if is_placeholder(value):
            return (), State.REDACTED
        return (flat or whole), State.CAPTURED if (flat or whole) else State.ABSENT
    refusal = next((message.refusal for message in whole if message.refusal is not None), None)
    if refusal is not None:
        return (Message("assistant", (Refusal(refusal), *(p for m in flat for p in m.parts if not isinstance(p, Text)))),), State.CAPTURED
    return flat, State.CAPTURED


def _response_id(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    found = re.search(r'"id": ?"((?:chatcmpl|resp|msg|gen)[-_][^"]+)"', value)
    return found.group(1) if found else None


def _offered_tools(attributes: dict[str, Any]) -> dict[str, Any] | None:
    tree = unflatten(attributes, "llm.tools.")
    tools: dict[str, Any] = {}
    for item in dictionaries(tree):
        tool = item.get("tool")
        schema = read_json(tool.get("json_schema")) if isinstance(tool, dict) else None
        if isinstance(schema, dict):
            inner = schema.get("function", schema)
            if isinstance(inner, dict) and isinstance(inner.get("name"), str):
                tools[inner["name"]] = inner.get("parameters", inner.get("input_schema"))
    return tools or None


def _buried_refusal(span: Span) -> str | None:
    """A refusal that only a step's serialised event shows (LlamaIndex agents answer `None` then)."""
    for key in ("input.value", "output.value"):
        value = span.attributes.get(key)
        if isinstance(value, str) and "refusal" in value:
            found = re.search(r"'refusal': (?:'((?:[^'\\]|\\.)+)'|\"((?:[^\"\\]|\\.)+)\")", value)
            if found:
                return found.group(1) or found.group(2)
    return None


# ---- tools


def _tool_run(span: Span, tree: SpanTree, *, named: bool) -> Fact:
    attributes = span.attributes
    source = instrumentor(span)
    if not named and source == "openai_agents":
        # "handoff to X": input is the agent that hands over, output the one that takes over; no arguments.
        return ToolRun(span, NAME, span.name, kind=ToolKind.HANDOFF, error=error_of(span), session_id=session(span))
    name = str(attributes["tool.name"]) if named else span.name.removesuffix(".run")
    schema = _schema(attributes.get("tool.parameters"))
    arguments, shape = _arguments(span, source, schema)
    result, result_id, result_error = _result(attributes.get("output.value"))
    call_id = next((str(attributes[key]) for key in ID_KEYS if attributes.get(key)), None)
    rule = "R1"
    parent_id, parent_arguments = _from_parent(span, tree, name)
    if call_id is None:
        call_id, rule = result_id or parent_id, "R3"
    if parent_arguments is not None and shape in (Shape.BARE, Shape.ABSENT) and source == "langchain":
        arguments, shape = read_arguments(parent_arguments), Shape.OBJECT
    executed, error = judge_error(span, name, arguments, schema)
    if error is None:
        executed, error = judge_result(result)
        if error is None and result_error:
            error = ErrorInfo(None, message=result.raw)
    ends_run = source == "smolagents" and name == "final_answer"
    return ToolRun(
        span,
        NAME,
        name,
        call_id,
        rule,
        arguments,
        shape,
        result,
        executed if not ends_run else Executed.YES,
        error if not ends_run else error_of(span),
        ToolKind.OUTPUT if ends_run else ToolKind.FUNCTION,
        schema,
        session(span),
        tuple(key for key in ("tool.name", "input.value", "output.value", *ID_KEYS) if key in attributes),
    )


def _schema(value: Any) -> dict[str, Any] | None:
    """`tool.parameters` as a JSON Schema, or None where it holds arguments.

    smolagents leaves the outer object out: `{"city": {"type": "string", "description": ...}}`.
    """
    decoded = read_json(value)
    if not isinstance(decoded, dict) or not decoded:
        return None
    if "properties" in decoded and isinstance(decoded["properties"], dict):
        return decoded
    if all(isinstance(rule, dict) and ("type" in rule or "anyOf" in rule) for rule in decoded.values()):
        return {"type": "object", "properties": decoded}
    return None


def _arguments(span: Span, source: str, schema: dict[str, Any] | None) -> tuple[Content, Shape]:
    attributes = span.attributes
    value = attributes.get("input.value")
    if value is None:
        parameters = attributes.get("tool.parameters")
        if parameters is not None and (source in ARGUMENTS_IN_PARAMETERS or schema is None):
            content = read_arguments(parameters)
            if isinstance(content.value, dict):
                return content, Shape.OBJECT
        # LangChain and OpenAI Agents leave the input out for a call without arguments; a hidden one would be a
        # placeholder. A span that shows nothing at all proves nothing.
        shows = "output.value" in attributes or error_of(span) is not None
        return (EMPTY_OBJECT, Shape.OBJECT) if shows else (NO_CONTENT, Shape.ABSENT)
    bare = source == "langchain" and "input.mime_type" not in attributes
    content = Content(value, value, State.CAPTURED) if bare and isinstance(value, str) and not is_placeholder(value) else read(value, literal=source == "langchain")
    if content.state is not State.CAPTURED:
        return content, Shape.ABSENT
    if isinstance(content.value, dict):
        return _unwrap(content, schema)
    if bare:
        return content, Shape.BARE
    if isinstance(value, str) and not value.strip():
        return EMPTY_OBJECT, Shape.OBJECT
    return Content(None, content.text, State.CAPTURED), Shape.TEXT


def _unwrap(content: Content, schema: dict[str, Any] | None) -> tuple[Content, Shape]:
    """Take the arguments out of `{"args": [...], "kwargs": {...}}` (smolagents, LlamaIndex)."""
    value: dict[str, Any] = content.value
    own = schema is not None and "kwargs" in schema.get("properties", {})
    if own or not isinstance(value.get("kwargs"), dict) or not set(value) <= {"args", "kwargs", "sanitize_inputs_outputs"}:
        return content, Shape.OBJECT
    given = value.get("args") or []
    named = dict(value["kwargs"])
    if given:
        names = [name for name in (schema or {}).get("properties", {}) if name not in named]
        if not isinstance(given, list) or len(names) < len(given):
            return Content(value, content.raw, State.CAPTURED, structured=True), Shape.POSITIONAL
        named = {**dict(zip(names, given, strict=False)), **named}
    return Content(named, None, State.CAPTURED, structured=True), Shape.OBJECT


def _result(value: Any) -> tuple[Content, str | None, bool]:
    """(result, call id found in it, whether it calls itself an error): LangChain's and LlamaIndex' envelopes opened."""
    content = read(value)
    outer = content.value
    if isinstance(outer, dict):
        if outer.get("type") == "tool" and isinstance(outer.get("data"), dict):
            data = outer["data"]
            joined = joined_text(data.get("content"))
            inner = read(joined if joined is not None else data.get("content"))
            call_id = data.get("tool_call_id")
            return inner, call_id if isinstance(call_id, str) else None, data.get("status") == "error"
        if "raw_output" in outer and "tool_name" in outer:
            return read(outer["raw_output"]), None, outer.get("is_error") is True
    return content, None, False


def _from_parent(span: Span, tree: SpanTree, name: str) -> tuple[str | None, Any]:
    """(call id, arguments) from the CHAIN span above: LangGraph's `tools` node lists its calls, LlamaIndex' `call_tool`
    shows the event that it handles. Used only where exactly one call there has this tool's name.
    """
    parent = tree.span(span.parent_id)
    if parent is None or parent.attributes.get(KIND) != "CHAIN":
        return None, None
    value = parent.attributes.get("input.value")
    if not isinstance(value, str):
        return None, None
    decoded = read_json(value)
    if isinstance(decoded, dict) and isinstance(decoded.get("ev"), str):
        found = TOOL_ID_IN_EVENT.search(decoded["ev"])
        return (found.group(1), None) if found else (None, None)
    calls = [c for c in dictionaries(decoded) if c.get("type") == "tool_call" and c.get("name") == name]
    if len(calls) == 1:
        call_id = calls[0].get("id")
        return (call_id if isinstance(call_id, str) else None), calls[0].get("args")
    return None, None


# ---- retrieval


def _search(span: Span, tree: SpanTree) -> Fact:
    attributes = span.attributes
    inner = instrumentor(span) == "llama_index" and span.name.rpartition(".")[2].startswith("_")
    above = tree.span(span.parent_id)
    if inner and above is not None and str(above.attributes.get(KIND)).upper() == "RETRIEVER":
        # LlamaIndex reports a retrieval twice: `aretrieve` with documents, `_retrieve` below it with their reprs.
        return Step(span, NAME, "retriever", session_id=session(span))
    documents, state = _documents(attributes)
    query = attributes.get("input.value")
    return Search(span, NAME, _query(query), documents, state, _string(attributes.get("tool.name")) or span.name, session(span))


def _query(value: Any) -> str | None:
    """The query text; LlamaIndex writes a QueryBundle or a `{"str_or_query_bundle": ...}` object."""
    content = read(value)
    if content.state is not State.CAPTURED:
        return None
    if isinstance(content.value, dict):
        for key in ("query", "query_str", "str_or_query_bundle", "input", "question"):
            inner = content.value.get(key)
            if isinstance(inner, str):
                return inner
            if isinstance(inner, dict) and isinstance(inner.get("query_str"), str):
                return inner["query_str"]
    return content.text


def _documents(attributes: dict[str, Any]) -> tuple[tuple[Document, ...], State]:
    """Documents of a retrieval; ids and scores that LangChain leaves out stand in `output.value`."""
    flat = unflatten(attributes, "retrieval.documents.")
    value = attributes.get("output.value")
    whole = read_json(value)
    listed = list(dictionaries(whole.get("documents") if isinstance(whole, dict) else whole))
    items = [item["document"] for item in dictionaries(flat) if isinstance(item.get("document"), dict)]
    if not items:
        if is_placeholder(value):
            return (), State.REDACTED
        if not listed:
            return (), State.CAPTURED if isinstance(whole, list | dict) else State.ABSENT
        items = [{} for _ in listed]
    documents = tuple(
        _document(rank, item, listed[rank] if len(listed) == len(items) else {}) for rank, item in enumerate(items)
    )
    hidden = any(is_placeholder(item.get("content")) for item in items)
    bare = all(document.content is None for document in documents)
    return documents, State.REDACTED if hidden else State.ABSENT if bare else State.CAPTURED


def _document(rank: int, flat: dict[str, Any], whole: dict[str, Any]) -> Document:
    whole = whole["kwargs"] if isinstance(whole.get("kwargs"), dict) else whole
    metadata = read_json(flat.get("metadata")) or whole.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    identity = flat.get("id", whole.get("id"))
    content = flat.get("content", whole.get("page_content", whole.get("text")))
    score = flat.get("score", whole.get("score", metadata.get("score", metadata.get("relevance_score"))))
    return Document(
        rank,
        str(identity) if isinstance(identity, str | int) else None,
        content if isinstance(content, str) and not is_placeholder(content) else None,
        float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None,
        "similarity" if isinstance(score, int | float) else "unknown",
    )
