"""AutoGen: runs of tools and agents by name and id, without arguments, results or model calls.

Its runtime's message passing has a scope of its own, `autogen {runtime}`, and is noise around them.
"""

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.facts import Executed, Fact, Step, ToolKind
from lanewatch.adapters.request_outcomes import HANDOFF_PREFIXES
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

NAME = "autogen"
KEYS: tuple[bytes, ...] = ()
SCOPES = ("autogen-core", "autogen ")

SYSTEM = "autogen"


def matches(span: Span) -> bool:
    """Whether the span is AutoGen's."""
    return span.scope.name.startswith(SCOPES) or span.attributes.get("gen_ai.system") == SYSTEM


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:  # noqa: ARG001 - a convention's signature
    """The facts that a span states."""
    operation = str(span.attributes.get(otel_genai.OPERATION, "")).lower()
    if operation == "execute_tool":
        run = otel_genai.tool_run(span, NAME)
        if run.name.startswith(HANDOFF_PREFIXES):
            run = replace(run, kind=ToolKind.HANDOFF, executed=Executed.UNKNOWN)
        return (run,)
    if not operation:
        return (Step(span, NAME, "message"),)
    return (replace(otel_genai.step(span, NAME, operation), instruments_tools=True),)
