"""Tool runs and retrievals, of MLflow's own spans and of its GenAI export."""

import re
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.mlflow.marks import (
    INPUTS,
    MODELS,
    NAME,
    OUTPUTS,
    content_of,
    kind_of,
    session,
)
from lanewatch.adapters.conventions.mlflow.streams import VALUE
from lanewatch.adapters.facts import ErrorInfo, Search, Shape, ToolRun
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.json_text import dump, parse_json_text
from lanewatch.adapters.langchain_values import documents_of, tool_output
from lanewatch.adapters.reading import Content, State, read_arguments
from lanewatch.adapters.span_tree import GLANCES, SpanTree
from lanewatch.collector.spans import Span

NUMBERED = re.compile(r"(.+)_\d{1,4}")
OFFERS = ("mlflow.chat.tools", INPUTS)
ASKED = (OUTPUTS, "gen_ai.output.messages")
CALL_ID = "tool_call_id"  # LangChain's keyword, which the handler writes as an attribute


def exported_run(span: Span) -> ToolRun:
    """A run of the GenAI export, where arguments and result are JSON: a text is quoted."""
    attributes = span.attributes
    arguments, shape = _arguments(attributes.get("gen_ai.tool.call.arguments"))
    result, result_id, failed = _result(attributes.get("gen_ai.tool.call.result"))
    call_id = _call_id(span) or result_id
    run = replace(otel_genai.tool_run(span, NAME, arguments, result, call_id), session_id=session(span))
    return _with(run, run.name, shape, failed=failed)


def tool_run(span: Span, tree: SpanTree) -> ToolRun:
    """A run of MLflow's own spans, whose name is the tool's."""
    attributes = span.attributes
    arguments, shape = _arguments(attributes.get(INPUTS))
    result, result_id, failed = _result(attributes.get(OUTPUTS))
    call_id = _call_id(span)
    run = ToolRun(
        span,
        NAME,
        span.name,
        call_id or result_id,
        "R1" if call_id else "R3",
        arguments,
        shape,
        result,
        error=error_of(span),
        session_id=session(span),
        keys=tuple(key for key in (INPUTS, OUTPUTS, CALL_ID) if key in attributes),
    )
    return _with(run, _unnumbered(span.name, tree), shape, failed=failed)


def _with(run: ToolRun, name: str, shape: Shape, *, failed: bool) -> ToolRun:
    error = run.error or (ErrorInfo(message=run.result.raw) if failed else None)
    return replace(run, name=name, shape=shape, error=error)


def _unnumbered(name: str, tree: SpanTree) -> str:
    """Releases before 3 added `_1`, `_2` to names that occurred before; the number is dropped where models of the trace
    were offered a tool of the bare name, or asked for it, and no model speaks of the numbered one.
    """
    found = NUMBERED.fullmatch(name)
    if found is None:
        return name
    tree.work.spend(len(tree.trace.spans) // GLANCES)
    models = [span for span in tree.trace.spans if kind_of(span) in MODELS]
    offers = [text for span in models for key in OFFERS if isinstance(text := span.attributes.get(key), str)]
    asked = [text for span in models for text in _asking(span)]
    numbered, bare = f'"{name}"', f'"{found.group(1)}"'
    if any(numbered in text for text in (*offers, *asked)):
        return name
    # As all clients write a call; elsewhere it may be any word.
    requested = re.compile(rf'"name"\s*:\s*{re.escape(bare)}')
    known = any(bare in text for text in offers) or any(requested.search(text) for text in asked)
    return found.group(1) if known else name


def _asking(span: Span) -> list[str]:
    """The texts in which a model's calls stand: its output, and the chunks of a stream."""
    values = [span.attributes.get(key) for key in ASKED]
    values += [event.attributes.get(VALUE) for event in span.events]
    return [value for value in values if isinstance(value, str)]


def _call_id(span: Span) -> str | None:
    value = parse_json_text(span.attributes.get(CALL_ID))
    return value if isinstance(value, str) and value else None


def _arguments(value: Any) -> tuple[Content, Shape]:
    """Arguments by name, as `@mlflow.trace` binds them; LangChain's, which are the literal of its text; a text alone where
    that is none; and the JSON text that OpenAI's agents hand to a tool.
    """
    inner, state = content_of(value)
    if state is not State.CAPTURED:
        return Content(None, None, state), Shape.ABSENT
    if isinstance(inner, dict) or (isinstance(inner, str) and inner.lstrip()[:1] in ("{", "[")):
        content = read_arguments(inner)
        return content, otel_genai.shape_of(content)
    text = inner if isinstance(inner, str) else dump(inner)
    return Content(text, text, State.CAPTURED), Shape.BARE


def _result(value: Any) -> tuple[Content, str | None, bool]:
    inner, state = content_of(value)
    if state is not State.CAPTURED:
        return Content(None, None, state), None, False
    return tool_output(inner)


def search(span: Span) -> Search:
    """A retrieval of MLflow's own spans; the GenAI export keeps neither query nor documents."""
    attributes = span.attributes
    found, state = content_of(attributes.get(OUTPUTS))
    documents = documents_of(found)
    if state is State.CAPTURED and not documents and found != []:
        state = State.ABSENT
    asked = parse_json_text(attributes.get(INPUTS))
    if isinstance(asked, dict):
        texts = [text for text in asked.values() if isinstance(text, str)]
        named = (asked[key] for key in ("query", "input", "question", "query_str") if isinstance(asked.get(key), str))
        asked = next(named, texts[0] if len(texts) == 1 else None)
    return Search(span, NAME, asked if isinstance(asked, str) else None, documents, state, span.name, session(span))
