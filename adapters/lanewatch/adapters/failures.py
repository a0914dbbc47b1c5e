"""The error of a span, and how far its stack trace shows that a tool's body was entered."""

import re

from lanewatch.adapters.facts import ErrorInfo, ErrorKind
from lanewatch.collector.spans import Span, StatusCode

NAMED_ERROR = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception|Failure|Interrupt|Exit|Cancelled))\b\s*[:(]")
# LangGraph, Pydantic AI, Strands and CrewAI raise these for it.
PAUSES = frozenset(
    {
        "GraphInterrupt",
        "NodeInterrupt",
        "CallDeferred",
        "ApprovalRequired",
        "InterruptException",
        "HumanFeedbackPending",
    }
)
HEAD = 300  # characters of a status text in which the exception's name is looked for
FRAME = re.compile(r'^[ \t]*File "([^"\n]{1,1000})", line \d+, in (\S{1,200})', re.MULTILINE)
STACK_LIMIT = 256 * 1024  # characters from the end, where the innermost frames are
LIBRARY = ("site-packages", "dist-packages", "/lib/python3", "\\Lib\\", "<frozen", "<string>")
PLACES = 1000  # at which a word is looked for in a text: `a` stands in a megabyte of them at a million
TRACERS = ("opentelemetry", "openinference", "traceloop", "contextlib.py", "wrapt")


def error_of(span: Span) -> ErrorInfo | None:
    """The error of a span with status ERROR, from its exception event, `error.type` and status text."""
    if span.status != StatusCode.ERROR:
        return None
    kind = span.attributes.get("error.type")
    name = kind if isinstance(kind, str) and kind else None
    message = span.status_message or None
    for event in span.events:
        if event.name == "exception":
            raised = event.attributes.get("exception.type")
            text = event.attributes.get("exception.message")
            name = raised if isinstance(raised, str) and raised else name
            message = text if isinstance(text, str) and text else message
    if name is None and message:
        head = NAMED_ERROR.match(message[:HEAD])
        name = head.group(1) if head else None
    return ErrorInfo(name, ErrorKind.FAILURE, message)


def is_pause(error: ErrorInfo) -> bool:
    """Whether an error only hands control back until a person has answered, or a client has run the call."""
    return error.kind is ErrorKind.DEFERRED or (error.type or "").rpartition(".")[2] in PAUSES


def stack_of(span: Span) -> str:
    """The stack trace of a span's exception event, or what of it stands in the status text."""
    for event in span.events:
        trace = event.attributes.get("exception.stacktrace")
        if isinstance(trace, str):
            return trace[-STACK_LIMIT:]
    text = span.status_message
    return text[-STACK_LIMIT:] if "Traceback (most recent call last)" in text else ""


def enters(stack: str, tool: str) -> bool:
    """Whether a stack runs through a tool's body: a frame of its name, or application code that a framework called.

    Tracers' own frames don't count as a framework: a loop written by hand stands right below them.
    """
    called = False
    for path, function in FRAME.findall(stack):
        if function == tool:
            return True
        if any(mark in path for mark in LIBRARY):
            called = called or not any(tracer in path for tracer in TRACERS)
        elif called:
            return True
    return False


def frames_of(stack: str) -> list[str]:
    """The names of the functions that a stack runs through, outermost first."""
    return [function for _, function in FRAME.findall(stack)]


def mentions(text: str, word: str) -> bool:
    """Whether a word stands in a text by itself. Where it is part of other words PLACES times over, it does not."""
    place = text.find(word) if word else -1
    for _ in range(PLACES):
        if place < 0:
            return False
        end = place + len(word)
        before, after = text[place - 1 : place], text[end : end + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            return True
        place = text.find(word, place + 1)
    return False
