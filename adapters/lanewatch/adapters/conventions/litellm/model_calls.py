"""Model calls: GenAI keys, completed from the flattened `function_call` keys, LiteLLM's events, and the raw span.

The first version drops tool calls from the output messages (`"parts": []`); `gen_ai.completion.N.function_call` has
them without ids, N counting calls and not choices. With several choices the last one that calls overwrites the others.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.litellm.marks import NAME, SESSION_KEYS, session
from lanewatch.adapters.conventions.litellm.raw import raw_answer, raw_below, raw_input
from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.message_shapes import read_message
from lanewatch.adapters.messages import Message, ToolCall
from lanewatch.adapters.reading import EMPTY_OBJECT, State, dictionaries, read_arguments, read_json, unflatten
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

CALLING = ("tool_calls", "tool_call", "function_call", "tool_use")
PROMPT_EVENT, COMPLETION_EVENT = "gen_ai.content.prompt", "gen_ai.content.completion"
DECLARED = "litellm.request.tools.declared"
COMPLETIONS = "gen_ai.completion."
TOOL_PREFIXES = ("gen_ai.tool.", "llm.request.functions.")


def llm_call(span: Span, tree: SpanTree) -> LlmCall:
    """A model call of a span that holds one alone."""
    call = _call(span, tree)
    parts = [part for message in call.output for part in message.parts]
    if parts and all(not isinstance(part, ToolCall) or part.call_id for part in parts):
        return call  # nothing that a raw span knows better
    return _completed(call, [answer for _, answer in map(raw_answer, raw_below(span, tree)[-1:])])


def stamped_call(span: Span, tree: SpanTree) -> LlmCall:
    """The last of the calls that were written on another's span; keys of earlier ones may be left on it."""
    call = _call(span, tree)
    if (call.finish_reason or "").lower() not in CALLING:
        call = replace(call, output=tuple(replace(m, parts=_without_flat(m, span)) for m in call.output))
    return replace(call, overwritten=True, error=None)


def raw_call(raw: Span, tree: SpanTree) -> LlmCall:
    """The call of a raw span that no span of LiteLLM's stands above. The last one's is also written on its parent."""
    fields, answer = raw_answer(raw)
    parent = tree.parent(raw)
    siblings = raw_below(parent, tree) if parent is not None else []
    last = max(siblings, key=lambda span: (span.end_ns, span.start_ns, span.span_id), default=None)
    if parent is not None and last is raw and "gen_ai.request.model" in parent.attributes:
        own = _completed(replace(stamped_call(parent, tree), span=raw, overwritten=False), [answer] if answer else [])
        return replace(own, error=error_of(raw))
    model, identity = fields.get("model"), fields.get("id")
    inputs = raw_input(raw)
    return LlmCall(
        raw,
        NAME,
        inputs,
        answer,
        State.CAPTURED if inputs else State.ABSENT,
        State.CAPTURED if answer else State.ABSENT,
        next((message.finish_reason for message in answer if message.finish_reason), None),
        model if isinstance(model, str) else None,
        response_id=identity if isinstance(identity, str) else None,
        error=error_of(raw),
        session_id=session(parent) if parent is not None else None,
    )


def _call(span: Span, tree: SpanTree) -> LlmCall:
    call = otel_genai.llm_call(span, tree, NAME, SESSION_KEYS)
    if call.output_state is State.ABSENT and tree.logs(span):
        call = _from_events(call, tree)
    call = replace(call, session_id=session(span), tools=_offered(span))
    calls = _flat_calls(span.attributes)
    if not calls or any(message.calls for message in call.output):
        return call
    asking = [place for place, message in enumerate(call.output) if (message.finish_reason or "").lower() in CALLING]
    if len(asking) > 1:  # the keys hold a mixture of what these choices called
        return replace(call, output_state=State.TRUNCATED)
    if not call.output:
        return replace(call, output=(Message("assistant", tuple(calls)),), output_state=State.CAPTURED)
    place = asking[0] if asking else len(call.output) - 1
    output = list(call.output)
    output[place] = replace(output[place], parts=(*output[place].parts, *calls))
    return replace(call, output=tuple(output))


def _flat_calls(attributes: dict[str, Any]) -> list[ToolCall]:
    """The calls in `gen_ai.completion.N.function_call`; arguments that are left out were empty."""
    if not any(key.startswith(COMPLETIONS) for key in attributes):
        return []
    tree = unflatten(attributes, COMPLETIONS)
    functions = [item["function_call"] for item in dictionaries(tree) if isinstance(item.get("function_call"), dict)]
    return [
        ToolCall(item["name"], None, read_arguments(item["arguments"]) if "arguments" in item else EMPTY_OBJECT)
        for item in functions
        if isinstance(item.get("name"), str)
    ]


def _without_flat(message: Message, span: Span) -> tuple[Any, ...]:
    stale = _flat_calls(span.attributes)
    return tuple(part for part in message.parts if part not in stale)


def _completed(call: LlmCall, answers: list[tuple[Message, ...]]) -> LlmCall:
    """The call with what its raw span knows better: the ids of the same calls, or a message that came out empty."""
    for answer in answers:
        known = [part.name for message in call.output for part in message.calls]
        told = [part.name for message in answer for part in message.calls]
        ids = any(part.call_id for message in answer for part in message.calls)
        calls_the_same = bool(known) and known == told and ids
        empty = not any(message.parts for message in call.output)
        is_turned = bool(told) and not known and (call.finish_reason or "").lower() not in CALLING
        if calls_the_same or (empty and not is_turned and any(message.parts for message in answer)):
            return replace(call, output=answer, output_state=State.CAPTURED)
    return call


def _from_events(call: LlmCall, tree: SpanTree) -> LlmCall:
    """Messages from the first version's events, which bear their name in an attribute `event_name`. A completion's
    event never holds tool calls.
    """
    inputs: list[Message] = []
    output: list[Message] = []
    for log in sorted(tree.logs(call.span), key=lambda record: record.time_ns):
        name = log.event_name or log.attributes.get("event_name")
        body = log.body if isinstance(log.body, dict) else read_json(log.body)
        if not isinstance(body, dict):
            continue
        if name == PROMPT_EVENT and "role" in body:
            inputs.append(read_message(body))
        elif name == COMPLETION_EVENT and isinstance(body.get("message"), dict):
            output.append(read_message({**body["message"], "finish_reason": body.get("finish_reason")}, "assistant"))
    finish = next((message.finish_reason for message in output if message.finish_reason), call.finish_reason)
    shown = any(message.parts for message in output) or (finish or "").lower() in CALLING
    return replace(
        call,
        input=tuple(inputs) or call.input,
        output=tuple(output),
        input_state=State.CAPTURED if inputs else call.input_state,
        output_state=State.CAPTURED if shown else State.ABSENT,
        finish_reason=finish,
    )


def _offered(span: Span) -> dict[str, Any] | None:
    """Tools offered to the model; None where only some of them are written (the second version's limit is ten)."""
    if span.dropped_attributes:
        return None
    for prefix in TOOL_PREFIXES:
        tree = unflatten(span.attributes, prefix) if f"{prefix}0.name" in span.attributes else None
        if isinstance(tree, list):
            named = [item for item in dictionaries(tree) if isinstance(item.get("name"), str)]
            declared = span.attributes.get(DECLARED)
            if isinstance(declared, int) and declared > len(named):
                return None
            return {item["name"]: read_json(item.get("parameters")) for item in named} or None
    return otel_genai.offered_tools(span.attributes)
