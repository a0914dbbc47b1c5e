"""Lanes: each judged from its own evidence, never blended."""

import pytest
from lanewatch.adapters.records import Disposition, DispositionSource, ErrorKind, Evidence, Outcome, Response, Retrieval
from lanewatch.monitors.divergence import find_divergences
from lanewatch.monitors.lanes import Lane, Status, Verdict, judge_lanes

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


def lanes(**fields: object) -> dict[Lane, Verdict]:
    """Verdicts of a record made of these fields."""
    made = record(**fields)
    return judge_lanes(made, find_divergences(made))


def test_a_faithful_turn_passes_and_its_outcome_stays_unproven() -> None:
    """A tool's "ok" is no proof of the durable state, so the outcome lane is unsupported, not passed."""
    verdicts = lanes(requests=(request(),), dispatches=(dispatch(),), retrievals=(retrieval("a policy"),))

    assert [verdicts[lane].status for lane in Lane] == [Status.PASS, Status.PASS, Status.PASS, Status.UNSUPPORTED]


def test_no_retrieval_is_not_applicable() -> None:
    """A workflow that retrieves nothing has no empty context invented for it."""
    assert lanes()[Lane.RETRIEVAL] == Verdict(Status.NOT_APPLICABLE, ("no_retrieval",))


def test_an_empty_retrieval_fails_its_lane_alone() -> None:
    """Nothing found is a fault of the retriever, and of nobody else."""
    verdicts = lanes(retrievals=(retrieval(),))

    assert verdicts[Lane.RETRIEVAL] == Verdict(Status.FAIL, ("empty_retrieval",))
    assert verdicts[Lane.GENERATION].status is Status.PASS


def test_a_dropped_call_fails_the_tools_lane_with_its_reason() -> None:
    """The reason tells a guard from a bug."""
    verdicts = lanes(requests=(request(outcome=Outcome.BLOCKED),))

    assert verdicts[Lane.TOOLS] == Verdict(Status.FAIL, ("not_dispatched:blocked",))


@pytest.mark.parametrize("kind", ["requests", "dispatches"])
def test_weak_evidence_makes_the_tools_lane_incomplete(kind: str) -> None:
    """What can't be seen is neither passed nor failed."""
    verdicts = lanes(requests=(request(),), dispatches=(dispatch(),), evidence={kind: Evidence.REDACTED})

    assert verdicts[Lane.TOOLS] == Verdict(Status.INCOMPLETE, (f"{kind}_redacted",))


def test_a_doubted_argument_makes_the_tools_lane_incomplete() -> None:
    """A result that contradicts the arguments casts doubt, and proves nothing."""
    verdicts = lanes(requests=(request(arguments={"amount": 100}),),
                     dispatches=(dispatch(arguments={"amount": 100}, result={"amount": 50}),))  # fmt: skip

    assert verdicts[Lane.TOOLS] == Verdict(Status.INCOMPLETE, ("echo",))


def test_an_error_that_a_retry_recovered_fails_nothing() -> None:
    """The later run of the same tool succeeded."""
    runs = (dispatch(error=failure(), result=None), dispatch(attempt=2))

    assert lanes(requests=(request(),), dispatches=runs)[Lane.OUTCOME].status is Status.UNSUPPORTED


def test_a_cancelled_run_is_no_failure_and_leaves_the_outcome_open() -> None:
    """The client went away; what the tool had done until then is not told. A later run, or a told state, is."""
    stopped = dispatch(error=failure(kind=ErrorKind.CANCELLED), result=None)
    asked = (request(),)

    assert lanes(requests=asked, dispatches=(stopped,))[Lane.OUTCOME] == Verdict(Status.INCOMPLETE, ("tool_cancelled",))
    again = lanes(requests=asked, dispatches=(stopped, dispatch(attempt=2)))[Lane.OUTCOME]
    assert again.status is Status.UNSUPPORTED


def test_an_error_that_nothing_recovered_fails_the_outcome() -> None:
    """Only that lane: the runtime did what the model asked for."""
    verdicts = lanes(requests=(request(),), dispatches=(dispatch(error=failure(), result=None),))

    assert verdicts[Lane.OUTCOME] == Verdict(Status.FAIL, ("tool_error",))
    assert verdicts[Lane.TOOLS].status is Status.PASS


def test_a_refusal_fails_the_outcome_and_not_the_generation() -> None:
    """The model answered as it was built to; the user did not get what was asked for."""
    verdicts = lanes(responses=(answer("I can't help with that.", refusal=True),))

    assert verdicts[Lane.OUTCOME] == Verdict(Status.FAIL, ("refusal",))
    assert verdicts[Lane.GENERATION].status is Status.PASS


def test_a_guard_that_stops_the_prompt_fails_the_outcome_without_a_generation() -> None:
    """No model was called, so there is nothing to judge of one."""
    stopped = Response(None, None, Disposition.REFUSED, DispositionSource.EXCEPTION)
    verdicts = lanes(generations=(), responses=(stopped,))

    assert verdicts[Lane.GENERATION] == Verdict(Status.NOT_APPLICABLE, ("no_model_call",))
    assert verdicts[Lane.OUTCOME] == Verdict(Status.FAIL, ("refusal",))


def test_an_undetermined_answer_never_passes_the_outcome() -> None:
    """Unknown is no pass, and no failure either."""
    verdicts = lanes(responses=(undetermined(),))

    assert verdicts[Lane.OUTCOME].status is Status.UNSUPPORTED


def test_an_abstention_is_a_reason_of_the_retrieval_lane_and_of_no_other() -> None:
    """Whether the documents lack it or the model overlooked it can't be told: neither a pass nor a failure."""
    verdicts = lanes(responses=(abstention(),), retrievals=(retrieval("a"),))

    assert verdicts[Lane.RETRIEVAL] == Verdict(Status.INCOMPLETE, ("abstention",))
    assert verdicts[Lane.GENERATION].status is Status.PASS
    assert verdicts[Lane.OUTCOME].status is Status.UNSUPPORTED


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ((), Verdict(Status.NOT_APPLICABLE, ("no_retrieval", "abstention"))),
        ((retrieval(),), Verdict(Status.FAIL, ("empty_retrieval", "abstention"))),
    ],
)
def test_an_abstention_is_named_beside_what_explains_it(found: tuple[Retrieval, ...], verdict: Verdict) -> None:
    """Nothing was looked for, or nothing was found."""
    assert lanes(responses=(abstention(),), retrievals=found)[Lane.RETRIEVAL] == verdict


def test_a_model_error_without_an_answer_fails_the_generation() -> None:
    """No answer came, and the span says why."""
    verdicts = lanes(generations=(generation(error=failure()),), responses=())

    assert verdicts[Lane.GENERATION] == Verdict(Status.FAIL, ("model_error",))
