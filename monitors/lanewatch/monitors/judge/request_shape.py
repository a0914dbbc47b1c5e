"""What an endpoint takes of a request, learnt from what it refuses: a ladder of formats, and parameters that can be left out.

A step down happens for a 400 or 422 only, costs one unpaid request, and is remembered for the endpoint, so that it is made once. The
rungs: `json_schema` (the server holds the model to the schema), `json_object`, and plain text.
"""

from enum import StrEnum
from typing import Any

import msgspec

_REFUSED = (400, 422)


class Format(StrEnum):
    """How the form of the answer is asked for."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    PLAIN = "plain"


_NEXT = {Format.JSON_SCHEMA: Format.JSON_OBJECT, Format.JSON_OBJECT: Format.PLAIN}


class Shape(msgspec.Struct, frozen=True):
    """A request's form. `limit` names the parameter that bounds the output; reasoning models of OpenAI refuse `max_tokens`."""

    format: Format = Format.JSON_SCHEMA
    limit: str = "max_tokens"
    temperature: bool = True
    seed: bool = True


def simpler(shape: Shape, status: int, body: bytes, *, proven: bool) -> Shape | None:
    """The shape to try after a refusal; None where the refusal is of the content.

    A parameter that the refusal names is left out. One that names none is taken to be of the format, unless this very shape was
    answered before (`proven`).
    """
    if status not in _REFUSED:
        return None
    text = _named(body)
    if "max_tokens" in text and shape.limit == "max_tokens" and ("max_completion_tokens" in text or "support" in text):
        return msgspec.structs.replace(shape, limit="max_completion_tokens")
    if shape.temperature and "temperature" in text:
        return msgspec.structs.replace(shape, temperature=False)
    if shape.seed and "seed" in text:
        return msgspec.structs.replace(shape, seed=False)
    named = any(word in text for word in ("response_format", "json_schema", "json_object", "structured output"))
    if shape.format in _NEXT and (named or not proven):
        return msgspec.structs.replace(shape, format=_NEXT[shape.format])
    return None


def _named(body: bytes) -> str:
    """The parameter that an error names, else the begin of its text: some servers repeat the whole prompt after it."""
    try:
        error = msgspec.json.decode(body).get("error")
        named, message = error.get("param"), error.get("message")
    except (msgspec.DecodeError, AttributeError, RecursionError):
        named, message = None, None
    text = f"{named or ''} {message}" if isinstance(message, str) else body[:1000].decode("utf-8", "replace")
    return text[:1000].lower()


def chat_body(
    shape: Shape, model: str, messages: list[dict[str, str]], schema: dict[str, Any], seed: int, max_tokens: int
) -> bytes:
    """A chat completion request. What is not set is not sent: some servers refuse `null`."""
    body: dict[str, Any] = {"model": model, "messages": messages, shape.limit: max_tokens}
    if shape.temperature:
        body["temperature"] = 0.01
    if shape.seed:
        body["seed"] = seed
    if shape.format is Format.JSON_SCHEMA:
        name = str(schema.get("title") or "answer")
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": name, "strict": True, "schema": closed(schema)},
        }
    elif shape.format is Format.JSON_OBJECT:
        body["response_format"] = {"type": "json_object"}
    return msgspec.json.encode(body)


def closed(schema: Any) -> Any:
    """The schema with every object closed and all of its properties required, as strict mode wants it."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        inner |= {"additionalProperties": False, "required": list(schema["properties"])}
    return inner
