"""The table: which keys each of these conventions uses. They are known from others' readers, not from their emitters.

A row is tried where one of its marks starts an attribute key or the scope's name. `kinds` are looked up in order.
"""

import msgspec


class Row(msgspec.Struct, frozen=True):
    """One convention. Keys of a field are tried in order; roles are llm, tool, retriever and agent, else a step."""

    name: str
    marks: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # attributes that hold the kind
    prefix: str = ""  # stripped from a kind
    roles: dict[str, str] = {}
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()  # a list of the calls that a model asked for, beside its text
    names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()  # a flag that a tool failed
    models: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    event: str = ""  # a span event that holds a result in place of an attribute
    quoted: bool = False  # a result is JSON whatever it is, and a text stands in quotes
    text_only: bool = False  # a model's output shows its text alone, never its calls


ROLES = {"llm": "llm", "model": "llm", "tool": "tool", "retriever": "retriever", "agent": "agent"}
GENAI_MODELS = ("gen_ai.response.model", "gen_ai.request.model")

ROWS: tuple[Row, ...] = (
    Row(
        "claude_code",
        marks=("claude_code.",),
        scopes=("com.anthropic.claude_code",),
        kinds=("span.type",),
        prefix="claude_code.",
        roles={"llm_request": "llm", "tool": "tool", "interaction": "agent"},
        inputs=("new_context", "user_prompt"),
        outputs=("response.model_output",),
        names=("tool_name",),
        ids=("tool_use_id",),
        arguments=("tool_input",),
        results=("output", "content", "diff"),
        models=("model",),
        sessions=("session.id",),
        event="tool.output",
        text_only=True,
    ),
    Row(
        "gemini_cli",
        kinds=("gen_ai.operation.name",),
        roles={"llm_call": "llm", "tool_call": "tool", "agent_call": "agent"},
        inputs=("gen_ai.input.messages",),
        outputs=("gen_ai.output.messages",),
        names=("gen_ai.tool.name",),
        ids=("gen_ai.tool.call.id", "gen_ai.tool.call_id"),
        arguments=("gen_ai.tool.call.arguments", "gen_ai.input.messages"),
        results=("gen_ai.tool.call.result", "gen_ai.output.messages"),
        models=GENAI_MODELS,
        sessions=("gen_ai.conversation.id", "session.id"),
    ),
    Row(
        "genkit",
        marks=("genkit:",),
        scopes=("genkit-tracer",),
        kinds=("genkit:metadata:subtype", "genkit:type"),
        roles=ROLES,
        inputs=("genkit:input",),
        outputs=("genkit:output",),
        names=("genkit:name",),
        ids=("genkit:metadata:ref",),
        arguments=("genkit:input",),
        results=("genkit:output",),
        quoted=True,
        models=("genkit:name",),
        sessions=("genkit:metadata:sessionId", "genkit:sessionId"),
    ),
    Row(
        "livekit",
        marks=("lk.",),
        kinds=("lk.span_kind",),
        roles=ROLES,
        inputs=("lk.chat_ctx", "lk.user_input"),
        outputs=("lk.response.text",),
        calls=("lk.response.function_calls",),
        names=("lk.function_tool.name",),
        ids=("lk.function_tool.id", "lk.function_tool.call_id"),
        arguments=("lk.function_tool.arguments",),
        results=("lk.function_tool.output",),
        errors=("lk.function_tool.is_error",),
        models=GENAI_MODELS,
        sessions=("lk.room_name", "session.id"),
    ),
    Row(
        "laminar",
        marks=("lmnr.",),
        kinds=("lmnr.span.type",),
        roles={"llm": "llm", "cached": "llm", "tool": "tool", "executor": "agent"},
        inputs=("lmnr.span.input",),
        outputs=("lmnr.span.output",),
        arguments=("lmnr.span.input",),
        results=("lmnr.span.output",),
        quoted=True,
        models=GENAI_MODELS,
        sessions=("lmnr.association.properties.session_id", "session.id"),
    ),
    Row(
        "voltagent",
        marks=("voltagent.",),
        kinds=("span.type", "entity.type"),  # children inherit the agent's entity type
        roles=ROLES,
        inputs=("llm.messages", "agent.messages", "input"),
        outputs=("output",),
        names=("tool.name",),
        ids=("tool.call.id", "tool.callId"),
        arguments=("input", "tool.arguments"),
        results=("output", "tool.result"),
        models=("llm.model", *GENAI_MODELS),
        sessions=("voltagent.conversation_id", "conversation.id", "session.id"),
        text_only=True,
    ),
    Row(
        "spring_ai",
        marks=("spring.ai.kind",),
        kinds=("spring.ai.kind",),
        roles={"tool_call": "tool", "vector_store": "retriever", "chat_client": "agent"},
        names=("spring.ai.tool.definition.name",),
        arguments=("spring.ai.tool.call.arguments",),
        results=("spring.ai.tool.call.result",),
        inputs=("db.vector.query.content",),
        outputs=("db.vector.query.response.documents",),
        sessions=("spring.ai.chat.client.conversation.id",),
    ),
    Row(
        "flue",
        marks=("flue.",),
        scopes=("@flue/opentelemetry",),
        kinds=("flue.span.type", "flue.kind"),
        roles={**ROLES, "turn": "llm"},
        inputs=("flue.turn.input",),
        outputs=("flue.turn.output",),
        names=("flue.tool.name",),
        ids=("flue.tool.call_id", "flue.tool.call.id"),
        arguments=("flue.tool.arguments",),
        results=("flue.tool.result",),
        models=("flue.model", *GENAI_MODELS),
        sessions=("flue.session.id", "session.id"),
    ),
)
