"""Each signal reads what it says, and nothing where the trace can't tell."""

import math
from typing import Any

import pytest
from lanewatch.adapters.records import Document, Evidence, Executed, Outcome, Retrieval, Usage
from lanewatch.monitors.divergence import Boundary, Divergence, Kind
from lanewatch.monitors.drift.facts import Verdict, facts
from lanewatch.monitors.drift.signals import BY_NAME, SIGNALS
from lanewatch.monitors.drift.signals import Kind as SignalKind

from tests.monitors.records import (
    abstention,
    answer,
    dispatch,
    failure,
    generation,
    record,
    request,
    retrieval,
    undetermined,
)

REFUND = Divergence(Boundary.DISPATCH, Kind.NAME, "refund", "call_1", None, "a", "b", None, "agent runtime")


def found(*scores: float | None, kind: str = "similarity") -> Retrieval:
    """A retrieval of documents with these scores."""
    documents = tuple(Document(k, f"d{k}", "text", score, kind) for k, score in enumerate(scores))
    return Retrieval("a question", documents, "kb", "cc" * 8, 0, 1)


def human(*texts: str) -> tuple[dict[str, Any], ...]:
    """Messages of a person."""
    return tuple({"type": "human", "content": text} for text in texts)


CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("query_length", {"messages": human("first", "second?")}, 7),
    ("query_length", {}, None),
    ("query_length", {"retrievals": (found(0.5),)}, 10),
    ("response_length", {"responses": (answer("Done."),)}, 5),
    ("response_length", {"responses": (answer("Do"),), "evidence": {"responses": Evidence.TRUNCATED}}, None),
    ("latency", {"start_ns": 0, "end_ns": 2_500_000_000}, 2.5),
    ("latency", {"start_ns": 5, "end_ns": 0}, None),
    ("tokens_input", {"generations": (generation(usage=Usage(10, 2)), generation(usage=Usage(5, 1)))}, 15),
    ("tokens_output", {"generations": (generation(usage=Usage(10, 2)), generation())}, None),
    ("contexts", {"retrievals": (retrieval("a", "b"), retrieval("c"))}, 3),
    ("contexts", {}, None),
    ("contexts", {"retrievals": (retrieval(),)}, 0),
    ("retrieval_score_top1", {"retrievals": (found(0.2, 0.9),)}, 0.9),
    ("retrieval_score_top1", {"retrievals": (found(0.2, 0.9, kind="distance"),)}, 0.2),
    ("retrieval_score_top1", {"retrievals": (found(None, None),)}, None),
    ("retrieval_score_mean", {"retrievals": (found(0.2, 0.4, None),)}, pytest.approx(0.3)),
    ("retrieval_score_mean", {"retrievals": (found(0.9), found(0.2, kind="distance"))}, None),
    ("retrieval_score_top1", {"retrievals": (found(0.9), found(0.2, kind="distance"))}, None),
    ("retrieval_score_top1", {"retrievals": (found(None), found(0.2, 0.1, kind="distance"))}, 0.1),
    ("empty_retrieval", {"retrievals": (retrieval("a"), retrieval())}, True),
    ("empty_retrieval", {}, None),
    ("tool", {"requests": (request("search"), request("refund"))}, ("search", "refund")),
    ("tool", {"requests": (request("search"),), "evidence": {"requests": Evidence.PARTIAL}}, None),
    ("tool", {}, None),
    ("refusal", {"responses": (answer("No.", refusal=True),)}, True),
    ("refusal", {"responses": (answer("Yes."),)}, False),
    ("refusal", {"responses": (answer("?"),), "evidence": {"responses": Evidence.REDACTED}}, None),
    ("refusal", {"responses": ()}, None),
    ("refusal", {"responses": (undetermined(),)}, False),  # counted over all answers seen: none was told here
    ("abstention", {"responses": (abstention(),), "retrievals": (found(0.5),)}, True),
    ("abstention", {"retrievals": (found(0.5),)}, False),
    ("abstention", {}, None),
    ("schema_violation", {"requests": (request(outcome=Outcome.INVALID),)}, True),
    ("schema_violation", {"requests": (request(),)}, False),
    ("schema_violation", {}, None),
    ("tool_error", {"dispatches": (dispatch(error=failure()),)}, True),
    ("tool_error", {"dispatches": (dispatch(error=failure(), executed=Executed.NO),)}, None),
    ("tool_error", {"dispatches": (dispatch(),)}, False),
    ("divergence", {"requests": (request(),), "dispatches": (dispatch(),)}, False),
    ("divergence", {"requests": (request(),), "evidence": {"dispatches": Evidence.PARTIAL}}, None),
    ("divergence", {}, None),
    ("incomplete_requests", {}, False),
    ("incomplete_requests", {"evidence": {"requests": Evidence.REDACTED}}, True),
    ("incomplete_responses", {"evidence": {"responses": Evidence.ABSENT}}, True),
    ("incomplete_retrievals", {}, None),
    ("incomplete_dispatches", {"evidence": {"dispatches": Evidence.ABSENT}}, None),
    ("incomplete_dispatches", {"requests": (request(),), "evidence": {"dispatches": Evidence.ABSENT}}, True),
    ("incomplete_responses", {"generations": (), "evidence": {"responses": Evidence.ABSENT}}, None),
]


