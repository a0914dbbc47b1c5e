"""The ways in which an endpoint goes wrong, each under a name: what it puts on the wire in place of the good answer.

`REPLIES` are whole responses, made from the call and the text of the good answer. `server` has those that are no responses at all
(`STREAMS`): a hang, a drip, a disconnect, a body without end.
"""

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import msgspec


class Reply(msgspec.Struct, frozen=True):
    """A response. `promised` is a Content-Length that differs from the body's."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}
    content_type: str = "application/json"
    promised: int | None = None


def completion(content: Any, finish: str | None = "stop", model: str = "judge-1", **message: Any) -> dict[str, Any]:
    """A chat completion as OpenAI documents it, with usage and a fingerprint."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "system_fingerprint": "fp_1",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def whole(document: Any, **more: Any) -> Reply:
    """A document as a JSON response."""
    return Reply(body=json.dumps(document).encode(), headers={"x-request-id": "req_1"}, **more)


def error(status: int, message: str = "no", headers: dict[str, str] | None = None, **more: Any) -> Reply:
    """An error as OpenAI documents it."""
    return Reply(status, json.dumps({"error": {"message": message, **more}}).encode(), headers or {})


def says(content: Any, finish: str | None = "stop", **message: Any) -> Reply:
    """A completion with this content."""
    return whole(completion(content, finish, **message))


def _numbers_become(text: str, value: Any) -> str:
    """The good answer with every verdict and rating replaced."""
    return re.sub(r'("(?:verdict|rating)": )(?:\d|"\w+")', lambda found: found[1] + json.dumps(value), text)


def _one_fewer(text: str) -> str:
    """The good answer with the last element of its list gone; without a list, an empty object."""
    document = json.loads(text)
    for name, value in document.items():
        if isinstance(value, list):
            return json.dumps({**document, name: value[:-1]})
    return "{}"


def _one_more(text: str) -> str:
    document = json.loads(text)
    for name, value in document.items():
        if isinstance(value, list):
            return json.dumps({**document, name: [*value, value[-1]] if value else value})
    return "{}"


_PROSE = "Sure! Here is what I think of it.\n\n{}\n\nLet me know if you need more."
_TOOLS = [
    {"id": "c1", "type": "function", "function": {"name": "fetch", "arguments": '{"url": "http://127.0.0.1:9/"}'}}
]
_UNSUPPORTED = "Unsupported parameter: '{}' is not supported with this model."

RETRY_AFTER_DATE = "Sun, 06 Nov 1994 08:49:37 GMT"  # RFC 9110, 5.6.7

