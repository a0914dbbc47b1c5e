"""LangSmith's OTel export: `langsmith.span.kind`, and a run's whole inputs and outputs under two GenAI keys.

The kind decides: `gen_ai.operation.name` calls a retriever `embeddings` and a prompt template `chat`. Inputs and outputs
that the client was told to hide are written as `{}`, which is also what a call without arguments looks like. An error is
a text, `repr(exception)` with a traceback right behind it, under an exception type that is always `Exception`.
"""

import re
from typing import Any

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import AGENT, ErrorInfo, Fact, LlmCall, Search, Shape, Step, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.langchain_values import documents_of, is_message, message_of, messages_of, tool_output
from lanewatch.adapters.message_shapes import read_completion, read_messages
from lanewatch.adapters.messages import Message, Text
from lanewatch.adapters.reading import (
    NO_CONTENT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    parse_literal,
    read,
    read_arguments,
)
from lanewatch.adapters.span_tree import GLANCES, SpanTree
from lanewatch.collector.spans import Span

NAME = "langsmith"
KEYS = (b"langsmith.span.kind",)
SCOPES = ("langsmith",)

KIND = "langsmith.span.kind"
INPUT, OUTPUT = "gen_ai.prompt", "gen_ai.completion"
NOTHING = "{}"
SESSION_KEYS = ("langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id")
INTEGRATION, NODE = "langsmith.metadata.ls_integration", "langsmith.metadata.langgraph_node"
ANSWER_KEYS = ("output", "text", "content", "answer")
TRACEBACK = "Traceback (most recent call last)"
RAISED = re.compile(r"^([A-Za-z_][\w.]{0,200})\(")
LAST_LINE = re.compile(r"\n([A-Za-z_][\w.]{0,200}): [^\n]*(?:\n(?!  File)[^\n]*)*$")


def matches(span: Span) -> bool:
    """Whether the span is a run of LangSmith's."""
    return KIND in span.attributes


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a run states. A model's run that holds another one is a wrapper around it."""
    kind = span.attributes.get(KIND)
    if kind == "tool":
        return (_tool_run(span, tree),)
    if kind == "retriever":
        return (_search(span),)
    if kind == "llm" and not any(child.attributes.get(KIND) == "llm" for child in tree.children(span)):
        return (_llm_call(span),)
    return (_step(span, str(kind)),)


def _step(span: Span, kind: str) -> Step:
    """A chain, parser, prompt or embedding; the graph of an agent bears the agent's name."""
    attributes = span.attributes
    is_agent = span.name == attributes.get("langsmith.metadata.lc_agent_name") and NODE not in attributes
    return Step(
        span,
        NAME,
        AGENT if is_agent else kind,
        instruments_tools=INTEGRATION in attributes or NODE in attributes,
        target=span.name if is_agent else None,
        error=_error(span),
        session_id=_session(span),
    )


def _llm_call(span: Span) -> LlmCall:
    attributes = span.attributes
    given, answered = _content(attributes.get(INPUT)), _content(attributes.get(OUTPUT))
    error = _error(span)
    output, output_state = _answer(answered)
    if error is not None and not output:
        output_state = State.ABSENT
    tools = otel_genai.offered_tools(attributes) or _passed_tools(given.value)
    model = attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
    system = attributes.get("gen_ai.system")
    finish = otel_genai.finish_of(attributes)
    return LlmCall(
        span,
        NAME,
        _conversation(given.value),
        output,
        given.state,
        output_state,
        finish or next((message.finish_reason for message in output if message.finish_reason), None),
        model if isinstance(model, str) else None,
        system if isinstance(system, str) else None,
        _response_id(attributes, answered.value),
        otel_genai.usage_of(attributes),
        tools if not span.dropped_attributes else None,
        error,
        _session(span),
    )


def _content(value: Any) -> Content:
    """A run's inputs or outputs; a model always has some, so `{}` is the client's mark for hidden ones."""
    return Content(None, None, State.REDACTED) if value == NOTHING else read(value)


def _passed_tools(value: Any) -> dict[str, Any] | None:
    """Tools that a wrapped client was given."""
    tools = value.get("tools") if isinstance(value, dict) else None
    return otel_genai.offered_tools({"gen_ai.tool.definitions": tools}) if tools else None


def _conversation(value: Any) -> tuple[Message, ...]:
    if not isinstance(value, dict):
        return ()
    listed = next((value[key] for key in ("messages", "input", "contents", "prompts", "prompt") if key in value), None)
    if isinstance(listed, list) and listed and all(isinstance(item, str) for item in listed):
        return tuple(Message("user", (Text(item),)) for item in listed)
    flat = listed[0] if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], list) else listed
    if isinstance(flat, list) and any(is_message(item) for item in dictionaries(flat)):
        return messages_of(flat)
    return read_messages(flat)


