"""What model spans lose and steps around them still show: refusals, malformed calls, and LlamaIndex' agent answers."""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.traceloop.marks import NAME, SESSION_KEYS
from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.message_parts import openai_calls, read_parts
from lanewatch.adapters.message_shapes import read_message
from lanewatch.adapters.messages import Message, Part, Text, ToolCall
from lanewatch.adapters.reading import State, dictionaries, read_arguments, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span


def completed(call: LlmCall, tree: SpanTree) -> LlmCall:
    """A model call, completed from the step right above: refusals and calls with malformed arguments vanish from
    LangChain's model span (`"parts": []`), the step's serialised messages still have them.
    """
    if any(message.parts for message in call.output):
        return call
    step = tree.parent(call.span)
    if step is None:
        return call
    place = (NAME, step.span_id)
    if place not in tree.memo:
        tree.memo[place] = serialised_messages(step.attributes)
    above: list[Message] = tree.memo[place]
    if len(above) != 1 or not above[0].parts or _model_calls(step, tree, call.span.scope.name) != 1:
        return call
    return replace(call, output=(above[0],), output_state=State.CAPTURED)


def one_answer(call: LlmCall) -> LlmCall:
    """A model call whose output is one message: OpenAI's Agents SDK takes one answer, and its instrumentor writes each
    item of it as a message that ended by itself.
    """
    if len(call.output) < 2:  # noqa: PLR2004
        return call
    parts = tuple(part for message in call.output for part in message.parts)
    return replace(call, output=(Message("assistant", parts, call.output[-1].finish_reason),))


def _model_calls(step: Span, tree: SpanTree, scope: str) -> int:
    """How many model calls one instrumentor reports right below a step."""
    calls = (child for child in tree.children(step) if child.scope.name == scope)
    return sum(1 for child in calls if otel_genai.operation_of(child) in otel_genai.LLM)


def serialised_messages(attributes: dict[str, Any]) -> list[Message]:
    """The messages that a step put out (LangChain's state), read only where they hold what the model's span loses."""
    text = attributes.get("traceloop.entity.output")
    if not isinstance(text, str) or ("refusal" not in text and "invalid_tool_calls" not in text):
        return []
    decoded = read_json(text)
    found: list[Message] = []
    stack = [decoded.get("outputs") if isinstance(decoded, dict) else None]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            kind = node.get("id")
            named = str(kind[-1]) if isinstance(kind, list) and kind else ""
            if "lc" in node and isinstance(node.get("kwargs"), dict) and named.startswith("AIMessage"):
                found.append(read_message(node, "assistant"))
            else:
                stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return found


def buried_refusal(attributes: dict[str, Any]) -> str | None:
    """A refusal that only a step's serialised messages show."""
    return next((m.refusal for m in serialised_messages(attributes) if m.refusal), None)


def agent_answer(span: Span) -> LlmCall | None:
    """LlamaIndex' agents: the instrumentor suppresses the model's own span, and the step that called it puts out its
    answer, `{"response": {"role": ..., "blocks": ...}, "tool_calls": [...], "current_agent_name": ...}`.
    """
    output = read_json(span.attributes.get("traceloop.entity.output"))
    answer = output.get("response") if isinstance(output, dict) else None
    if (
        not isinstance(answer, dict)
        or "current_agent_name" not in output
        or not isinstance(output.get("tool_calls"), list)
    ):
        return None
    calls = _calls(answer, output["tool_calls"])
    texts = (part for part in read_parts(answer.get("blocks"), "assistant") if isinstance(part, Text))
    parts: tuple[Part, ...] = (*texts, *calls)
    session = otel_genai.session_of(span, SESSION_KEYS)
    message = Message("assistant", parts)
    return LlmCall(span, NAME, (), (message,), output_state=State.CAPTURED, error=error_of(span), session_id=session)


def _calls(answer: dict[str, Any], listed: list[Any]) -> list[ToolCall]:
    """The answer's calls as the provider wrote them, else as LlamaIndex read them (it repairs malformed arguments)."""
    extra = answer.get("additional_kwargs")
    raw = openai_calls(extra) if isinstance(extra, dict) else []
    if raw:
        return raw
    blocks = [block for block in dictionaries(answer.get("blocks")) if block.get("block_type") == "tool_call"]
    return [
        ToolCall(
            item["tool_name"], identity if isinstance(identity, str) else None, read_arguments(item.get("tool_kwargs"))
        )
        for item in (blocks or list(dictionaries(listed)))
        if isinstance(item.get("tool_name"), str)
        for identity in (item.get("tool_call_id", item.get("tool_id")),)
    ]
