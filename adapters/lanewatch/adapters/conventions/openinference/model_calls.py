"""Model calls: flattened messages, completed from the provider's whole answer where they leave something out.

Every call of a run repeats the messages and tools of those before it: each is made once a trace.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from msgspec.structs import replace

from lanewatch.adapters.conventions.openinference.marks import NAME, integer, session, string
from lanewatch.adapters.facts import (
    LlmCall,
    Usage,
)
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.message_shapes import read_completion, read_message, read_messages
from lanewatch.adapters.messages import ROLES, Message, Part, Refusal, Text, ToolCall
from lanewatch.adapters.reading import (
    EMPTY_OBJECT,
    Content,
    State,
    dictionaries,
    is_placeholder,
    nested,
    read_json,
    read_repeated,
)
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

RESPONSE_ID = re.compile(r'"id": ?"((?:chatcmpl|resp|msg|gen)[-_][^"]+)"')
# OpenAI's Responses API tells by it why an answer is not whole; there is no finish reason beside it.
BROKE_OFF = re.compile(r'"incomplete_details": ?\{"reason": ?"(\w{1,40})"')

SPEAKERS = {role: speaker for role, speaker in ROLES.items() if speaker != "tool"}
CUT = Content(state=State.TRUNCATED)
LISTS = ("input_messages", "output_messages", "prompts", "choices", "tools")
PREFIXES = tuple(f"llm.{name}." for name in LISTS)

Flat: TypeAlias = dict[str, Any]  # values by dotted keys
Made = TypeVar("Made")


def llm_call(span: Span, tree: SpanTree) -> LlmCall:
    """A model call from `llm.*` keys and, where these fall short, `input.value` and `output.value`."""
    attributes = span.attributes
    lists = _lists_of(attributes)
    output, output_state = _output(span, lists, tree)
    input_, input_state = _input(span, lists, tree)
    finish = (
        attributes.get("llm.finish_reason")
        or next((m.finish_reason for m in output if m.finish_reason), None)
        or _broke_off(attributes.get("output.value"))
    )
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
        string(attributes.get("llm.provider") or attributes.get("llm.system")),
        _response_id(attributes.get("output.value")),
        Usage(integer(attributes.get("llm.token_count.prompt")), integer(attributes.get("llm.token_count.completion"))),
        _offered_tools(attributes, lists, tree) if not span.dropped_attributes else None,
        error_of(span),
        session(span),
    )


def _broke_off(value: Any) -> str | None:
    found = BROKE_OFF.search(value) if isinstance(value, str) and '"incomplete_details"' in value else None
    return found[1] if found else None


def _lists_of(attributes: dict[str, Any]) -> dict[str, Flat]:
    """What stands below `llm.{list}.`, by list: `llm.input_messages.0.message.role` is `0.message.role` there."""
    lists: dict[str, Flat] = {name: {} for name in LISTS}
    for key, value in attributes.items():
        if key.startswith(PREFIXES):
            _, name, rest = key.split(".", 2)
            lists[name][rest] = value
    return lists


def _once(tree: SpanTree, flat: Flat, make: Callable[..., Made], *also: Any) -> Made:
    """What `make` makes of flattened values, out of the tree's memo where the trace has had these before."""
    key = (NAME, make, *also, *flat, *flat.values(), *map(type, flat.values()))  # the types tell True from 1
    try:
        made: Made | None = tree.memo.get(key)
    except TypeError:  # a list among the values
        return make(flat, *also)
    if made is None:
        made = tree.memo[key] = make(flat, *also)
    return made


def _flat_messages(flat: Flat, role: str, tree: SpanTree) -> tuple[Message, ...]:
    fields: dict[str, Flat] = {}
    for key, value in flat.items():
        place, _, rest = key.partition(".message.")
        if place.isdecimal() and rest and not rest[0].isdecimal():  # a list is no message
            fields.setdefault(place, {})[rest] = value
    places = sorted(fields, key=int) if len(fields) > 1 else fields
    return tuple([_plain(fields[place]) or _once(tree, fields[place], _message, role) for place in places])


def _plain(flat: Flat) -> Message | None:
    """The message of a role and a text, as most are; to look it up would take as long as to make it."""
    if len(flat) != 2:  # noqa: PLR2004 - role and content
        return None
    role, text = flat.get("role"), flat.get("content")
    speaker = SPEAKERS.get(role) if isinstance(role, str) else None
    if speaker is None or not isinstance(text, str) or not text or is_placeholder(text):
        return None
    return Message(speaker, (Text(text),))


def _message(flat: Flat, role: str) -> Message:
    """Arguments that an LLM span leaves out are empty: the attribute is omitted for `{}`, "" and None alike. Not so
    where calls without a name hold the rest of a stream that was put together wrongly (LlamaIndex, where the pieces of
    parallel calls arrive mixed): which call a piece belongs to is lost, so all that is known is that something is missing.
    """
    fields = nested(flat)
    message = read_message(_unwrapped(fields), role)
    if not any(_left_out(part) for part in message.parts):
        return message
    missing = CUT if _has_stray_pieces(fields.get("tool_calls")) else EMPTY_OBJECT
    parts = (replace(part, arguments=missing) if _left_out(part) else part for part in message.parts)
    return replace(message, parts=tuple(parts))


def _has_stray_pieces(calls: Any) -> bool:
    """Whether there are arguments under a call that has neither name nor id."""
    functions = (
        (call, call.get("function")) for one in dictionaries(calls) if isinstance(call := one.get("tool_call"), dict)
    )
    return any(
        isinstance(function, dict) and "arguments" in function and not function.get("name") and not call.get("id")
        for call, function in functions
    )


