"""What LiteLLM's spans are told by, its own and those of others that it wrote on."""

from typing import Any

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.reading import parse_literal
from lanewatch.collector.spans import Span

NAME = "litellm"
SCOPE = "litellm"
STAMPS = ("hidden_params", "metadata.user_api_key_hash", "litellm.call_id")
MODEL = "gen_ai.request.model"
SESSION_KEYS = ("gen_ai.conversation.id", "session.id", "litellm.session_id", "metadata.session_id")
REQUESTER = "metadata.requester_metadata"
REQUESTER_KEYS = ("session_id", "conversation_id", "thread_id")
# Call types of the first version (`acompletion`, `aresponses`, ...) without their "a", and the operations of the second.
MODEL_CALLS = otel_genai.LLM | {"responses", "anthropic_messages", "generate_content_stream"}


def is_own(span: Span) -> bool:
    """Whether LiteLLM made the span."""
    return span.scope.name == SCOPE


def is_stamped(span: Span) -> bool:
    """Whether another's span holds a model call of LiteLLM's: without a span of its own it writes on its parent."""
    attributes = span.attributes
    return not attributes.keys().isdisjoint(STAMPS) and (MODEL in attributes or "llm.request.type" in attributes)


def calls_model(attributes: dict[str, Any]) -> bool:
    """Whether a span of LiteLLM's is a generation, and no embedding, rerank, image or moderation. With content capture
    off there is no operation, and the call type alone tells.
    """
    value = attributes.get(otel_genai.OPERATION) or attributes.get("llm.request.type")
    if not isinstance(value, str):
        return MODEL in attributes
    operation = value.lower()
    return operation in MODEL_CALLS or operation.removeprefix("a") in MODEL_CALLS


def literal(value: Any) -> Any:
    """A value that `str()` made of a Python object; None where it was none."""
    if not isinstance(value, str) or not value:
        return None if value == "" else value
    try:
        return parse_literal(value)
    except ValueError:
        return None


def session(span: Span) -> str | None:
    """The conversation: a key of its own, or in what the caller passed as metadata."""
    own = otel_genai.session_of(span, SESSION_KEYS)
    written = span.attributes.get(REQUESTER)
    if own is not None or not isinstance(written, str) or "_id" not in written:
        return own
    passed = literal(written)
    found = (passed.get(key) for key in REQUESTER_KEYS) if isinstance(passed, dict) else ()
    return next((value for value in found if isinstance(value, str) and value), None)
