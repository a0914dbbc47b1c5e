"""What an error, or a result's text, says about whether the tool's body ran.

A TOOL span is no proof of a dispatch: frameworks write one, with status ERROR, for a call whose arguments they refused,
and one with status OK whose result is the text of a guardrail. The exception, its stack trace and the text tell. Where
they do not, the answer is `unknown`.
"""

import re
from typing import Any

import msgspec

from lanewatch.adapters.facts import ErrorInfo, ErrorKind, Executed
from lanewatch.adapters.reading import Content, State
from lanewatch.collector.spans import Span, StatusCode

REJECTION_LIMIT = (
    400  # characters; a guardrail's text is a sentence or two, a document that speaks of policies is longer
)

# A sentence by which a guard says that it stopped the call. It has to name the act of stopping and the call itself or
# the one who stopped it, so that a tool's own "request denied" does not count.
_STOPPER = r"(polic(y|ies)|guard ?rails?|middleware|human|user|reviewer|approver|operator|administrator|admin)"
_STOPPED = r"(blocked|rejected|denied|refused|declined|disallowed|forbidden|prevented|vetoed|cancell?ed)"
_CALL = r"((this|the|that|your) )?(tool|action|call|tool call|function call|operation|request|execution|tool execution)"
REJECTED = re.compile(
    rf"\b{_STOPPED}\b[^.\n]{{0,40}}\b(by|due to|because of)\b[^.\n]{{0,30}}\b{_STOPPER}\b"
    rf"|\b{_STOPPER}\b[^.\n]{{0,20}}\b(has |have )?{_STOPPED}\b[^.\n]{{0,20}}\b{_CALL}\b"
    rf"|\b{_CALL}\b[^.\n]{{0,40}}\b(was|were|is|has been) (not (carried out|executed|run|approved|performed)|{_STOPPED})\b"
    rf"|\bnot (carried out|executed|approved) (by|because of|due to)\b[^.\n]{{0,20}}\b{_STOPPER}\b",
    re.IGNORECASE,
)
# Weaker words: they may be the tool's own answer, so they only cast doubt.
MAYBE_REJECTED = re.compile(
    rf"^\W*(error\W+)?({_STOPPED}|not (allowed|permitted|approved)|approval required)\b",
    re.IGNORECASE,
)

REFUSED_ARGUMENTS = (
    "ValidationError",
    "ToolInvocationError",
    "ToolInputParsingException",
    "InvalidToolInputError",
    "InvalidToolArgumentsError",
    "AI_InvalidToolInputError",
    "AI_InvalidToolArgumentsError",
    "ModelBehaviorError",
    "ToolArgumentsError",
    "JSONDecodeError",
)
UNKNOWN_TOOL = re.compile(
    r"\b(unknown|no such|unavailable|non-?existent|unrecogni[sz]ed) (tool|function)\b"
    r"|\b(tool|function)\b[^.\n]{0,80}\b(not found|does ?n.t exist|does not exist|is not (a valid|available|registered)|not a valid tool)",
    re.IGNORECASE,
)
BAD_CALL = re.compile(
    r"\(\) (got an unexpected keyword argument|missing \d+ required|takes \d+ positional|got multiple values)"
    r"|unexpected keyword argument",
)
INVALID_ARGUMENTS = re.compile(
    r"\b(invalid|malformed|could not parse|couldn.t parse|failed to parse|unparsable|bad)\b[^.\n]{0,30}\b(json|arguments?|tool (input|arguments?))\b"
    r"|\bvalidation errors? for\b|\binvalid[ _]arguments?\b|\bjson ?decode ?error\b"
    r"|\barguments?\b[^.\n]{0,40}\b(not valid|invalid|(do|did|does) ?n[o']t (match|fit|conform|satisfy|meet)|failed validation)\b"
    r"|\bmissing( \d+)? required\b|\bunexpected (keyword )?argument\b|\bschema (violation|validation)\b",
    re.IGNORECASE,
)


def error_of(span: Span) -> ErrorInfo | None:
    """The error of a span with status ERROR, from its exception event, `error.type` and status text."""
    if span.status != StatusCode.ERROR:
        return None
    kind = span.attributes.get("error.type")
    name = kind if isinstance(kind, str) else None
    message = span.status_message or None
    for event in span.events:
        if event.name == "exception":
            raised = event.attributes.get("exception.type")
            text = event.attributes.get("exception.message")
            name = raised if isinstance(raised, str) and raised else name
            message = text if isinstance(text, str) and text else message
    if name is None and message:
        head = re.match(r"([A-Za-z_][\w.]*(?:Error|Exception|Failure|Interrupt|Exit|Cancelled))\b\s*[:(]", message)
        name = head.group(1) if head else None
    return ErrorInfo(name, ErrorKind.FAILURE, message)


def stack_of(span: Span) -> str:
    """The stack trace of a span's exception event, or what of it stands in the status text."""
    for event in span.events:
        trace = event.attributes.get("exception.stacktrace")
        if isinstance(trace, str):
            return trace
    return span.status_message if "Traceback (most recent call last)" in span.status_message else ""


