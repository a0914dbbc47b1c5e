"""OpenLLMetry / Traceloop: GenAI keys with wrappers of their own around arguments and results.

`traceloop.span.kind` tool/agent/workflow/task; kind `task` is a chain unless it retrieves, runs a tool or (LlamaIndex)
holds an agent's answer. Message attributes in both generations (parts, and flattened `gen_ai.prompt.N`) are read where
GenAI's are.
"""

import re

from msgspec.structs import replace

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.conventions.traceloop.marks import NAME, SESSION_KEYS
from lanewatch.adapters.conventions.traceloop.messages import agent_answer, buried_refusal, completed, one_answer
from lanewatch.adapters.conventions.traceloop.retrieval import retrieves, search
from lanewatch.adapters.conventions.traceloop.tools import tool_run
from lanewatch.adapters.facts import AGENT, HANDOFF, Fact
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

KEYS = (b"traceloop.", b"llm.request.type", b"gen_ai.")
SCOPES: tuple[str, ...] = ()

# A bare client span may carry no traceloop key: then the scope and its version (0.x; util-genai's hold ".genai.") tell.
CLIENT_SCOPE = re.compile(r"^opentelemetry\.instrumentation\.(?!genai\.)[a-z_0-9.]+$")
VERSION = re.compile(r"^0\.(3|4|5|6)\d\.\d+$")
# The SDK writes these on every span of the process, whoever made it.
ASSOCIATIONS = ("traceloop.association.", "traceloop.workflow.", "traceloop.prompt.")
OWN = ("traceloop.", "gen_ai.prompt.", "gen_ai.completion.")
FRAMEWORKS = ("langchain", "openai_agents", "llamaindex", "crewai", "haystack", "agno", "mcp")
CHAINS = (None, "task", "unknown")  # span kinds that say nothing more than a step


def matches(span: Span) -> bool:
    """Whether the span is OpenLLMetry's."""
    attributes = span.attributes
    if "traceloop.span.kind" in attributes:
        return True
    if "openinference.span.kind" in attributes:
        return False
    if "llm.request.type" in attributes:
        return True
    if any(key.startswith(OWN) and not key.startswith(ASSOCIATIONS) for key in attributes):
        return True
    ours = CLIENT_SCOPE.match(span.scope.name) and VERSION.match(span.scope.version)
    return bool(ours) and any(key.startswith("gen_ai.") for key in attributes)


def read_span(span: Span, tree: SpanTree) -> tuple[Fact, ...]:
    """The facts that a span states."""
    attributes = span.attributes
    kind = attributes.get("traceloop.span.kind")
    operation = str(attributes.get("gen_ai.operation.name") or attributes.get("llm.request.type") or "").lower()
    if operation == "execute_tool" or kind == "tool" or (kind == "task" and "tool.name" in attributes):
        return (tool_run(span),)
    if operation == "vector_db_retrieve" or (kind in ("task", "workflow") and retrieves(span)):
        return (search(span),)
    if operation in otel_genai.RETRIEVAL:
        return (otel_genai.search(span, NAME, SESSION_KEYS),)
    model_named = not operation and kind is None and "gen_ai.request.model" in attributes
    if kind in CHAINS and (operation in otel_genai.LLM or model_named):
        call = completed(otel_genai.llm_call(span, tree, NAME, SESSION_KEYS), tree)
        return (one_answer(call) if span.scope.name.endswith(".openai_agents") else call,)
    answer = agent_answer(span) if kind == "task" else None
    if answer is not None:
        return (answer,)
    step = otel_genai.step(span, NAME, operation, SESSION_KEYS)
    role = step.role if step.role in (AGENT, HANDOFF) else str(kind or operation or "unknown")
    if kind == AGENT and role != HANDOFF:
        role = AGENT
    source = span.scope.name.rpartition("instrumentation.")[2].partition(".")[0]
    return (replace(step, role=role, instruments_tools=source in FRAMEWORKS, refusal=buried_refusal(attributes)),)


__all__ = ["KEYS", "NAME", "SCOPES", "matches", "read_span"]
