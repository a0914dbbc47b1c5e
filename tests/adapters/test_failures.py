"""Errors of spans, and what a stack trace says of the tool's body."""

import pytest
from lanewatch.adapters.failures import enters, error_of, mentions, stack_of
from lanewatch.collector.spans import StatusCode

from tests.adapters.spans import raised, span

LIBRARY = '  File "/venv/lib/python3.11/site-packages/langchain_core/tools/base.py", line 1099, in run\n'
TRACER = '  File "/venv/lib/python3.11/site-packages/opentelemetry/trace/__init__.py", line 602, in use_span\n'
BODY = '  File "/srv/app/tools.py", line 44, in weather\n'


def test_a_span_without_error_status_has_no_error() -> None:
    """An exception event alone may have been handled."""
    assert error_of(span("a", events=(raised("ValueError", "x"),))) is None


def test_the_exception_says_more_than_the_status() -> None:
    """LangChain writes a whole traceback into the status text."""
    one = span(
        "a",
        {"error.type": "_OTHER"},
        status=StatusCode.ERROR,
        message="boom\nTraceback",
        events=(raised("app.Boom", "boom"),),
    )
    error = error_of(one)

    assert error is not None
    assert (error.type, error.message) == ("app.Boom", "boom")


@pytest.mark.parametrize(
    ("message", "kind"),
    [("TimeoutError: upstream timed out", "TimeoutError"), ("TimeoutError('x')", "TimeoutError"),
     ("app.errors.Failure: x", "app.errors.Failure"), ("upstream timed out", None), ("", None)],
)  # fmt: skip
def test_the_status_text_may_start_with_the_exceptions_name(message: str, kind: str | None) -> None:
    """Where there is no event and no `error.type`."""
    error = error_of(span("a", status=StatusCode.ERROR, message=message))

    assert error is not None
    assert (error.type, error.message) == (kind, message or None)


def test_the_stack_comes_from_the_event_or_the_status() -> None:
    """openinference-langchain puts it into both, others into one."""
    assert stack_of(span("a", events=(raised("E", "x", BODY),))) == BODY
    assert stack_of(span("a", message=f"x\nTraceback (most recent call last):\n{BODY}")).endswith(BODY)
    assert stack_of(span("a", message="x")) == ""


@pytest.mark.parametrize(
    "stack", [BODY, LIBRARY + BODY, LIBRARY + BODY + LIBRARY, LIBRARY + BODY.replace("weather", "look_up")]
)
def test_a_body_was_entered(stack: str) -> None:
    """A frame of the tool's name, or application code that a framework called; it may call libraries itself."""
    assert enters(stack, "weather")


@pytest.mark.parametrize(
    "stack", ["", LIBRARY, LIBRARY * 3, BODY.replace("weather", "run_tools"), TRACER + BODY.replace("weather", "loop")]
)
def test_a_body_was_not_provably_entered(stack: str) -> None:
    """A loop written by hand stands below the tracer's frames, and it is no framework's call."""
    assert not enters(stack, "weather")


@pytest.mark.parametrize(
    ("text", "found"),
    [("look: no", True), ("`look`", True), ("outlook", False), ("look_up", False), ("lookup look", True), ("", False)],
)
def test_a_word_is_mentioned_by_itself(text: str, found: bool) -> None:
    """Part of a longer name is another name."""
    assert mentions(text, "look") is found
    assert not mentions(text, "")
