"""OpenTelemetry's GenAI semantic conventions, all versions from 1.27 on: `gen_ai.operation.name` decides the role."""

from typing import Any

from lanewatch.adapters.documents import document_of
from lanewatch.adapters.facts import (
    AGENT,
    HANDOFF,
    Fact,
    LlmCall,
    Search,
    Shape,
    Step,
    ToolRun,
    Usage,
)
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.genai_content import read_sides
from lanewatch.adapters.identity import id_quality
from lanewatch.adapters.reading import (
    NO_CONTENT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    read,
    read_arguments,
    read_json,
    read_repeated,
)
from lanewatch.adapters.records import IdQuality
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "otel_genai"
KEYS = (b"gen_ai.",)
SCOPES: tuple[str, ...] = ()

OPERATION = "gen_ai.operation.name"
LLM = frozenset({"chat", "generate_content", "text_completion", "completion", "acompletion"})
RETRIEVAL = frozenset({"retrieval", "search_memory", "retriever"})
AGENTS = frozenset({"create_agent", "invoke_agent", "invoke_workflow", "handle_conversation_turn"})
# Frameworks' instrumentors of this family that also write an execute_tool span for each tool that runs.
TOOL_INSTRUMENTORS = (
    "opentelemetry.instrumentation.genai.langchain",
    "opentelemetry.instrumentation.genai.openai_agents",
    "opentelemetry.instrumentation.genai.llama_index",
    "opentelemetry.instrumentation.openai_agents",
    "opentelemetry.instrumentation.google_genai",
)
DEFAULT_SESSION_KEYS = ("gen_ai.conversation.id", "session.id")


def matches(span: Span) -> bool:
    """Whether the span names a GenAI operation, or a model as emitters before 1.28 did."""
    attributes = span.attributes
    return OPERATION in attributes or "gen_ai.system" in attributes or "gen_ai.request.model" in attributes


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    operation = operation_of(span)
    if operation == "execute_tool":
        return (tool_run(span, NAME),)
    if operation in LLM:
        return (llm_call(span, tree, NAME),)
    if operation in RETRIEVAL:
        return (search(span, NAME),)
    return (step(span, NAME, operation),)


def step(span: Span, convention: str, operation: str, session_keys: tuple[str, ...] = DEFAULT_SESSION_KEYS) -> Step:
    """Any other operation; a handoff names the agent that takes over."""
    target = span.attributes.get("gen_ai.handoff.to_agent")
    agent = target or span.attributes.get("gen_ai.agent.name")
    role = HANDOFF if operation == HANDOFF or target else AGENT if operation in AGENTS else operation or "unknown"
    return Step(
        span,
        convention,
        role,
        instruments_tools=operation in AGENTS and span.scope.name.startswith(TOOL_INSTRUMENTORS),
        target=agent if isinstance(agent, str) else None,
        error=error_of(span),
        session_id=session_of(span, session_keys),
    )


def operation_of(span: Span) -> str:
    """The operation, lower case; a span that only names a model is a chat."""
    value = span.attributes.get(OPERATION)
    if isinstance(value, str) and value:
        return value.lower()
    return "chat" if "gen_ai.request.model" in span.attributes or "gen_ai.system" in span.attributes else ""


def session_of(span: Span, keys: tuple[str, ...] = DEFAULT_SESSION_KEYS) -> str | None:
    """The conversation id."""
    for key in keys:
        value = span.attributes.get(key)
        if isinstance(value, str | int) and value and not is_placeholder(value):
            return str(value)
    return None


def finish_of(attributes: dict[str, Any]) -> str | None:
    """The finish reason: an array, JSON text of one, or a single string."""
    value = attributes.get("gen_ai.response.finish_reasons", attributes.get("gen_ai.response.finish_reason"))
    decoded = read_json(value) if isinstance(value, str) else value
    if isinstance(decoded, list):
        return next((item for item in decoded if isinstance(item, str) and item), None)
    return value if isinstance(value, str) and value else None


