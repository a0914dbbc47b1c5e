"""Whether a trace hides its content on purpose: told from content that a fault has lost."""

from collections import Counter

import pytest
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Evidence
from lanewatch.config.loading import Config
from lanewatch.monitors.capture import hides_content
from lanewatch.monitors.lanes import judge_lanes
from lanewatch.monitors.readings import readings
from lanewatch.replaying.playback import replay

from tests.adapters.recordings import CORPUS
from tests.monitors.records import record, request

ALL_OFF = sorted(path.parent.name for path in CORPUS.glob("*/15_no_content"))
SHOW_IT_ALL_THE_SAME = {"mlflow-openai", "strands"}  # the switch of others does nothing there


@pytest.mark.parametrize(
    ("evidence", "hidden"),
    [
        ({}, False),
        ({"requests": Evidence.ABSENT}, True),
        ({"requests": Evidence.REDACTED}, True),
        ({"responses": Evidence.REDACTED}, True),
        ({"dispatches": Evidence.REDACTED}, True),
        ({"requests": Evidence.PARTIAL, "responses": Evidence.PARTIAL}, False),
        ({"responses": Evidence.TRUNCATED}, False),
    ],
)
def test_what_is_kept_out_is_told_from_what_was_lost(evidence: dict[str, Evidence], hidden: bool) -> None:
    """`partial` may come of one span that was lost."""
    assert hides_content(record(evidence=evidence)) is hidden


def test_a_value_that_is_masked_in_arguments_that_are_seen_is_no_switch() -> None:
    """Evidence is redacted, and content is shown."""
    redacted = {"requests": Evidence.REDACTED, "dispatches": Evidence.REDACTED}

    assert hides_content(record(evidence=redacted, half_hidden=("requests", "dispatches"))) is False
    assert hides_content(record(evidence=redacted)) is True


def test_without_a_model_call_nothing_is_missed() -> None:
    """A trace of a retriever alone has no content of messages."""
    assert hides_content(record(generations=(), evidence={"requests": Evidence.ABSENT})) is None


def test_calls_by_name_alone_are_hidden_and_calls_that_take_nothing_are_not() -> None:
    """Pydantic AI keeps names and ids; a tool without parameters has no arguments either."""
    bare = (request(arguments_state=State.ABSENT),)

    assert hides_content(record(requests=bare, evidence={"requests": Evidence.PARTIAL})) is True
    assert hides_content(record(requests=bare)) is False


@pytest.mark.parametrize("stack", ALL_OFF)
def test_recordings_with_content_off_are_told(stack: str) -> None:
    """Of every stack that was recorded so."""
    seen = replay(CORPUS / stack / "15_no_content", Config()).observations
    told = {hides_content(one.record) for one in seen} - {None}

    assert told == {stack not in SHOW_IT_ALL_THE_SAME}


def test_each_convention_of_a_trace_is_counted_and_its_session_once() -> None:
    """The doctor names the switch of each; a session is the trace's."""
    seen = record(conventions=("otel_genai", "traceloop"), evidence={"requests": Evidence.ABSENT}, session_id="s")
    counts = Counter(readings(seen, (), judge_lanes(seen, ())))
    none = record(generations=())

    assert counts["lanewatch_content_capture", ("shop", "otel_genai", "hidden")] == 1
    assert counts["lanewatch_content_capture", ("shop", "traceloop", "hidden")] == 1
    assert counts["lanewatch_session_ids", ("shop", "told")] == 1
    assert not any(name == "lanewatch_session_ids" for name, _ in readings(none, (), judge_lanes(none, ())))