def _answer(content: Content) -> tuple[tuple[Message, ...], State]:
    """A model's outputs: LangChain's generations, a provider's answer as a wrapped client had it, or what a traced
    function returned. What has no known shape may hide calls, so it is not captured.
    """
    if content.state is not State.CAPTURED:
        return (), content.state
    value = content.value
    if not isinstance(value, dict):
        return (), State.TRUNCATED
    if set(value) == {"output"} and isinstance(value["output"], dict):
        value = value["output"]
    messages = read_completion(value)
    if not messages:
        batches = value["generations"] if isinstance(value.get("generations"), list) else []
        texts = [item["text"] for batch in batches for item in dictionaries(batch) if isinstance(item.get("text"), str)]
        texts = texts or [value[key] for key in ANSWER_KEYS if isinstance(value.get(key), str)][:1]
        messages = tuple(Message("assistant", (Text(text),) if text else ()) for text in texts)
    if not messages and (is_message(value) or isinstance(value.get("message"), dict)):
        messages = (message_of(value, "assistant"),)
    if not messages and isinstance(value.get("messages"), list):
        messages = tuple(m for m in messages_of(value["messages"], "assistant") if m.role == "assistant")[-1:]
    return messages, State.CAPTURED if messages else State.ABSENT


def _response_id(attributes: dict[str, Any], answer: Any) -> str | None:
    own = attributes.get("gen_ai.response.id")
    if isinstance(own, str) and own:
        return own
    whole = answer.get("llm_output") if isinstance(answer, dict) else None
    found = whole.get("id") if isinstance(whole, dict) else None
    return found if isinstance(found, str) and found else None


def _tool_run(span: Span, tree: SpanTree) -> ToolRun:
    attributes = span.attributes
    written = attributes.get(OUTPUT)
    error = _error(span)
    hidden = written == NOTHING and error is None
    answered = Content(None, None, State.REDACTED) if hidden else NO_CONTENT if written == NOTHING else read(written)
    whole = answered.value
    inner = whole["output"] if isinstance(whole, dict) and set(whole) == {"output"} else whole
    result, result_id, failed = tool_output(inner) if answered.structured else (answered, None, False)
    arguments, shape = _arguments(span, tree, outputs_hidden=hidden)
    run = otel_genai.tool_run(span, NAME, arguments, result, result_id, SESSION_KEYS)
    name = run.name if "gen_ai.tool.name" in attributes else span.name
    return ToolRun(
        span,
        NAME,
        name,
        run.call_id,
        run.id_rule,
        arguments,
        shape,
        result,
        error=error or (ErrorInfo(message=result.raw) if failed else None),
        session_id=run.session_id,
        keys=(*run.keys, *(key for key in (INPUT, OUTPUT) if key in attributes)),
    )


def _arguments(span: Span, tree: SpanTree, *, outputs_hidden: bool) -> tuple[Content, Shape]:
    """A tool's inputs by name; older LangChain writes `{"input": text}`, the repr of them or the only one's value."""
    value = span.attributes.get(INPUT)
    if value is None:
        return NO_CONTENT, Shape.ABSENT
    if value == NOTHING and (outputs_hidden or _hides_inputs(span, tree)):
        return Content(None, None, State.REDACTED), Shape.ABSENT
    content = read_arguments(value)
    if not isinstance(content.value, dict):
        return content, otel_genai.shape_of(content)
    only = content.value.get("input") if set(content.value) == {"input"} else None
    if not isinstance(only, str):
        return content, Shape.OBJECT
    try:
        literal = parse_literal(only) if only.lstrip()[:1] == "{" else None
    except ValueError:
        literal = None
    return (read_arguments(literal), Shape.OBJECT) if isinstance(literal, dict) else (read(only), Shape.BARE)


def _hides_inputs(span: Span, tree: SpanTree) -> bool:
    """Whether the client hides inputs: the run above, or a model's, shows none either."""
    above = tree.parent(span)
    if above is not None and above.attributes.get(INPUT) not in (None, NOTHING):
        return False
    tree.work.spend(len(tree.trace.spans) // GLANCES)
    models = (other for other in tree.trace.spans if other.attributes.get(KIND) == "llm")
    asked = next((model.attributes.get(INPUT) for model in models), None)
    return asked == NOTHING or (asked is None and above is not None and above.attributes.get(INPUT) == NOTHING)


def _search(span: Span) -> Search:
    attributes = span.attributes
    given, found = _content(attributes.get(INPUT)), _content(attributes.get(OUTPUT))
    documents = documents_of(found.value)
    state = found.state
    if state is State.CAPTURED and not documents and not _is_empty(found.value):
        state = State.ABSENT if found.structured else State.TRUNCATED
    asked = given.value if isinstance(given.value, dict) else {}
    query = next((asked[key] for key in ("query", "input", "question") if isinstance(asked.get(key), str)), None)
    texts = [text for text in asked.values() if isinstance(text, str)]
    query = query if query is not None else texts[0] if len(texts) == 1 else None
    return Search(span, NAME, None if is_placeholder(query) else query, documents, state, span.name, _session(span))


def _is_empty(value: Any) -> bool:
    return isinstance(value, dict) and any(value.get(key) == [] for key in ("documents", "output"))


def _session(span: Span) -> str | None:
    return otel_genai.session_of(span, SESSION_KEYS)


def _error(span: Span) -> ErrorInfo | None:
    """The error that the text tells: the exception's name from its repr, else from the traceback's last line."""
    error = error_of(span)
    if error is None or not error.message:
        return error
    head, found, stack = error.message.partition(TRACEBACK)
    if error.type not in (None, "Exception", "Error"):
        return error
    named = RAISED.match(head) or (LAST_LINE.search(stack) if found else None)
    return ErrorInfo(named.group(1) if named else None, error.kind, head.strip() or error.message)
