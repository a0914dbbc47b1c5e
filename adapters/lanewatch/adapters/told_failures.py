"""What a result says under a span with status OK: that the call failed, that it was refused, or nothing of the kind.

Results are the tool's own data. A job's `status` may be `failed` though the tool that looked it up did well, so only
what speaks of the call itself counts: a flag that result formats have for it (MCP's `isError`), an `error` among words
about it alone, or a text that a framework puts where a result would stand.
"""

from typing import Any, TypeAlias

from lanewatch.adapters.facts import ErrorInfo, ErrorKind, Executed
from lanewatch.adapters.failures import mentions
from lanewatch.adapters.message_parts import joined_text
from lanewatch.adapters.reading import Content, State
from lanewatch.adapters.rejections import (
    REJECTION_LIMIT,
    rejected,
    says_invalid_arguments,
    says_not_invoked,
    says_unknown_tool,
    waits_for_approval,
)

Told: TypeAlias = tuple[Executed, ErrorInfo | None]

RAN: Told = (Executed.YES, None)
REASON_KEYS = frozenset({"error", "message", "status", "result", "reason"})
# Keys that stand beside an error and tell more of it; with any other key the object is the tool's own record of something.
ABOUT_ERRORS = REASON_KEYS | {
    "isError", "is_error", "ok", "success", "code", "error_code", "error_type", "error_message", "errorMessage", "type",
    "detail", "details", "hint", "content", "output", "stderr", "stdout", "exit_code", "traceback", "retryable",
    "status_code", "statusCode", "toolUseId", "tool_call_id", "name", "structuredContent", "meta", "_meta",
}  # fmt: skip
MESSAGES = ("error_message", "errorMessage", "message", "reason", "detail")
FLAGS = ("isError", "is_error")


def told_by_result(result: Content, tool: str) -> Told:
    """Whether the body ran, and the error that the result of tool `tool` reports."""
    if result.state is not State.CAPTURED:
        return RAN
    if isinstance(result.value, dict):
        return _of_object(result.value, tool)
    text = joined_text(result.value) if result.structured else result.raw
    return _of_text(text, tool) if text is not None else RAN


def _of_text(text: str, tool: str, *, failed: bool = False) -> Told:
    """`failed`: the result's format says already that this text is an error."""
    if waits_for_approval(text):
        return Executed.NO, ErrorInfo(None, ErrorKind.DEFERRED, text)
    executed = rejected(text)
    if executed is Executed.NO:
        return executed, ErrorInfo(None, ErrorKind.BLOCKED, text)
    if says_not_invoked(text):
        return Executed.NO, ErrorInfo(None, ErrorKind.VALIDATION, text)
    if failed:
        refused = says_unknown_tool(text) or says_invalid_arguments(text)
        if refused:
            ran = Executed.NO if mentions(text, tool) else Executed.UNKNOWN
            return ran, ErrorInfo(None, ErrorKind.VALIDATION, text)
        return executed, ErrorInfo(None, ErrorKind.FAILURE, text)
    if len(text) <= REJECTION_LIMIT and says_unknown_tool(text) and mentions(text, tool):
        return Executed.UNKNOWN, None  # its own answer about something of its own name, or the framework's
    return executed, None  # words that may be either cast doubt on the run; they prove no failure


def _of_object(result: dict[str, Any], tool: str) -> Told:
    flagged = any(result.get(flag) is True for flag in FLAGS)
    text = joined_text(result.get("content"))
    if text is not None and set(result) <= ABOUT_ERRORS:
        return _of_text(text, tool, failed=flagged or result.get("status") == "error")
    told = result.get("error")
    if flagged and not told:
        content = result.get("content", result.get("message"))
        return _of_text(content, tool, failed=True) if isinstance(content, str) else (Executed.YES, ErrorInfo())
    texts = {text: rejected(text) for key, text in result.items() if isinstance(text, str) and key in REASON_KEYS}
    about = set(result) <= ABOUT_ERRORS
    status = str(result.get("status", "")).lower()
    failed = flagged or (bool(told) and (about or not status)) or (about and status == "error" and len(result) > 1)
    only_reasons = set(result) <= REASON_KEYS
    for text, answer in texts.items():
        if waits_for_approval(text) and only_reasons:
            return Executed.NO, ErrorInfo(None, ErrorKind.DEFERRED, text)
        if answer is Executed.NO and (only_reasons or failed):
            return answer, ErrorInfo(None, ErrorKind.BLOCKED, text)
    if failed and isinstance(told, str) and says_not_invoked(told):
        return Executed.NO, ErrorInfo(None, ErrorKind.VALIDATION, told)
    doubted = only_reasons and Executed.UNKNOWN in texts.values()
    message = told if isinstance(told, str) else next((str(result[k]) for k in MESSAGES if k in result), None)
    error = ErrorInfo(message=message) if failed else None
    return Executed.UNKNOWN if doubted else Executed.YES, error
