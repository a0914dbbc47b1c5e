"""Model calls: a generation's input and output, in the shape that its integration writes."""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions.langfuse.integers import LARGE, with_integers
from lanewatch.adapters.conventions.langfuse.marks import (
    INPUT,
    METADATA,
    MODEL,
    NAME,
    OUTPUT,
    error,
    masked,
    session,
)
from lanewatch.adapters.facts import LlmCall, Usage
from lanewatch.adapters.json_text import parse_json_text
from lanewatch.adapters.langchain_values import is_message, message_of, messages_of
from lanewatch.adapters.message_shapes import read_completion, read_messages
from lanewatch.adapters.messages import Message, Text, ToolCall
from lanewatch.adapters.reading import Content, State, dictionaries, read, read_json
from lanewatch.collector.spans import Span


def llm_call(span: Span) -> LlmCall:
    """A generation."""
    attributes = span.attributes
    given = masked(span) or read(attributes.get(INPUT))
    answered = masked(span) or read(attributes.get(OUTPUT))
    inputs, tools = conversation(given.value) if given.state is State.CAPTURED else ((), None)
    output, output_state = _answer(answered)
    if answered.raw is not None and LARGE.search(answered.raw):
        output = tuple(
            replace(message, parts=tuple(_exact(part, tools) for part in message.parts)) for message in output
        )
    usage = read_json(attributes.get("langfuse.observation.usage_details"))
    usage = usage if isinstance(usage, dict) else {}
    model = attributes.get(MODEL)
    return LlmCall(
        span,
        NAME,
        inputs,
        output,
        given.state,
        output_state,
        next((message.finish_reason for message in output if message.finish_reason), None),
        model if isinstance(model, str) else None,
        _provider(attributes),
        usage=Usage(_count(usage, "input", "prompt_tokens"), _count(usage, "output", "completion_tokens")),
        tools=tools,
        error=error(span),
        session_id=session(span),
    )


def conversation(value: Any) -> tuple[tuple[Message, ...], dict[str, Any] | None]:
    """(messages, offered tools) of a model's input: a list in which the handler put the tools behind the messages, or
    an object in which the OpenAI wrapper keeps them apart.
    """
    if isinstance(value, dict):
        kwargs = value.get("kwargs")
        source = kwargs if isinstance(kwargs, dict) and "args" in value else value  # `@observe`
        listed = source.get("messages", source.get("input", source.get("prompt")))
        system = source.get("instructions")
        messages = _messages(listed)
        if isinstance(system, str) and not any(message.role == "system" for message in messages):
            messages = (Message("system", (Text(system),)), *messages)
        return messages, _offered([*dictionaries(source.get("tools")), *dictionaries(source.get("functions"))])
    if not isinstance(value, list):
        return _messages(value), None
    definitions = [item["content"] for item in value if _is_definition(item)]
    return _messages([item for item in value if not _is_definition(item)]), _offered(definitions)


def _is_definition(item: Any) -> bool:
    if not isinstance(item, dict) or item.get("role") != "tool" or "tool_call_id" in item:
        return False
    content = item.get("content")
    return isinstance(content, dict) and ("function" in content or "name" in content)


def _messages(value: Any) -> tuple[Message, ...]:
    if isinstance(value, list) and any(isinstance(item, dict) and is_message(item) for item in value):
        return messages_of(value)
    return read_messages(value)


def _offered(definitions: list[dict[str, Any]]) -> dict[str, Any] | None:
    tools: dict[str, Any] = {}
    for item in definitions:
        inner = item.get("function", item)
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            tools[inner["name"]] = inner.get("parameters", inner.get("input_schema"))
    return tools or None


def _answer(content: Content) -> tuple[tuple[Message, ...], State]:
    """What a model put out: a message, a provider's whole answer, items of the Responses API, or text."""
    if content.state is not State.CAPTURED:
        return (), content.state
    value = content.value
    if not content.structured:
        whole = isinstance(value, str) and value.lstrip()[:1] not in ("{", "[")
        return ((Message("assistant", (Text(value),)),), State.CAPTURED) if whole else ((), State.TRUNCATED)
    if isinstance(value, list):
        return _messages_out(value)
    if any(isinstance(value.get(key), list) for key in ("choices", "generations", "candidates", "output")):
        messages = read_completion(value)
        return messages, State.CAPTURED if messages else State.ABSENT
    if "role" in value or "tool_calls" in value or "function_call" in value or is_message(value):
        return (message_of(value, "assistant"),), State.CAPTURED
    return _messages_out([value])


def _messages_out(value: list[Any]) -> tuple[tuple[Message, ...], State]:
    """Items of one answer. Objects of no known shape may be structured output, but not calls that were lost."""
    messages = read_messages(value, "assistant")
    shown = any(message.parts for message in messages)
    return messages, State.CAPTURED if shown or not value else State.ABSENT


def _exact(part: Any, tools: dict[str, Any] | None) -> Any:
    if not isinstance(part, ToolCall) or part.arguments.state is not State.CAPTURED:
        return part
    return replace(part, arguments=with_integers(part.arguments, (tools or {}).get(part.name)))


def _provider(attributes: dict[str, Any]) -> str | None:
    value = parse_json_text(attributes.get(f"{METADATA}.ls_provider"))
    return value if isinstance(value, str) else None


def _count(usage: dict[str, Any], *keys: str) -> int | None:
    values = (usage.get(key) for key in keys)
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)
