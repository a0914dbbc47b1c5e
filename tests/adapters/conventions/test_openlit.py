"""OpenLIT: what its keys do not mean, and what it cuts."""

import json
from typing import Any

import pytest
from lanewatch.adapters.conventions.carried import CARRIED, Carried
from lanewatch.adapters.facts import Shape
from lanewatch.adapters.records import Evidence
from lanewatch.collector.spans import Resource, Span
from msgspec.structs import replace

from tests.adapters.spans import call, chat, raised, record, span

SCOPE = "openlit.otel.tracing"
RUN_ID = "0191c2d4-7a51-7b0e-9d9f-0a1b2c3d4e5f"


def run(label: str, arguments: str, result: str | None, call_id: str = RUN_ID, **where: Any) -> Span:
    """A run of LangChain's tool `look`."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": arguments,
    }
    if result is not None:
        attributes["gen_ai.tool.call.result"] = result
    return span(label, attributes, **{"scope": SCOPE, **where})


def retrieval(documents: list[dict[str, Any]], count: int | None = None) -> Span:
    """A retriever's span."""
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query": "cats?",
        "gen_ai.retrieval.documents": json.dumps(documents),
    }
    if count is not None:
        attributes["gen_ai.retrieval.document_count"] = count
    return span("r", attributes, scope=SCOPE)


def test_keys_of_a_tool_on_a_chat_are_no_run() -> None:
    """They list the calls that the model asked for."""
    joined = {
        "gen_ai.tool.name": "look, find",
        "gen_ai.tool.call.id": "call_1, call_2",
        "gen_ai.tool.call.arguments": "{}, {}",
    }
    seen = record(chat("a", call("look", {"city": "Lyon"}), extra=joined, scope=SCOPE))

    assert seen.dispatches == ()
    assert [request.name for request in seen.requests] == ["look"]


def test_a_run_id_is_no_call_id() -> None:
    """It stays where the tool raised: pairing has to do without."""
    failed = run("t", "{'city': 'Lyon'}", None, at=(3, 4), status=2, events=(raised("TimeoutError", "slow"),))
    seen = record(chat("a", call("look", {"city": "Lyon"}), at=(1, 2), scope=SCOPE), failed)

    assert [(d.call_id, d.match_rule) for d in seen.dispatches] == [("call_1", "R5")]


def test_a_tool_messages_repr_brings_the_id_and_the_result() -> None:
    """The id key is replaced at the end, where the output has one."""
    told = "content='sunny' name='look' tool_call_id='call_1'"
    seen = record(
        chat("a", call("look", {"city": "Lyon"}), at=(1, 2), scope=SCOPE),
        run("t", "{'city': 'Lyon'}", told, "call_1", at=(3, 4)),
    )

    assert [(d.match_rule, d.arguments, d.result) for d in seen.dispatches] == [("R1", {"city": "Lyon"}, "sunny")]


def test_one_argument_may_have_lost_its_name() -> None:
    """LangChain passes a text as it is."""
    seen = record(
        chat("a", call("look", {"city": "Lyon"}), at=(1, 2), scope=SCOPE), run("t", "Lyon", "sunny", at=(3, 4))
    )

    assert [(d.shape, d.match_rule, d.arguments) for d in seen.dispatches] == [(Shape.BARE, "R6", {"city": "Lyon"})]


@pytest.mark.parametrize(
    ("count", "shown", "evidence"),
    [
        (2, 2, Evidence.COMPLETE),
        (5, 3, Evidence.TRUNCATED),
        (None, 3, Evidence.TRUNCATED),
        (None, 2, Evidence.COMPLETE),
        (0, 0, Evidence.COMPLETE),
    ],
)
def test_three_documents_may_not_be_all(count: int | None, shown: int, evidence: Evidence) -> None:
    """Only the first three are written; their number tells, if it is there."""
    seen = record(retrieval([{"content": f"d{n}", "id": str(n)} for n in range(shown)], count))

    assert seen.retrievals[0].query == "cats?"
    assert seen.evidence["retrievals"] is evidence
    assert CARRIED["openlit"].fields["documents"] is Carried.PARTLY


def test_the_resource_may_be_all_that_tells() -> None:
    """Scopes are of the libraries in some releases."""
    named = replace(run("t", "Lyon", "ok"), resource=Resource({"telemetry.sdk.name": "openlit"}))

    assert record(replace(named, scope=type(named.scope)("x"))).conventions == ("openlit",)
