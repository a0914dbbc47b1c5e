"""Semantic Kernel: GenAI keys, messages as log records, and a tool's span for every kernel function.

A function without a call id was called by the application or a prompt, unless a model asked for it by name. Arguments are
the kernel's own dictionary: more than the function takes, and before they are converted to its parameters' types.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.agent_offers import offered_above
from lanewatch.adapters.facts import Executed, Fact, LlmCall, Shape, Step, ToolKind, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.genai_content import CHOICE
from lanewatch.adapters.json_text import dump
from lanewatch.adapters.reading import Content, State, dictionaries, read, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "semantic_kernel"
KEYS = (b"sk.available_functions",)
SCOPES = ("semantic_kernel",)

HANDOFF_PLUGIN = "Handoff-"
LOGS_LIMIT = 200  # log records of a trace that are looked through for a request
CONVERTED = {"string": str, "integer": int, "number": float, "boolean": bool}


def matches(span: Span) -> bool:
    """Whether the span is Semantic Kernel's."""
    return span.scope.name.startswith(SCOPES)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    operation = str(span.attributes.get(otel_genai.OPERATION, "")).lower()
    if operation == "execute_tool":
        return (_function(span, tree),)
    if operation in otel_genai.LLM:
        return (_llm_call(span, tree),)
    return (replace(otel_genai.step(span, NAME, operation or "chain"), instruments_tools=True),)


def _llm_call(span: Span, tree: SpanTree) -> LlmCall:
    """A model call. Of the agent's tools only the names are taken: a schema says `object` of any type it doesn't know."""
    call = otel_genai.llm_call(span, tree, NAME)
    reason = (call.finish_reason or "").partition(",")[0].removeprefix("FinishReason.").lower()
    names = offered_above(span, tree)
    return replace(call, finish_reason=reason or None, tools=dict.fromkeys(names) if names else call.tools)


def _function(span: Span, tree: SpanTree) -> Fact:
    run = otel_genai.tool_run(span, NAME, result=read(span.attributes.get("gen_ai.tool.call.result"), literal=True))
    if run.call_id is None and not any(name == run.name for name, _, _ in _requests(tree)):
        return Step(span, NAME, "function", instruments_tools=True, error=error_of(span), session_id=run.session_id)
    if run.name.startswith(HANDOFF_PLUGIN):
        return replace(run, kind=ToolKind.HANDOFF, executed=Executed.UNKNOWN)
    return replace(run, **_as_called(run, tree)) if run.shape is Shape.OBJECT else run


def _as_called(run: ToolRun, tree: SpanTree) -> dict[str, Any]:
    """Arguments as the function got them: those that it takes, converted as the kernel converts them. Where nothing tells
    what it takes, more than the model gave, or a null that may have become "None", leaves them untold.
    """
    given: dict[str, Any] = run.arguments.value
    schema = (offered_above(run.span, tree) or {}).get(run.name)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(properties, dict):
        taken = {key: _converted(value, properties[key]) for key, value in given.items() if key in properties}
        changed = taken != given or any(type(taken[key]) is not type(given[key]) for key in taken)
        return {"arguments": Content(taken, None, State.CAPTURED, structured=True)} if changed else {}
    asked = next((keys for _, call_id, keys in _requests(tree) if call_id == run.call_id), None)
    if None in given.values() or (asked is not None and not set(given) <= asked):
        return {"arguments": Content(None, dump(given), State.CAPTURED), "shape": Shape.TEXT}
    return {}


def _converted(value: Any, rule: Any) -> Any:
    """What `KernelFunctionFromMethod._parse_parameter` makes of a scalar: None becomes "None" for a text parameter."""
    kind = CONVERTED.get(str(rule.get("type"))) if isinstance(rule, dict) else None
    if kind is None or (isinstance(value, kind | dict | list) and not (kind is int and isinstance(value, bool))):
        return value
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        return value


def _requests(tree: SpanTree) -> list[tuple[str, str | None, set[str]]]:
    """(name, id, argument names) of the calls that models asked for, out of their choices' log records."""
    if NAME not in tree.memo:
        tree.memo[NAME] = list(_read_requests(tree))
    found: list[tuple[str, str | None, set[str]]] = tree.memo[NAME]
    return found


def _read_requests(tree: SpanTree) -> Iterator[tuple[str, str | None, set[str]]]:
    choices = (log for log in tree.trace.logs if log.event_name == CHOICE)
    for log in islice(choices, LOGS_LIMIT):
        body = read_json(log.body)
        message = body.get("message") if isinstance(body, dict) else None
        for call in dictionaries(message.get("tool_calls") if isinstance(message, dict) else None):
            function = call.get("function")
            if isinstance(function, dict) and isinstance(function.get("name"), str):
                arguments = read_json(function.get("arguments"))
                yield function["name"], call.get("id"), set(arguments) if isinstance(arguments, dict) else set()
