"""Spans of others that LiteLLM wrote on.

Where a span is active and no `litellm_request` span is asked for, the first version makes none: it writes its keys and
the status OK on whatever span is its parent, an agent's or a tool's too, and each further call overwrites the last one.
An SDK lets no later error change that status, so an exception on the span counts, unless it is a model call's own.
So the span is read twice: without LiteLLM's keys, by whoever made it, and as the last of the calls.
"""

from msgspec.structs import replace

from lanewatch.adapters import conventions  # its list is looked at when a span is read, long after it was made
from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.litellm.marks import NAME, STAMPS, calls_model
from lanewatch.adapters.conventions.litellm.model_calls import stamped_call
from lanewatch.adapters.conventions.litellm.raw import raw_below
from lanewatch.adapters.facts import Fact, LlmCall
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Event, Span, StatusCode

WRITTEN = ("metadata.", "litellm.", "gen_ai.", "llm.request.", "llm.is_streaming", "llm.user", *STAMPS)
NOT_WRITTEN = ("gen_ai.tool.", "gen_ai.agent.", "gen_ai.conversation.", "gen_ai.retrieval.", "gen_ai.workflow.")
OPERATIONS = ("execute_tool", "invoke_agent", "create_agent", "invoke_workflow", "retrieval")


def read_stamped(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts of the span's maker, and the call unless raw spans below tell all calls, or the maker tells it itself."""
    own = _own_facts(span, tree)
    told = any(isinstance(fact, LlmCall) for fact in own) or bool(raw_below(span, tree))
    return own if told or not calls_model(span.attributes) else (*own, stamped_call(span, tree))


def _own_facts(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    kept = {
        key: value
        for key, value in span.attributes.items()
        if key.startswith(NOT_WRITTEN) or not key.startswith(WRITTEN)
    }
    operation = span.name.partition(" ")[0]
    if operation in OPERATIONS:  # the key is overwritten, the span's name is not
        kept[otel_genai.OPERATION] = operation
    raised = any(event.name == "exception" and not _is_models(event) for event in span.events)
    bare = replace(span, attributes=kept, status=StatusCode.ERROR if raised else span.status)
    others = (other for other in conventions.CONVENTIONS if other.NAME != NAME)
    owner = next((other for other in others if other.matches(bare)), None)
    return owner.read_span(bare, tree) if owner is not None else ()


def _is_models(event: Event) -> bool:
    """Whether LiteLLM recorded the failure of a call."""
    return str(event.attributes.get("exception.type", "")).startswith((f"{NAME}.", "openai."))
