"""DSPy through OpenInference: tools are methods, and a ReAct loop asks for them in text."""

import pytest
from lanewatch.adapters.records import Evidence, Executed
from lanewatch.monitors.divergence import find_divergences

from tests.adapters.spans import oi, oi_llm, record

SCOPE = "openinference.instrumentation.dspy"


@pytest.mark.parametrize("name", ["look.__call__", "look.acall"])
def test_a_tools_span_is_named_after_its_method(name: str) -> None:
    """And its arguments are bound ones."""
    told = {
        "input.value": '{"kwargs": {"city": "Lyon"}}',
        "input.mime_type": "application/json",
        "output.value": "sunny",
    }
    (dispatch,) = record(oi("t", "TOOL", told, name=name, scope=SCOPE)).dispatches

    assert (dispatch.name, dispatch.arguments, dispatch.executed) == ("look", {"city": "Lyon"}, Executed.YES)


def test_a_call_that_the_model_wrote_as_text_is_not_unrequested() -> None:
    """`next_tool_name` is a field of its answer."""
    text = '[[ ## next_tool_name ## ]]\nlook\n\n[[ ## next_tool_args ## ]]\n{"city": "Lyon"}'
    told = {
        "input.value": '{"kwargs": {"city": "Lyon"}}',
        "input.mime_type": "application/json",
        "output.value": "sunny",
    }
    seen = record(
        oi_llm("a", content=text, scope=SCOPE, at=(1, 2)),
        oi("t", "TOOL", told, name="look.__call__", scope=SCOPE, at=(3, 4)),
    )

    assert seen.evidence["requests"] is Evidence.PARTIAL
    assert find_divergences(seen) == ()
