"""The judge of replay's output: exact, flagged, wrong; and what counts as a divergence."""

from typing import Any

import pytest

from tests.corpus.scoring import diverged, judge, same_name

CALL = {"id": "c1", "name": "weather", "arguments_raw": '{"city": "Lisbon"}', "llm_request": 0}
RAN = {"order": 1, "name": "weather", "args": {"city": "Lisbon"}, "result": "clear", "error": None}
DOCUMENT = {"id": "d1", "content": "Rain falls.", "score": 0.5}
REQUEST = {"name": "weather", "arguments": {"city": "Lisbon"}, "arguments_raw": '{"city": "Lisbon"}'}
DISPATCH = {"name": "weather", "arguments": {"city": "Lisbon"}, "executed": "yes"}
RETRIEVAL = {"documents": [{"id": "d1", "content": "Rain falls.", "score": 0.5}]}
RESPONSE = {"text": "It is clear.", "refusal": False}


def truth(**changes: Any) -> dict[str, Any]:
    """One request, carried out as asked; one retrieval; one answer."""
    return {
        "scenario": "01_right_tool",
        "retriever": "app",
        "llm_emitted_calls": [CALL],
        "dispatched": [RAN],
        "retrieved": [{"documents": [DOCUMENT]}],
        "final_answers": ["It is clear."],
    } | changes


def line(**changes: Any) -> dict[str, Any]:
    """What replay should print for it."""
    trace = {"requests": [REQUEST], "dispatches": [DISPATCH], "retrievals": [RETRIEVAL], "responses": [RESPONSE]}
    return {"traces": [trace | {"divergences": [], "evidence": {}} | changes]}


def test_records_equal_to_the_truth_are_exact() -> None:
    """All four facets exact and no divergence reported where there is none."""
    verdicts = judge(line(), truth())

    assert verdicts == {
        "requests": "exact",
        "dispatches": "exact",
        "retrievals": "exact",
        "responses": "exact",
        "divergence": "quiet",
    }


@pytest.mark.parametrize("facet", ["requests", "dispatches", "retrievals", "responses"])
def test_a_missing_record_is_wrong_unless_the_evidence_says_so(facet: str) -> None:
    """The one unforgivable fault is to be wrong and silent."""
    silent = judge(line(**{facet: []}), truth())
    told = judge(line(**{facet: [], "evidence": {facet: "partial"}}), truth())

    assert (silent[facet], told[facet]) == ("wrong", "flagged")


@pytest.mark.parametrize(
    ("facet", "record"), [("requests", REQUEST), ("dispatches", DISPATCH), ("retrievals", RETRIEVAL)]
)
def test_a_record_too_many_is_wrong(facet: str, record: dict[str, Any]) -> None:
    """Each record pairs with at most one of the truth: a double report is no match."""
    assert judge(line(**{facet: [record, record]}), truth())[facet] == "wrong"


def test_the_order_of_requests_does_not_matter() -> None:
    """Parallel calls have no order."""
    other = REQUEST | {"arguments": {"city": "Porto"}}
    calls = [CALL, CALL | {"arguments_raw": '{"city": "Porto"}'}]

    assert judge(line(requests=[other, REQUEST]), truth(llm_emitted_calls=calls))["requests"] == "exact"


@pytest.mark.parametrize(
    ("seen", "true", "verdict"),
    [
        ({"a": 1.0}, '{"a": 1}', "exact"),
        ({"a": True}, '{"a": 1}', "wrong"),
        ({"a": "1"}, '{"a": 1}', "wrong"),
        ({"a": None}, "{}", "wrong"),
        ({"a": 9007199254740993}, '{"a": 9007199254740992}', "wrong"),
        ({"b": [1], "a": {}}, '{"a": {}, "b": [1]}', "exact"),
        (None, "", "exact"),
        (None, '{"city": "Lis', "wrong"),
    ],
)
def test_arguments_compare_as_typed_values(seen: object, true: str, verdict: str) -> None:
    """1 is 1.0, yet neither true nor "1"; key order is nothing; big integers compare exactly; broken JSON is no {}."""
    output = line(requests=[{"name": "weather", "arguments": seen, "arguments_raw": None}])

    assert judge(output, truth(llm_emitted_calls=[CALL | {"arguments_raw": true}]))["requests"] == verdict


def test_unparsable_arguments_must_be_kept_as_text() -> None:
    """What the model wrote and nobody can parse is a request all the same."""
    raw = '{"city": "Lis'
    output = line(requests=[{"name": "weather", "arguments": None, "arguments_raw": raw}])

    assert judge(output, truth(llm_emitted_calls=[CALL | {"arguments_raw": raw}]))["requests"] == "exact"