def llm_call(
    span: Span, tree: SpanTree, convention: str, session_keys: tuple[str, ...] = DEFAULT_SESSION_KEYS
) -> LlmCall:
    """A model call from `gen_ai.*` keys and events."""
    attributes = span.attributes
    sides = read_sides(span, tree)
    finish = finish_of(attributes) or next((m.finish_reason for m in sides.output if m.finish_reason), None)
    model = attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
    provider = attributes.get("gen_ai.provider.name") or attributes.get("gen_ai.system")
    response_id = attributes.get("gen_ai.response.id")
    return LlmCall(
        span,
        convention,
        sides.input,
        sides.output,
        sides.input_state,
        sides.output_state,
        finish,
        model if isinstance(model, str) else None,
        provider if isinstance(provider, str) else None,
        response_id if isinstance(response_id, str) and response_id else None,
        usage_of(attributes),
        offered_tools(attributes) if not span.dropped_attributes else None,
        error_of(span),
        session_of(span, session_keys),
    )


def usage_of(attributes: dict[str, Any]) -> Usage:
    """Tokens, in the spelling of any version."""

    def first(*keys: str) -> int | None:
        values = (attributes.get(f"gen_ai.usage.{key}") for key in keys)
        return next((v for v in values if isinstance(v, int) and not isinstance(v, bool)), None)

    return Usage(first("input_tokens", "prompt_tokens"), first("output_tokens", "completion_tokens"))


def offered_tools(attributes: dict[str, Any]) -> dict[str, Any] | None:
    """Tools offered to the model: name -> JSON Schema of the arguments; None where they were not recorded."""
    definitions = read_repeated(attributes.get("gen_ai.tool.definitions"))
    tools: dict[str, Any] = {}
    for item in dictionaries(definitions):
        inner = item.get("function", item)
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            tools[inner["name"]] = inner.get("parameters", inner.get("inputSchema", inner.get("input_schema")))
    return tools or None  # a span that lists none may just not have them recorded


def tool_run(
    span: Span,
    convention: str,
    arguments: Content | None = None,
    result: Content | None = None,
    call_id: str | None = None,
    session_keys: tuple[str, ...] = DEFAULT_SESSION_KEYS,
) -> ToolRun:
    """A run of a tool from `gen_ai.tool.*` keys; what a convention found elsewhere comes in as arguments."""
    attributes = span.attributes
    name = attributes.get("gen_ai.tool.name")
    name = name if isinstance(name, str) and name else span.name.removeprefix("execute_tool ")
    if arguments is None:
        written = attributes.get("gen_ai.tool.call.arguments")
        unknown = written is None or written == "None"  # Microsoft's agent framework, for arguments it was not given
        arguments = NO_CONTENT if unknown else read_arguments(written)
    if result is None:
        result = read(attributes.get("gen_ai.tool.call.result"))
    own_id = attributes.get("gen_ai.tool.call.id")
    rule = "R1"
    if isinstance(own_id, str) and id_quality(own_id, name) is not IdQuality.PLACEHOLDER:
        call_id = own_id
    elif call_id is not None:
        rule = "R3"
    keys = ("gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
    return ToolRun(
        span,
        convention,
        name,
        call_id,
        rule,
        arguments,
        shape_of(arguments),
        result,
        error=error_of(span),
        session_id=session_of(span, session_keys),
        keys=tuple(key for key in keys if key in attributes),
    )


def shape_of(arguments: Content) -> Shape:
    """How arguments were written."""
    if arguments.state is State.AMBIGUOUS:
        return Shape.TEXT
    if arguments.state is not State.CAPTURED:
        return Shape.ABSENT
    return Shape.OBJECT if isinstance(arguments.value, dict) else Shape.TEXT


def search(span: Span, convention: str, session_keys: tuple[str, ...] = DEFAULT_SESSION_KEYS) -> Search:
    """A retrieval from `gen_ai.retrieval.*` keys, or from those of a memory."""
    attributes = span.attributes
    value = attributes.get("gen_ai.retrieval.documents", attributes.get("gen_ai.memory.records"))
    decoded = read_json(value)
    listed = decoded.get("documents", decoded) if isinstance(decoded, dict) else decoded
    documents = tuple(document_of(rank, item) for rank, item in enumerate(dictionaries(listed)))
    query = attributes.get("gen_ai.retrieval.query.text", attributes.get("gen_ai.memory.query.text"))
    state = read(value).state
    if decoded is None and state is State.CAPTURED:
        state = State.TRUNCATED
    elif any(document.content is None for document in documents):
        state = State.ABSENT
    source = attributes.get("gen_ai.data_source.id")
    return Search(
        span,
        convention,
        query if isinstance(query, str) and not is_placeholder(query) else None,
        documents,
        state,
        source if isinstance(source, str) else None,
        session_of(span, session_keys),
    )