# What the good answer is turned into; `text` is the good answer's JSON.
REPLIES: dict[str, Callable[[dict[str, Any], str], Reply]] = {
    "ok": lambda _, text: says(text),
    # The server
    "500": lambda *_: error(500, "internal"),
    "502_html": lambda *_: Reply(502, b"<html>Bad Gateway</html>", content_type="text/html"),
    "503": lambda *_: error(503, "overloaded"),
    "503_retry_after": lambda *_: error(503, "overloaded", {"retry-after": "1"}),
    "529": lambda *_: error(529, "overloaded"),
    "429": lambda *_: error(429, "slow down"),
    "429_retry_after": lambda *_: error(429, "slow down", {"retry-after": "1"}),
    "429_retry_after_long": lambda *_: error(429, "slow down", {"retry-after": "3600"}),
    "429_retry_after_date": lambda *_: error(429, "slow down", {"retry-after": RETRY_AFTER_DATE}),
    "429_quota": lambda *_: error(429, "You exceeded your current quota", code="insufficient_quota"),
    "401": lambda *_: error(401, "Incorrect API key provided: sk-traced"),
    "403": lambda *_: error(403, "forbidden"),
    "404": lambda *_: error(404, "The model does not exist", code="model_not_found"),
    "400": lambda *_: error(400, "no"),
    "422": lambda *_: error(422, "unprocessable"),
    "400_too_long": lambda *_: error(400, "maximum context length is 8192", code="context_length_exceeded"),
    "400_no_json_schema": lambda body, text: (
        error(400, "response_format json_schema is not supported", param="response_format")
        if (body.get("response_format") or {}).get("type") == "json_schema"
        else says(text)
    ),
    "400_no_response_format": lambda body, text: (
        error(400, "response_format is not supported", param="response_format")
        if "response_format" in body
        else says(text)
    ),
    "400_no_max_tokens": lambda body, text: (
        error(400, _UNSUPPORTED.format("max_tokens") + " Use 'max_completion_tokens' instead.", param="max_tokens")
        if "max_tokens" in body
        else says(text)
    ),
    "400_no_temperature": lambda body, text: (
        error(400, "Unsupported value: 'temperature' does not support 0.01 with this model.", param="temperature")
        if "temperature" in body
        else says(text)
    ),
    "400_no_seed": lambda body, text: error(400, "seed: extra fields not permitted") if "seed" in body else says(text),
    "redirect": lambda *_: Reply(307, b"", {"location": "/elsewhere/chat/completions"}),
    # The body
    "truncated_json": lambda _, text: Reply(body=json.dumps(completion(text)).encode()[:-40]),
    "not_json": lambda *_: Reply(body=b"OK"),
    "html": lambda *_: Reply(body=b"<html>Sign in</html>", content_type="text/html"),
    "text_content_type": lambda _, text: whole(completion(text), content_type="text/plain"),
    "wrong_charset": lambda _, text: Reply(
        body=json.dumps(completion(text + " \u00e9"), ensure_ascii=False).encode("latin-1"),
        content_type="application/json; charset=utf-8",
    ),
    "utf16": lambda _, text: Reply(body=json.dumps(completion(text)).encode("utf-16")),
    "empty_body": lambda *_: Reply(),
    "gzip": lambda _, text: Reply(
        body=gzip.compress(json.dumps(completion(text)).encode()), headers={"content-encoding": "gzip"}
    ),
    "gzip_bomb": lambda *_: Reply(body=_bomb(), headers={"content-encoding": "gzip"}),
    "gzip_corrupt": lambda *_: Reply(body=b"\x1f\x8b\x08 no", headers={"content-encoding": "gzip"}),
    "unknown_coding": lambda _, text: whole(completion(text)).__class__(
        body=b"zzz", headers={"content-encoding": "br"}
    ),
    "deep_json": lambda *_: Reply(body=b"[" * 200_000),
    "a_list": lambda *_: whole([]),
    "error_in_200": lambda *_: whole({"error": {"message": "upstream failed", "code": 502}}),
    # The completion
    "no_choices": lambda _, text: whole({**completion(text), "choices": []}),
    "no_choices_key": lambda *_: whole({"id": "x", "object": "chat.completion"}),
    "null_content": lambda *_: says(None),
    "empty": lambda *_: says(""),
    "blank": lambda *_: says(" \n"),
    "content_parts": lambda _, text: says([{"type": "text", "text": text}]),
    "refusal_field": lambda *_: says(None, refusal="I can't help with that."),
    "refusal_text": lambda *_: says("I'm sorry, but I can't assist with that request."),
    "content_filter": lambda *_: says("", "content_filter"),
    "finish_length": lambda _, text: says(text[: len(text) // 2], "length"),
    "finish_length_whole": lambda _, text: says(text, "length"),
    "tool_calls": lambda *_: says(None, "tool_calls", tool_calls=_TOOLS),
    "no_finish": lambda _, text: says(text, None),
    "no_usage": lambda _, text: whole({k: v for k, v in completion(text).items() if k != "usage"}),
    "usage_nonsense": lambda _, text: whole(
        {**completion(text), "usage": {"prompt_tokens": -5, "completion_tokens": "many"}}
    ),
    # The answer's text
    "fenced": lambda _, text: says(f"```json\n{text}\n```"),
    "fenced_bare": lambda _, text: says(f"```\n{text}\n```"),
    "think": lambda _, text: says(f'<think>Is it {{"rating": 0}}? No.</think>\n{text}'),
    "think_unclosed": lambda _, text: says(f"<think>Let me see. {text}"),
    "think_only_closing": lambda _, text: says(f"Let me see.</think>{text}"),
    "prose": lambda _, text: says(_PROSE.format(text)),
    "prose_only": lambda *_: says("The answer seems well supported to me."),
    "list_wrapped": lambda _, text: says(f"[{text}]"),
    "two_objects": lambda _, text: says(f'{text}\n{{"rating": 0, "verdict": 0}}'),
    "single_quotes": lambda _, text: says(text.replace('"', "'")),
    "trailing_comma": lambda _, text: says(text[:-1] + ",}"),
    "schema_echoed": lambda *_: says('{"type": "object", "properties": {"rating": {"type": "integer"}}}'),
    "extra_keys": lambda _, text: says(text[:-1] + ', "confidence": 0.5}'),
    "wrapped_result": lambda _, text: says(f'{{"result": {text}}}'),
    "empty_object": lambda *_: says("{}"),
    "verdict_2": lambda _, text: says(_numbers_become(text, 2)),
    "verdict_3": lambda _, text: says(_numbers_become(text, 3)),
    "verdict_minus_1": lambda _, text: says(_numbers_become(text, -1)),
    "verdict_yes": lambda _, text: says(_numbers_become(text, "yes")),
    "verdict_half": lambda _, text: says(_numbers_become(text, 0.5)),
    "verdict_null": lambda _, text: says(_numbers_become(text, None)),
    "verdict_nan": lambda _, text: says(re.sub(r'("(?:verdict|rating)": )(?:\d|"\w+")', r"\1NaN", text)),
    "verdict_nan_text": lambda _, text: says(_numbers_become(text, "NaN")),
    "verdict_infinity": lambda _, text: says(re.sub(r'("(?:verdict|rating)": )(?:\d|"\w+")', r"\g<1>1e999", text)),
    "one_fewer": lambda _, text: says(_one_fewer(text)),
    "one_more": lambda _, text: says(_one_more(text)),
}


def _bomb() -> bytes:
    """64 MiB of spaces in 65 KB."""
    return gzip.compress(b" " * (64 << 20), 1)
