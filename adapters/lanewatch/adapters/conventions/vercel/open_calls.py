"""Calls that a run leaves to the client: tools without a function, or that want a person's approval.

They have no span. The span around the run ends with finish reason `tool-calls` and repeats them; a later request answers.
"""

from msgspec.structs import replace

from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.messages import Message, ToolCall
from lanewatch.adapters.span_tree import SpanTree

OPEN = ("tool-calls", ["tool-calls"], '["tool-calls"]')


def left_open(call: LlmCall, tree: SpanTree, answer_keys: tuple[str, ...], finish_keys: tuple[str, ...]) -> LlmCall:
    """The model call with those calls marked that the run around it still held when it ended."""
    if not any(message.calls for message in call.output):
        return call
    for above in tree.ancestors(call.span):
        answer = next((above.attributes[key] for key in answer_keys if key in above.attributes), None)
        if answer is not None:
            ended_open = any(above.attributes.get(key) in OPEN for key in finish_keys)
            held = answer if ended_open and isinstance(answer, str) else ""
            return replace(call, output=tuple(_marked(message, held) for message in call.output)) if held else call
    return call


def _marked(message: Message, held: str) -> Message:
    parts = tuple(
        replace(part, left_open=True)
        if isinstance(part, ToolCall) and part.call_id and f'"{part.call_id}"' in held
        else part
        for part in message.parts
    )
    return replace(message, parts=parts)