@pytest.mark.parametrize(
    ("signal", "fields", "value"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_signal_reads_what_it_says(signal: str, fields: dict[str, Any], value: Any) -> None:
    """None where the trace can't tell: never 0, never a pass."""
    assert BY_NAME[signal].read(facts(record(**fields))) == value


def test_arguments_that_are_no_object_break_the_schema() -> None:
    """Text in place of an object."""
    broken = request(arguments_raw="{", outcome=Outcome.UNKNOWN)

    assert BY_NAME["schema_violation"].read(facts(record(requests=(request_without_arguments(broken),)))) is True
    assert BY_NAME["schema_violation"].read(facts(record(), violation=True)) is True


def request_without_arguments(made: Any) -> Any:
    """The builder gives an object by default."""
    import msgspec  # noqa: PLC0415

    return msgspec.structs.replace(made, arguments=None)


def test_a_finer_judge_of_refusals_is_believed() -> None:
    """Three values come from elsewhere; what is undetermined there is no observation here."""
    seen = facts(record(retrievals=(found(0.5),)), verdict=Verdict.ABSTAINED)

    assert BY_NAME["abstention"].read(seen) is True
    assert BY_NAME["refusal"].read(seen) is False


def test_a_score_that_is_no_number_is_an_observation_of_its_own() -> None:
    """NaN goes on as NaN, to the bin `nan`."""
    assert math.isnan(BY_NAME["retrieval_score_top1"].read(facts(record(retrievals=(found(math.nan, 0.5),)))))


def test_divergences_are_given_from_outside() -> None:
    """The signal counts what the divergence monitor found."""
    seen = facts(record(requests=(request(),), dispatches=(dispatch(),)), (REFUND,))

    assert BY_NAME["divergence"].read(seen) is True


def test_every_signal_has_a_lane_a_meaning_and_a_name_of_its_own() -> None:
    """Rows that a person can read; rate signals fit the sessions' table."""
    assert len(BY_NAME) == len(SIGNALS)
    assert all(signal.meaning.endswith(".") for signal in SIGNALS)
    assert sum(signal.kind is SignalKind.EVENT for signal in SIGNALS) <= 16
    assert {"retrieval", "generation", "tools", "outcome"} == {signal.lane for signal in SIGNALS}


def test_no_signal_is_disturbed_by_an_empty_trace() -> None:
    """A trace of nothing gives no observation but its latency."""
    empty = facts(record(generations=(), responses=()))
    read = {s.name: s.read(empty) for s in SIGNALS if s.kind not in {SignalKind.TEXT, SignalKind.VECTOR}}

    assert {name for name, value in read.items() if value is not None} == {"latency"}