def _left_out(part: Part) -> bool:
    return isinstance(part, ToolCall) and part.arguments.state is State.ABSENT and not part.by_provider


def _prompts(lists: dict[str, Flat]) -> tuple[Message, ...]:
    """Prompts of the completions API."""
    return _texts((item.get("prompt") for item in dictionaries(nested(lists["prompts"]))), "user")


def _completions(lists: dict[str, Flat]) -> tuple[Message, ...]:
    """Answers of the completions API."""
    return _texts((item.get("completion") for item in dictionaries(nested(lists["choices"]))), "assistant")


def _texts(items: Iterable[Any], role: str) -> tuple[Message, ...]:
    texts = (item.get("text") for item in items if isinstance(item, dict))
    return tuple(Message(role, (Text(text),)) for text in texts if isinstance(text, str) and not is_placeholder(text))


def _unwrapped(message: dict[str, Any]) -> dict[str, Any]:
    """`contents.M.message_content.{type,text}` as a plain content list. `contents.M.tool_call` repeats a call of
    `tool_calls`, so it is read only where there are none.
    """
    contents = message.get("contents")
    if not isinstance(contents, list):
        return _with_legacy_call(message)
    listed = [item for item in dictionaries(contents) if not ("tool_calls" in message and _is_call(item))]
    blocks = [block for item in listed if isinstance(block := item.get("tool_call", item.get("message_content")), dict)]
    plain = {key: value for key, value in message.items() if key != "contents"}
    if blocks or "content" not in plain:
        plain["content"] = [{**block, "type": "tool_call"} if "function" in block else block for block in blocks]
    return _with_legacy_call(plain)


def _is_call(item: dict[str, Any]) -> bool:
    content = item.get("message_content")
    kind = content.get("type") if isinstance(content, dict) else None
    return "tool_call" in item or kind in ("tool_use", "tool_call")


def _with_legacy_call(message: dict[str, Any]) -> dict[str, Any]:
    if "function_call_name" not in message or "tool_calls" in message:
        return message
    call = {"name": message["function_call_name"], "arguments": message.get("function_call_arguments_json")}
    return {**message, "function_call": call}


def _input(span: Span, lists: dict[str, Flat], tree: SpanTree) -> tuple[tuple[Message, ...], State]:
    messages = _flat_messages(lists["input_messages"], "user", tree) or _prompts(lists)
    value = span.attributes.get("input.value")
    if messages:
        return messages, State.CAPTURED
    if is_placeholder(value):
        return (), State.REDACTED
    if value is None:
        return (), State.ABSENT
    return read_messages(value), State.CAPTURED


def _output(span: Span, lists: dict[str, Flat], tree: SpanTree) -> tuple[tuple[Message, ...], State]:
    """What the model answered. The flattened messages come first; the provider's whole answer in `output.value` fills
    in what they leave out: refusals, invalid calls, and streamed answers (OpenAI Agents over chat completions).
    """
    value = span.attributes.get("output.value")
    flat = _flat_messages(lists["output_messages"], "assistant", tree) or _completions(lists)
    whole: tuple[Message, ...] = ()
    empty = not any(message.parts for message in flat)
    if isinstance(value, str) and (empty or _may_refuse(value)) and not is_placeholder(value):
        whole = read_completion(value)
        if empty and not any(message.parts for message in whole) and not flat:
            whole = whole or (
                (Message("assistant", (Text(value),)),) if not value.lstrip().startswith(("{", "[")) else ()
            )
    if empty:
        if any(message.parts for message in whole):
            return whole, State.CAPTURED
        if is_placeholder(value):
            return (), State.REDACTED
        return (flat or whole), State.CAPTURED if (flat or whole) else State.ABSENT
    refusal = next((message.refusal for message in whole if message.refusal is not None), None)
    if refusal is not None:
        return (
            Message("assistant", (Refusal(refusal), *(p for m in flat for p in m.parts if not isinstance(p, Text)))),
        ), State.CAPTURED
    return flat, State.CAPTURED


def _may_refuse(answer: str) -> bool:
    """Whether a provider's answer has a refusal in it; most have the field, and null there."""
    told = answer.count('"refusal"')
    return told > 0 and told > answer.count('"refusal":null') + answer.count('"refusal": null')


def _response_id(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    found = RESPONSE_ID.search(value)
    return found.group(1) if found else None


def _offered_tools(attributes: dict[str, Any], lists: dict[str, Flat], tree: SpanTree) -> dict[str, Any] | None:
    """Tools offered to the model, flattened or (CrewAI) as one JSON text; None where some may be missing."""
    flat = lists["tools"]
    if flat:
        return _once(tree, flat, _flat_tools)
    return _tools(read_json(attributes.get("llm.tools")))


def _flat_tools(flat: Flat) -> dict[str, Any] | None:
    return _tools(nested(flat))


def _tools(listed: Any) -> dict[str, Any] | None:
    tools: dict[str, Any] = {}
    for item in dictionaries(listed):
        tool = item.get("tool", item)
        schema = read_repeated(tool.get("json_schema", tool)) if isinstance(tool, dict) else None
        inner = schema.get("function", schema) if isinstance(schema, dict) else None
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            continue
        tools[inner["name"]] = inner.get("parameters", inner.get("input_schema"))
    return tools or None
