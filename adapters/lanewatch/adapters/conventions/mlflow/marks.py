"""What every MLflow span is told by: its type, its JSON-coded attributes, its session."""

from typing import Any

from lanewatch.adapters.reading import State, is_placeholder, parse_json, read
from lanewatch.collector.spans import Span

NAME = "mlflow"
TYPE = "mlflow.spanType"
INPUTS, OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"
SCOPE = "mlflow."  # its tracer's, which the GenAI export keeps while it drops all `mlflow.` keys
OPERATION = "gen_ai.operation.name"
MODELS = frozenset({"LLM", "CHAT_MODEL"})
SESSION_KEYS = ("session.id", "mlflow.trace.session")
METADATA_SESSION_KEYS = ("thread_id", "session_id", "conversation_id")


def decoded(value: Any) -> Any:
    """The value of an attribute, of which every one is JSON; text that is none stays text."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value


def state_of(value: Any) -> State:
    """The state of an attribute's content: text that begins like JSON and is none was cut."""
    if value is None or value == "null":
        return State.ABSENT
    if is_placeholder(value) or is_placeholder(decoded(value)):
        return State.REDACTED
    cut = isinstance(value, str) and value[:1] in ("{", "[", '"') and decoded(value) is value
    return State.TRUNCATED if cut else read(value).state


def kind_of(span: Span) -> str:
    """The span's type, upper case."""
    return str(decoded(span.attributes.get(TYPE)) or "").upper()


def session(span: Span) -> str | None:
    """The conversation: an attribute, or (LangChain) in the metadata of the call. MLflow's own session id is metadata of
    the trace, which OTLP does not carry.
    """
    for key in SESSION_KEYS:
        value = decoded(span.attributes.get(key))
        if isinstance(value, str | int) and value:
            return str(value)
    metadata = decoded(span.attributes.get("metadata"))
    if isinstance(metadata, dict):
        found = (metadata.get(key) for key in METADATA_SESSION_KEYS)
        return next((value for value in found if isinstance(value, str) and value), None)
    return None
