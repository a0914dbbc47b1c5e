"""What every Langfuse span is told by: its keys, masks, errors and session."""

from lanewatch.adapters.facts import ErrorInfo
from lanewatch.adapters.failures import error_of
from lanewatch.adapters.json_text import parse_json_text
from lanewatch.adapters.reading import Content, State, is_placeholder
from lanewatch.collector.spans import Span

NAME = "langfuse"
KIND = "langfuse.observation.type"
INPUT, OUTPUT = "langfuse.observation.input", "langfuse.observation.output"
MODEL = "langfuse.observation.model.name"
LEVEL, STATUS = "langfuse.observation.level", "langfuse.observation.status_message"
METADATA = "langfuse.observation.metadata"


def masked(span: Span) -> Content | None:
    """Content that a mask function of the application replaced: the same text stands for input and output, or for all
    of the metadata.
    """
    given, answered = span.attributes.get(INPUT), span.attributes.get(OUTPUT)
    if not isinstance(given, str) or given.lstrip()[:1] in ("{", "["):
        return None
    if is_placeholder(given) or (
        given and (given == answered or given == parse_json_text(span.attributes.get(METADATA)))
    ):
        return Content(None, None, State.REDACTED)
    return None


def error(span: Span) -> ErrorInfo | None:
    """The error of a span: OTel's, or the observation's level alone."""
    raised = error_of(span)
    if raised is not None or span.attributes.get(LEVEL) != "ERROR":
        return raised
    text = span.attributes.get(STATUS)
    return ErrorInfo(message=text if isinstance(text, str) and text else None)


def session(span: Span) -> str | None:
    """The conversation that the span belongs to."""
    value = span.attributes.get("session.id")
    return value if isinstance(value, str) and value and not is_placeholder(value) else None
