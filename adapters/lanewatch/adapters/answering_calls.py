"""Calls by which a model answers: structured output, for which frameworks offer a tool that nothing ever runs.

LangChain's `with_structured_output`, Instructor, LlamaIndex' programs and agents' output tools all ask for the answer so. A
call is taken for one only by a sign: the model was made to call just this tool, a parser of tool calls took the call over,
the settings of the call speak of an output of this name, or an enclosing span gave the arguments out as its result.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.failures import mentions
from lanewatch.adapters.identity import same, same_name
from lanewatch.adapters.messages import Message, Part, Text, ToolCall
from lanewatch.adapters.reading import State, read_json
from lanewatch.adapters.records import Outcome, ToolRequest
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.tool_names import NAME_LIMIT
from lanewatch.collector.spans import Span

CHOICES = ("tool_choice", "toolChoice", "function_call")
# LangChain: PydanticToolsParser, JsonOutputKeyToolsParser, PydanticOutputFunctionsParser.
PARSER = re.compile(r"(Tools|Functions)(Output)?Parser\b")
OUTPUT_SETTINGS = ("structured_output", "response_format", "output_schema", "output_tool", "response_model")
OUTPUTS = re.compile(r"output|result|response|completion", re.IGNORECASE)
LONGEST = 64 * 1024  # characters of an attribute that is looked into; settings and answers are shorter
LEVELS = 8  # ancestors whose output is looked at: a parser, a sequence, a node, a graph
WITHIN = (
    3  # levels of an output in which the arguments are looked for: {"messages": [...], "structured_response": {...}}
)
SIBLINGS = 50  # spans behind the call that are looked at


def is_answer(call: LlmCall, part: ToolCall, tree: SpanTree) -> bool:
    """Whether a call that nothing ran for shows a sign of being the model's answer."""
    return _is_parsed(call.span, tree) or _is_set(call.span, part.name, tree) or _is_given_out(call.span, part, tree)


def is_forced(call: LlmCall, part: ToolCall) -> bool:
    """Whether the model was made to call just this tool, which says that it is an output tool only where tools that run
    would be seen. `tool_choice` stands in an attribute of its own or in JSON text of the call's settings.
    """
    name = part.name
    for key, value in call.span.attributes.items():
        if key.endswith(CHOICES) and _names(read_json(value) or value, name):
            return True
        if isinstance(value, str) and len(value) <= LONGEST and any(choice in value for choice in CHOICES):
            settings = read_json(value)
            if any(_names(inner.get(choice), name) for inner in _settings(settings) for choice in CHOICES):
                return True
    return False


def _settings(value: Any) -> Iterator[dict[str, Any]]:
    """An object, and the objects right below it (`kwargs`, `invocation_params`)."""
    if isinstance(value, dict):
        yield value
        yield from (inner for inner in value.values() if isinstance(inner, dict))


def _names(choice: Any, name: str) -> bool:
    """`{"type": "function", "function": {"name"}}`, `{"type": "tool", "name"}`, `{"type": "tool", "toolName"}`, or the
    name.
    """
    if isinstance(choice, dict):
        inner = choice.get("function", choice)
        choice = inner.get("name", inner.get("toolName")) if isinstance(inner, dict) else None
    return isinstance(choice, str) and same_name(choice, name)


def _is_parsed(span: Span, tree: SpanTree) -> bool:
    """Whether a parser of tool calls came behind the call, in the same sequence."""
    parent = tree.parent(span)
    if parent is None:
        return False
    later = (one for one in tree.children(parent) if one.start_ns >= span.start_ns and one is not span)
    return any(PARSER.search(one.name, 0, NAME_LIMIT) for one in islice(later, SIBLINGS))


def _is_set(span: Span, name: str, tree: SpanTree) -> bool:
    """Whether a setting that is about the output, of the call or of what is around it, names the tool."""
    for above in islice(tree.ancestors(span), LEVELS):
        if any(_is_about_output(key) and mentions(str(value), name) for key, value in above.attributes.items()):
            return True  # Instructor: `instructor.response_model`
    for key, value in span.attributes.items():
        if isinstance(value, str) and len(value) <= LONGEST:
            if any(word in key for word in OUTPUT_SETTINGS):
                if mentions(value, name):
                    return True
            elif any(word in value for word in OUTPUT_SETTINGS) and not OUTPUTS.search(key):
                settings = read_json(value)
                about = (
                    item for one in _settings(settings) for field, item in one.items() if _is_about_output(str(field))
                )
                if any(mentions(str(item), name) for item in about):
                    return True
    return False


def _is_about_output(field: str) -> bool:
    return any(word in field for word in OUTPUT_SETTINGS)


def _is_given_out(span: Span, part: ToolCall, tree: SpanTree) -> bool:
    """Whether a span around the call gave out just the arguments, alone or within its output."""
    arguments = part.arguments.value
    if not isinstance(arguments, dict) or not arguments:
        return False
    for above in islice(tree.ancestors(span), LEVELS):
        for key, value in above.attributes.items():
            if OUTPUTS.search(key) and isinstance(value, str) and len(value) <= LONGEST and "messages" not in key:
                given = read_json(value)
                if given is not None and _holds(given, arguments, WITHIN):
                    return True
    return False


def _holds(value: Any, arguments: dict[str, Any], levels: int) -> bool:
    """Whether an output holds the arguments, not as those of a call that it repeats."""
    if isinstance(value, dict):
        if same(value, arguments):
            return True
        inner = [item for key, item in value.items() if key not in ("args", "arguments", "input")]
        return levels > 0 and any(_holds(item, arguments, levels - 1) for item in inner[:SIBLINGS])
    if isinstance(value, list):
        return levels > 0 and any(_holds(item, arguments, levels - 1) for item in value[:SIBLINGS])
    return False


def with_answers(calls: list[LlmCall], requests: list[ToolRequest]) -> list[LlmCall]:
    """Model calls in which a call that is the answer stands as its text: the arguments."""
    turns: dict[int, list[ToolRequest]] = {}
    for request in requests:
        turns.setdefault(request.turn, []).append(request)
    answering = {turn for turn, asked in turns.items() if any(one.outcome is Outcome.ANSWER for one in asked)}
    if not answering:
        return calls
    return [
        replace(call, output=_answered(call.output, turns[turn])) if turn in answering else call
        for turn, call in enumerate(calls)
    ]


def _answered(output: tuple[Message, ...], asked: list[ToolRequest]) -> tuple[Message, ...]:
    outcomes = iter(asked)
    messages = []
    for message in output:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolCall) and next(outcomes).outcome is Outcome.ANSWER:
                text = part.arguments.text if part.arguments.state is State.CAPTURED else None
                parts += [Text(text)] if text else []
                parts.append(replace(part, by_provider=True))
            else:
                parts.append(part)
        messages.append(replace(message, parts=tuple(parts)))
    return tuple(messages)
