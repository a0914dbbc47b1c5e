"""CrewAI's own traces: GenAI keys, beside `crewai.*` for what has no GenAI key.

Values are JSON text, a plain text too. A result may come from the cache. No tool has a call id, and its name is sanitised.
"""

from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import AGENT, Document, Executed, Fact, LlmCall, Search, Step, ToolRun
from lanewatch.adapters.genai_content import INPUT, OUTPUT
from lanewatch.adapters.json_text import parse_json
from lanewatch.adapters.reading import Content, State, read, read_arguments
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "crewai"
KEYS = (b"crewai.",)
SCOPES = ("crewai",)

ANALYTICS = "crewai.telemetry"  # anonymous: `Crew Created`, `Tool Usage`
EVENT = "crewai.event_name"
SEARCHES = frozenset({"query knowledge", "search knowledge", "query memory", "retrieve memory"})
AGENTS = frozenset({"execute agent", "execute lite agent"})
ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
QUERY_KEYS = ("crewai.knowledge.query", "crewai.memory.query")
FOUND_KEYS = ("crewai.knowledge.retrieved_knowledge", "crewai.memory.results", "crewai.memory.content")


def matches(span: Span) -> bool:
    """Whether the span is CrewAI's own."""
    return span.scope.name.startswith(SCOPES) or EVENT in span.attributes


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    if span.scope.name == ANALYTICS:
        return ()
    attributes = span.attributes
    operation = str(attributes.get(otel_genai.OPERATION, "")).lower()
    if operation == "execute_tool":
        above = tree.parent(span)
        repeats = above is not None and above.attributes.get(otel_genai.OPERATION) == "execute_tool"
        if span.name == "tool failure" or (span.name == "execute mcp tool" and repeats):
            return (Step(span, NAME, "tool_report"),)  # of the run beside or around it, which says the same
        return (_tool_run(span),)
    if span.name == "call llm" or operation in otel_genai.LLM:
        return (_llm_call(span, tree),)
    if span.name in SEARCHES:
        return (_search(span),)
    step = replace(otel_genai.step(span, NAME, operation), instruments_tools=True)
    return (replace(step, role=AGENT) if span.name in AGENTS else step,)


def _llm_call(span: Span, tree: SpanTree) -> LlmCall:
    """A model call; CrewAI says itself where it cut a value."""
    call = otel_genai.llm_call(span, tree, NAME)
    cut = {
        side: State.TRUNCATED
        for side, key in (("input_state", INPUT), ("output_state", OUTPUT))
        if span.attributes.get(f"{key}.truncated")
    }
    return replace(call, **cut) if cut else call


def _tool_run(span: Span) -> ToolRun:
    attributes = span.attributes
    arguments, result = _value(attributes, ARGUMENTS), _value(attributes, RESULT)
    if arguments.state is State.CAPTURED and not isinstance(arguments.value, dict):
        arguments = read_arguments(arguments.value)
    run = otel_genai.tool_run(span, NAME, arguments, result)
    return replace(run, executed=Executed.NO) if attributes.get("crewai.tool.from_cache") is True else run


def _value(attributes: dict[str, Any], key: str) -> Content:
    """A value out of its JSON text; a cut one is no value."""
    written = attributes.get(key)
    if attributes.get(f"{key}.truncated"):
        return Content(None, None, State.TRUNCATED)
    if isinstance(written, str) and written[:1] == '"':
        try:
            return read(parse_json(written))
        except ValueError:
            return Content(written, written, State.TRUNCATED)
    return read(written)


def _search(span: Span) -> Search:
    """What knowledge or a memory gave, as one text: documents can't be told apart in it."""
    attributes = span.attributes
    query = next((attributes[key] for key in QUERY_KEYS if isinstance(attributes.get(key), str)), None)
    found = next((attributes[key] for key in FOUND_KEYS if isinstance(attributes.get(key), str)), None)
    documents = (Document(0, None, found),) if found else ()
    return Search(span, NAME, query, documents, State.ABSENT, span.name.partition(" ")[2], otel_genai.session_of(span))
