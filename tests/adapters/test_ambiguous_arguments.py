"""Arguments that readers take differently convict nobody: they are text, and the evidence says that it is not whole."""

import pytest
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Evidence
from lanewatch.monitors.lanes import Lane, Status
from lanewatch.observation import Observer

from tests.adapters.spans import agent, call, chat, text, tool, trace

AMBIGUOUS = ('{"a": NaN}', '{"a": 1, "a": 2}', '{"a": 1e999}')


@pytest.mark.parametrize("asked", AMBIGUOUS)
@pytest.mark.parametrize("ran", ['{"a": null}', '{"a": 2}', *AMBIGUOUS])
def test_ambiguous_arguments_are_text_and_make_the_lane_incomplete(asked: str, ran: str) -> None:
    """Whatever the runtime took them for, and however its span writes that."""
    (seen,) = Observer().observe(
        trace(
            agent(),
            chat("ask", call("look", asked), under="agent", at=(1, 2)),
            tool("run", "look", ran, call_id="call_1", under="agent", at=(3, 4)),
            chat("say", text("done"), under="agent", at=(5, 6)),
        )
    )
    (request,), (dispatch,) = seen.record.requests, seen.record.dispatches

    assert (request.arguments, request.arguments_raw, request.arguments_state) == (None, asked, State.AMBIGUOUS)
    assert (dispatch.match_rule, dispatch.executed) == ("R1", "yes")
    assert ran not in AMBIGUOUS or dispatch.arguments == ran
    assert seen.record.evidence["requests"] is Evidence.PARTIAL
    assert seen.divergences == ()
    assert seen.lanes[Lane.TOOLS].status is Status.INCOMPLETE