def judge_error(
    span: Span,
    tool: str,
    arguments: Content,
    schema: dict[str, Any] | None,
) -> tuple[Executed, ErrorInfo | None]:
    """Whether the body of `tool` ran, given the span's error; (YES, None) for a span without one."""
    error = error_of(span)
    if error is None:
        return Executed.YES, None
    executed, kind = _classify(error, tool, stack_of(span), arguments, schema)
    return executed, msgspec.structs.replace(error, kind=kind)


def _classify(
    error: ErrorInfo,
    tool: str,
    stack: str,
    arguments: Content,
    schema: dict[str, Any] | None,
) -> tuple[Executed, ErrorKind]:
    name = (error.type or "").rsplit(".", 1)[-1]
    message = error.message or ""
    entered = bool(re.search(rf"\bin {re.escape(tool)}\b", stack)) and not _refused_at_call(message, tool)
    if rejected(message) is Executed.NO:
        return Executed.NO, ErrorKind.BLOCKED
    if "Cancel" in name:
        return Executed.UNKNOWN, ErrorKind.CANCELLED
    if UNKNOWN_TOOL.search(message):
        return Executed.NO, ErrorKind.VALIDATION
    if name in REFUSED_ARGUMENTS:
        names_tool = re.search(rf"\b{re.escape(tool)}\b", message) is not None
        if entered:
            return Executed.YES, ErrorKind.FAILURE
        certain = name != "ValidationError" or names_tool or bool(stack)
        return (Executed.NO if certain else Executed.UNKNOWN), ErrorKind.VALIDATION
    if BAD_CALL.search(message) and (name == "TypeError" or not name):
        if entered and not _refused_at_call(message, tool):
            return Executed.YES, ErrorKind.FAILURE
        named = _refused_at_call(message, tool) or bool(stack)
        return (Executed.NO if named else Executed.UNKNOWN), ErrorKind.VALIDATION
    if entered:
        return Executed.YES, ErrorKind.FAILURE
    if arguments.state is State.CAPTURED and not isinstance(arguments.value, dict):
        return Executed.NO, ErrorKind.VALIDATION
    if schema is not None and breaks_schema(arguments.value, schema):
        return Executed.NO, ErrorKind.VALIDATION
    return Executed.YES, ErrorKind.FAILURE


def _refused_at_call(message: str, tool: str) -> bool:
    """Whether the interpreter refused the call itself: `tool() got an unexpected keyword argument ...`."""
    return bool(re.search(rf"(^|[\s.:'\"]){re.escape(tool)}\(\) (got|missing|takes)", message))


def rejected(text: str | None) -> Executed:
    """Whether a result's text says that a guard stopped the call: NO when it says so, UNKNOWN when it may, else YES."""
    if not text or len(text) > REJECTION_LIMIT:
        return Executed.YES
    if REJECTED.search(text):
        return Executed.NO
    return Executed.UNKNOWN if MAYBE_REJECTED.search(text) else Executed.YES


def judge_result(result: Content) -> tuple[Executed, ErrorInfo | None]:
    """Whether the body ran, given what a span with status OK shows as its result, and the error that it reports."""
    if result.state is not State.CAPTURED:
        return Executed.YES, None
    if not result.structured:
        executed = rejected(result.raw)
        if executed is Executed.YES:
            return executed, None
        return executed, ErrorInfo(None, ErrorKind.BLOCKED, result.raw)
    if isinstance(result.value, dict):
        return _judge_object(result.value)
    return Executed.YES, None


def _judge_object(result: dict[str, Any]) -> tuple[Executed, ErrorInfo | None]:
    told = result.get("error", result.get("isError", result.get("is_error")))
    failed = bool(told) or str(result.get("status", "")).lower() in ("error", "failed")
    texts = [
        value
        for key, value in result.items()
        if isinstance(value, str) and key in ("error", "message", "status", "result", "reason")
    ]
    executed = min(
        (rejected(text) for text in texts), key=lambda answer: answer is not Executed.NO, default=Executed.YES
    )
    if executed is Executed.NO and (failed or set(result) <= {"error", "message", "status", "result", "reason"}):
        return Executed.NO, ErrorInfo(None, ErrorKind.BLOCKED, texts[0] if texts else None)
    if failed:
        return Executed.YES, ErrorInfo(None, ErrorKind.FAILURE, told if isinstance(told, str) else None)
    return Executed.YES, None


def breaks_schema(arguments: Any, schema: dict[str, Any]) -> bool:
    """Whether arguments certainly break a tool's JSON Schema: a required key missing, a key it forbids, or an object or
    list where it wants a scalar and the other way round. What a lax validator would coerce does not count.
    """
    properties = schema.get("properties")
    if not isinstance(arguments, dict) or not isinstance(properties, dict):
        return False
    required = schema.get("required")
    if isinstance(required, list) and any(key not in arguments for key in required):
        return True
    if schema.get("additionalProperties") is False and any(key not in properties for key in arguments):
        return True
    return any(_wrong_shape(arguments[key], rule) for key, rule in properties.items() if key in arguments)


def _wrong_shape(value: Any, rule: Any) -> bool:
    kind = rule.get("type") if isinstance(rule, dict) else None
    if kind in ("string", "integer", "number", "boolean"):
        return isinstance(value, dict | list)
    if kind == "array":
        return not isinstance(value, list)
    return kind == "object" and not isinstance(value, dict)
