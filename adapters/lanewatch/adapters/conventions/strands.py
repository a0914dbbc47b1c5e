"""Strands Agents: GenAI operations whose content is in span events, or on the span with `gen_ai_span_attributes_only`.

Content blocks have Bedrock's shape: `{text}`, `{toolUse}`, `{toolResult}`. Cycles and agents repeat what model calls and
tools say, so only those are read. History is rewritten in place by hooks: requests come from outputs alone.

Arguments that are no JSON become `{}`, and the text is lost. An empty object for a tool that requires arguments, or
whose schema no span shows, is therefore not taken for what the model wrote.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.otel_genai import (
    LLM,
    llm_call,
    offered_tools,
    operation_of,
    session_of,
    step,
    tool_run,
)
from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import AGENT, ErrorInfo, ErrorKind, Fact, LlmCall, Search, Step, ToolRun
from lanewatch.adapters.genai_content import CHOICE, DETAILS, INPUT, OUTPUT
from lanewatch.adapters.message_parts import read_parts
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.messages import Message, ToolCall, ToolResult
from lanewatch.adapters.reading import (
    NO_CONTENT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    read,
    read_arguments,
    read_json,
)
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "strands"
KEYS = (b"strands-agents", b"event_loop.", b"strands.")
SCOPES = ("strands.",)

SYSTEM = "strands-agents"
SEARCH = "memory.search"
CANCELLED = "strands.cancellation.type"


def matches(span: Span) -> bool:
    """Whether the framework's tracer wrote the span; it names itself as the provider."""
    attributes = span.attributes
    return (
        span.scope.name.startswith("strands.")
        or attributes.get("gen_ai.system") == SYSTEM
        or attributes.get("gen_ai.provider.name") == SYSTEM
        or "event_loop.cycle_id" in attributes
    )


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    operation = operation_of(span)
    if operation == "execute_tool":
        return (_tool_run(span),)
    if operation in LLM:
        return (_llm_call(span, tree),)
    if operation == SEARCH:
        return (_search(span),)
    return (_step(span, operation),)


def _step(span: Span, operation: str) -> Step:
    """`invoke_agent`, and `invoke_swarm` or `invoke_graph` around several of them; or a cycle, or what memory keeps."""
    fact = step(span, NAME, operation)
    return replace(fact, role=AGENT, instruments_tools=True) if operation.startswith("invoke_") else fact


def _llm_call(span: Span, tree: SpanTree) -> LlmCall:
    call = llm_call(span, tree, NAME)
    if call.tools is None:
        call = replace(call, tools=_offered(span, tree))
    if any(part.arguments.value == {} for message in call.output for part in message.calls):
        return replace(call, output=tuple(_doubting(message, span, tree) for message in call.output))
    return call


def _offered(span: Span, tree: SpanTree) -> dict[str, Any] | None:
    """The tools of the agent around a model call: their names, and their schemas where those are recorded."""
    for above in tree.ancestors(span):
        tree.work.spend()
        names = tree.read_json(above, "gen_ai.agent.tools")
        if isinstance(names, list) and names:
            schemas = offered_tools(above.attributes) or {}
            return {name: _schema(schemas.get(name)) for name in names if isinstance(name, str)}
    return None


def _schema(value: Any) -> Any:
    return value["json"] if isinstance(value, dict) and isinstance(value.get("json"), dict) else value


def _doubting(message: Message, span: Span, tree: SpanTree) -> Message:
    parent = tree.parent(span)
    beside = tree.children(parent) if parent is not None else []
    parts = tuple(
        replace(part, arguments=NO_CONTENT)
        if isinstance(part, ToolCall) and part.arguments.value == {} and not _takes_none(part, beside)
        else part
        for part in message.parts
    )
    return replace(message, parts=parts)


def _takes_none(part: ToolCall, beside: list[Span]) -> bool:
    """Whether the span of the tool that was called shows that it can do without arguments."""
    for span in beside:
        if span.attributes.get("gen_ai.tool.call.id") == part.call_id:
            schema = read_json(span.attributes.get("gen_ai.tool.json_schema"))
            return isinstance(schema, dict) and not schema.get("required")
    return False


def _tool_run(span: Span) -> ToolRun:
    attributes = span.attributes
    arguments, result = _content_of_events(span)
    if "gen_ai.tool.call.arguments" in attributes:
        arguments = read_arguments(attributes["gen_ai.tool.call.arguments"])
    if "gen_ai.tool.call.result" in attributes:
        result = _blocks(attributes["gen_ai.tool.call.result"])
    run = tool_run(span, NAME, arguments, result)
    schema = read_json(attributes.get("gen_ai.tool.json_schema"))
    cancelled = attributes.get(CANCELLED)
    if cancelled is not None:
        kind = cancelled if isinstance(cancelled, str) and "Cancel" in cancelled else f"Cancelled ({cancelled})"
        run = replace(run, error=ErrorInfo(kind, ErrorKind.CANCELLED))
    return replace(run, schema=schema if isinstance(schema, dict) else None)


def _content_of_events(span: Span) -> tuple[Content, Content]:
    """Arguments and result: one event a message before `gen_ai_latest_experimental`, GenAI messages since."""
    arguments, result = NO_CONTENT, NO_CONTENT
    told: list[dict[str, Any]] = [span.attributes]
    for event in span.events:
        if event.name == "gen_ai.tool.message":
            arguments = read_arguments(event.attributes.get("content"))
        elif event.name == CHOICE:
            result = _blocks(event.attributes.get("message"))
        elif event.name == DETAILS:
            told.append(event.attributes)
    for source in told:
        if INPUT in source and arguments is NO_CONTENT:
            calls = [part for message in read_messages(source[INPUT]) for part in message.calls]
            arguments = calls[0].arguments if calls else _hidden(source[INPUT])
        if OUTPUT in source and result is NO_CONTENT:
            results = [part for message in read_messages(source[OUTPUT]) for part in message.results]
            result = results[0].content if results else _hidden(source[OUTPUT])
    return arguments, result


def _hidden(value: Any) -> Content:
    return Content(None, None, State.REDACTED) if is_placeholder(value) else NO_CONTENT


def _blocks(value: Any) -> Content:
    """A result out of its content blocks: their text, or the one JSON value."""
    blocks = read_json(value)
    if not isinstance(blocks, list):
        return read(value)
    parts = read_parts([{"toolResult": {"content": blocks}}], "tool")
    return next((part.content for part in parts if isinstance(part, ToolResult)), NO_CONTENT)


def _search(span: Span) -> Search:
    """A search of memory: no ids, no scores. Written on the span itself, the results have replaced the query."""
    attributes = span.attributes
    contents = {event.name: event.attributes.get("content") for event in span.events}
    written = contents.get("memory.results", attributes.get("content"))
    listed = read_json(written)
    query = contents.get("memory.query", None if listed is not None else attributes.get("content"))
    documents = tuple(document_of(rank, item) for rank, item in enumerate(dictionaries(listed)))
    state = read(written).state
    if state is State.CAPTURED and listed is None:
        state = State.ABSENT if written == query else State.TRUNCATED
    stores = read_json(attributes.get("memory.store.names"))
    return Search(
        span,
        NAME,
        query if isinstance(query, str) and not is_placeholder(query) else None,
        documents,
        state,
        ", ".join(name for name in stores if isinstance(name, str)) if isinstance(stores, list) else None,
        session_of(span),
    )