def test_a_dispatch_that_did_not_run_is_none() -> None:
    """`executed: no` says that the tool's body never ran."""
    blocked = DISPATCH | {"executed": "no"}

    assert judge(line(dispatches=[blocked]), truth(dispatched=[]))["dispatches"] == "exact"


@pytest.mark.parametrize(
    "doubt",
    [{"dispatches": [DISPATCH | {"executed": "unknown", "name": "x"}]}, {"divergences": [{"boundary": "execution"}]}],
)
def test_a_doubted_dispatch_is_flagged(doubt: dict[str, Any]) -> None:
    """An unknown execution, or a divergence at the execution boundary, is not silent."""
    assert judge(line(**({"dispatches": []} | doubt)), truth())["dispatches"] == "flagged"


def test_an_alias_may_be_a_tool_of_its_own() -> None:
    """In scenario 06 some stacks run the alias as a tool that calls the real one: that is one dispatch."""
    ran = [RAN | {"name": "cancel_subscription", "args": {}}]
    seen = [DISPATCH | {"name": name, "arguments": {}} for name in ("cancel_sub", "cancel_subscription")]

    verdicts = judge(line(dispatches=seen), truth(scenario="06_runtime_alias", dispatched=ran))

    assert verdicts["dispatches"] == "exact"


@pytest.mark.parametrize("name", ["weather", "Weather", "tools-weather", "server.weather", "ns__weather", "wea_ther"])
def test_a_framework_may_prefix_a_name(name: str) -> None:
    """plugin-tool and server.tool are the tool."""
    assert same_name(name, "weather")


def test_another_name_is_another_tool() -> None:
    """A prefix needs a separator."""
    assert not same_name("new_weather", "weather")
    assert not same_name(None, "weather")


def test_documents_compare_in_rank_order() -> None:
    """By id where all have one, by text otherwise; a changed order is another result."""
    two = [DOCUMENT, {"id": "d2", "content": "Snow falls.", "score": 0.4}]
    recorded = truth(retrieved=[{"documents": two}])
    nameless = [{"id": None, "content": document["content"]} for document in two]

    assert judge(line(retrievals=[{"documents": nameless}]), recorded)["retrievals"] == "exact"
    assert judge(line(retrievals=[{"documents": two[::-1]}]), recorded)["retrievals"] == "wrong"


def test_a_retriever_that_is_a_tool_has_no_facet_of_its_own() -> None:
    """Whether such a call is a retrieval too is a matter of naming."""
    assert "retrievals" not in judge(line(retrievals=[]), truth(retriever="tool"))
    assert "retrievals" not in judge(line(retrievals=[]), truth(retrieved=[]))


def test_a_refusal_must_be_told_where_there_is_one_and_nowhere_else() -> None:
    """Scenario 09 is a refusal; calling another answer one is as wrong as missing it."""
    refusing = line(responses=[RESPONSE | {"refusal": True}])

    assert judge(refusing, truth(scenario="09a_refusal_text"))["responses"] == "exact"
    assert judge(line(), truth(scenario="09a_refusal_text"))["responses"] == "wrong"
    assert judge(refusing, truth())["responses"] == "wrong"


@pytest.mark.parametrize(
    ("dispatched", "expected"),
    [
        ([RAN], False),
        ([], True),
        ([RAN, RAN], True),
        ([RAN | {"args": {"city": "Porto"}}], True),
        ([RAN | {"name": "climate", "via": "weather"}], True),
        ([RAN | {"name": "weather", "via": "tools-weather"}], False),
    ],
)
def test_a_divergence_is_any_difference_between_asked_and_ran(dispatched: list[dict[str, Any]], expected: bool) -> None:
    """Not run, run twice, rewritten, or resolved from an alias."""
    assert diverged(truth(dispatched=dispatched)) is expected


@pytest.mark.parametrize(
    ("changes", "dispatched", "verdict"),
    [
        ({"divergences": [{"boundary": "dispatch"}]}, [], "hit"),
        ({}, [], "missed"),
        ({"evidence": {"requests": "absent"}}, [], "open"),
        ({"evidence": {"dispatches": "absent"}}, [], "open"),
        ({"divergences": [{"boundary": "dispatch"}]}, [RAN], "false"),
        ({"divergences": [{"boundary": "artifact"}]}, [RAN], "quiet"),
    ],
)
def test_a_report_is_held_against_the_truth(
    changes: dict[str, Any], dispatched: list[dict[str, Any]], verdict: str
) -> None:
    """Without complete evidence no verdict is expected; the artifact boundary is another matter."""
    assert judge(line(**changes), truth(dispatched=dispatched))["divergence"] == verdict


def test_records_of_all_traces_count() -> None:
    """A capture may hold several traces."""
    first, second = line(requests=[])["traces"][0], {"requests": [REQUEST]}

    assert judge({"traces": [first, second]}, truth())["requests"] == "exact"
