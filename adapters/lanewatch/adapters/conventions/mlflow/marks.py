"""What every MLflow span is told by: its type, its JSON-coded attributes, its session."""

from typing import Any

from lanewatch.adapters.json_text import parse_json_text
from lanewatch.adapters.reading import State, is_placeholder
from lanewatch.collector.spans import Span

NAME = "mlflow"
TYPE = "mlflow.spanType"
INPUTS, OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"
SCOPE = "mlflow."  # its tracer's, which the GenAI export keeps while it drops all `mlflow.` keys
OPERATION = "gen_ai.operation.name"
MODELS = frozenset({"LLM", "CHAT_MODEL"})
SESSION_KEYS = ("session.id", "mlflow.trace.session")
METADATA_SESSION_KEYS = ("thread_id", "session_id", "conversation_id")


def content_of(value: Any) -> tuple[Any, State]:
    """(value, state) of an attribute with content: text that begins like JSON and is none was cut."""
    if value is None or value == "null":
        return None, State.ABSENT
    if is_placeholder(value):
        return None, State.REDACTED
    inner = parse_json_text(value)
    if is_placeholder(inner):
        return None, State.REDACTED
    if inner is value and isinstance(value, str) and value[:1] in ("{", "[", '"'):
        return None, State.TRUNCATED
    return inner, State.CAPTURED


def kind_of(span: Span) -> str:
    """The span's type, upper case."""
    return str(parse_json_text(span.attributes.get(TYPE)) or "").upper()


def is_langchain(span: Span) -> bool:
    """Whether LangChain's handler wrote the span, which also reports tools."""
    metadata = span.attributes.get("metadata")
    return isinstance(metadata, str) and ('"langgraph_' in metadata or '"ls_integration"' in metadata)


def session(span: Span) -> str | None:
    """The conversation: an attribute, or (LangChain) in the metadata of the call. MLflow's own session id is metadata of
    the trace, which OTLP does not carry.
    """
    for key in SESSION_KEYS:
        value = parse_json_text(span.attributes.get(key))
        if isinstance(value, str | int) and value:
            return str(value)
    metadata = parse_json_text(span.attributes.get("metadata"))
    if isinstance(metadata, dict):
        found = (metadata.get(key) for key in METADATA_SESSION_KEYS)
        return next((value for value in found if isinstance(value, str) and value), None)
    return None
