"""Reads a chat completion or embeddings out of a response, or says with what it failed. The order of the tests is the meaning.

A status is believed before a body, a refusal before a missing text, a cut before a form: what was refused or cut may be valid JSON
all the same.
"""

import math
import re
from typing import Any, TypeGuard

import msgspec

from lanewatch.monitors.judge.calls import Usage
from lanewatch.monitors.judge.exchange import Exchange
from lanewatch.monitors.judge.failures import JudgeFailure
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason

_HTTP_OK = 200
_STATUSES = {
    400: Reason.BAD_REQUEST,
    401: Reason.AUTH,
    402: Reason.AUTH,
    403: Reason.AUTH,
    407: Reason.UNREACHABLE,
    408: Reason.TIMEOUT,
    429: Reason.RATE_LIMITED,
    504: Reason.TIMEOUT,
}
_CLIENT_ERROR, _SERVER_ERROR = 400, 500
_TOO_LONG = re.compile(
    rb"context_length_exceeded|maximum context length|exceeds? the (?:available )?context|prompt is too long"
)
# Waiting does not help: as final as a refused key, though some say it with 429.
_NO_CREDIT = re.compile(rb"insufficient_quota|credit balance is too low|billing_hard_limit_reached")
# A refusal in prose, where JSON was asked for, begins like this; anything else that is no JSON is invalid. Both are unscored.
_REFUSES = re.compile(
    r"\W*(?:i['\u2019]?m (?:very |really |so )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai\b|i (?:can ?not|can['\u2019]t|won['\u2019]t|am (?:unable|not able))\b)",
    re.IGNORECASE,
)
_MOST_TOKENS = 10_000_000


class Completion(msgspec.Struct, frozen=True):
    """What a judge said. `text` is its whole content, not yet read as JSON."""

    text: str
    usage: Usage | None
    model: str | None
    fingerprint: str | None


def status_failure(exchange: Exchange) -> JudgeFailure | None:
    """What an exchange failed with before its body is read as an answer; None for a whole response of status 200."""
    if exchange.fault is not Reason.NONE:
        return JudgeFailure(exchange.fault)
    status = exchange.status
    if status == _HTTP_OK:
        return None
    if status < _SERVER_ERROR and _TOO_LONG.search(exchange.body):
        return JudgeFailure(Reason.TOO_LONG, EvaluationOutcome.UNSUPPORTED)
    if status in _STATUSES and _NO_CREDIT.search(exchange.body):
        return JudgeFailure(Reason.AUTH)
    if status in _STATUSES:
        return JudgeFailure(_STATUSES[status])
    # A redirect is a base_url that is not the endpoint's: to be mended there, and never followed.
    return JudgeFailure(Reason.SERVER_ERROR if status >= _SERVER_ERROR else Reason.BAD_REQUEST)


def document_of(exchange: Exchange) -> dict[str, Any]:
    """The response's JSON object. Raises `JudgeFailure` where there is none."""
    try:
        document = msgspec.json.decode(exchange.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise JudgeFailure(Reason.JUDGE_INVALID) from None
    if not isinstance(document, dict):
        raise JudgeFailure(Reason.JUDGE_INVALID)
    if document.get("error") and not document.get("choices") and not document.get("data"):
        raise JudgeFailure(Reason.SERVER_ERROR)  # some gateways report the upstream's failure with status 200
    return document


def completion_of(document: dict[str, Any]) -> Completion:
    """The completion in a response. Raises `JudgeFailure` for one that was refused, cut, or is no text."""
    choice = _first(document.get("choices"))
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise JudgeFailure(Reason.JUDGE_INVALID)
    finish, text = choice.get("finish_reason"), _text_of(message.get("content"))
    if finish == "content_filter" or message.get("refusal"):
        raise JudgeFailure(Reason.JUDGE_REFUSED)
    if finish == "length":
        raise JudgeFailure(Reason.JUDGE_TRUNCATED)
    if not text.strip():
        raise JudgeFailure(Reason.JUDGE_INVALID)
    if _REFUSES.match(text) and "{" not in text:
        raise JudgeFailure(Reason.JUDGE_REFUSED)
    return Completion(text, usage_of(document), *told_by(document))


def told_by(document: dict[str, Any]) -> tuple[str | None, str | None]:
    """The model and the fingerprint that a response names."""
    model, fingerprint = document.get("model"), document.get("system_fingerprint")
    return (
        model[:256] if isinstance(model, str) and model else None,
        fingerprint[:256] if isinstance(fingerprint, str) and fingerprint else None,
    )


def usage_of(document: dict[str, Any]) -> Usage | None:
    """The tokens that a response counts; None where it does not, or counts nonsense."""
    usage = document.get("usage")
    if not isinstance(usage, dict):
        return None
    given, said = usage.get("prompt_tokens"), usage.get("completion_tokens", 0)
    if not _counts(given) or not _counts(said):
        return None
    return Usage(given, said)


def vectors_of(document: dict[str, Any], n: int) -> list[list[float]]:
    """The n embeddings of a response, in the order of their texts. Raises `JudgeFailure` for any other count or form."""
    data = document.get("data")
    if not isinstance(data, list) or len(data) != n:
        raise JudgeFailure(Reason.JUDGE_INVALID)
    by_index: dict[int, list[float]] = {}
    for at, row in enumerate(data):
        vector = row.get("embedding") if isinstance(row, dict) else None
        if not isinstance(vector, list) or not vector or not all(_finite(value) for value in vector):
            raise JudgeFailure(Reason.JUDGE_INVALID)
        by_index[row.get("index", at)] = [float(value) for value in vector]
    if set(by_index) != set(range(n)) or len({len(vector) for vector in by_index.values()}) != 1:
        raise JudgeFailure(Reason.JUDGE_INVALID)
    return [by_index[at] for at in range(n)]


def _first(choices: Any) -> dict[str, Any] | None:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _text_of(content: Any) -> str:
    """A content's text; some servers give the list of parts that requests may have."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _counts(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
