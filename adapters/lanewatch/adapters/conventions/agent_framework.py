"""Microsoft's Agent Framework: GenAI keys, and workflow spans around them.

Tools are listed on the agent's span alone; arguments "None" stand for none at all; an empty result is written as the
repr of the object that holds it; an agent's answer is the text of all its turns.
"""

import re
from itertools import islice
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import mcp, otel_genai
from lanewatch.adapters.conventions.agent_offers import DEFINITIONS, LEVELS, offered_above
from lanewatch.adapters.facts import AGENT, Fact, Shape, Step, ToolRun
from lanewatch.adapters.genai_content import OUTPUT
from lanewatch.adapters.message_shapes import read_messages
from lanewatch.adapters.messages import Text
from lanewatch.adapters.reading import EMPTY_OBJECT, NO_CONTENT, Content, State, dictionaries, read_json
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "agent_framework"
KEYS = (b"executor.id", b"edge_group.")
SCOPES = ("agent_framework",)

WORKFLOW = ("executor.id", "edge_group.type", "edge_group.id")
APPROVAL = "function_approval_request"
# The framework's own keywords are left out of a span's arguments, so a tool's argument of the same name is too
# (agent_framework/_tools.py, FunctionTool.invoke).
LEFT_OUT = ("chat_options", "tools", "tool_choice", "session", "conversation_id", "options", "response_format")

# What str() makes of a result without text, such as a tool's None: it names no content, only where the object was.
HELD = re.compile(r"\[?(<agent_framework\.[\w.]{1,100} object at 0x[0-9a-fA-F]{1,16}>(, )?){1,20}\]?")
HELD_LIMIT = 3000  # characters


def matches(span: Span) -> bool:
    """Whether the span is Agent Framework's."""
    return span.scope.name.startswith(SCOPES) or not span.attributes.keys().isdisjoint(WORKFLOW)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    attributes = span.attributes
    if mcp.METHOD in attributes:
        if attributes[mcp.METHOD] == mcp.CALL:
            return (mcp.tool_run(span, tree, NAME),)
        return (otel_genai.step(span, NAME, "mcp"),)
    operation = str(attributes.get(otel_genai.OPERATION, "")).lower()
    if operation == "execute_tool":
        return (_tool_run(span, tree),)
    if operation in otel_genai.LLM:
        call = otel_genai.llm_call(span, tree, NAME)
        return (call if call.tools is not None else replace(call, tools=offered_above(span, tree)),)
    step = otel_genai.step(span, NAME, operation or span.name.partition(" ")[0])
    if step.role != AGENT:
        return (replace(step, instruments_tools=True),)
    return (replace(step, instruments_tools=True, answer=_answer(step, tree), awaits=_awaits(span)),)


def _tool_run(span: Span, tree: SpanTree) -> ToolRun:
    written = span.attributes.get("gen_ai.tool.call.arguments")
    run = otel_genai.tool_run(span, NAME, EMPTY_OBJECT if written == "None" else None)
    told = run.result.raw
    if told is not None and len(told) < HELD_LIMIT and HELD.fullmatch(told):
        run = replace(run, result=NO_CONTENT)
    if run.arguments.state is State.CAPTURED and _left_out(run, tree):
        return replace(run, arguments=Content(None, run.arguments.raw, State.CAPTURED), shape=Shape.TEXT)
    return run


def _left_out(run: ToolRun, tree: SpanTree) -> bool:
    """Whether the tool takes an argument that spans leave out, as its schema tells; without one it is not expected to."""
    above = islice(tree.ancestors(run.span), LEVELS)
    written = next((text for one in above if isinstance(text := one.attributes.get(DEFINITIONS), str)), "")
    if not any(f'"{key}"' in written for key in LEFT_OUT):
        return False
    schema = (offered_above(run.span, tree) or {}).get(run.name)
    properties: Any = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and any(key in properties for key in LEFT_OUT)


def _answer(step: Step, tree: SpanTree) -> str | None:
    """The text of all turns of an agent that none other called, where there are several."""
    if any(
        above.attributes.get(otel_genai.OPERATION) in ("invoke_agent", "execute_tool")
        for above in tree.ancestors(step.span)
    ):
        return None
    written = step.span.attributes.get(OUTPUT)
    if not isinstance(written, str) or written.count('"text"') < 2:  # noqa: PLR2004 - one turn's is its model's own
        return None
    texts = [
        " ".join(part.text for part in message.parts if isinstance(part, Text))
        for message in read_messages(written, "assistant")
    ]
    return "".join(texts)


def _awaits(span: Span) -> tuple[str, ...]:
    """Ids of calls for which an agent asks a person first: `{"type": "function_approval_request", "function_call": ...}`."""
    written = span.attributes.get(OUTPUT)
    if not isinstance(written, str) or APPROVAL not in written:
        return ()
    parts = (p for message in dictionaries(read_json(written)) for p in dictionaries(message.get("parts")))
    calls = (part.get("function_call") for part in parts if part.get("type") == APPROVAL)
    ids = (call.get("call_id") for call in calls if isinstance(call, dict))
    return tuple(call_id for call_id in ids if isinstance(call_id, str))
