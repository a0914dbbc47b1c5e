"""Artifacts with reference calls: each is compared once, whatever Ragas does, and nothing waits without a bound."""

import threading
from typing import Any

import pytest
from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.ragas_tool_metrics import RagasNotInstalled, RagasScores
from lanewatch.adapters.worker_process import WorkerFailed, WorkerLimits, WorkerTimedOut
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome
from lanewatch.monitors.exposition import Exposition
from lanewatch.monitors.readings import reference_readings
from lanewatch.monitors.reference_calls import Agreement, RagasToolScores, ReferenceCompared
from lanewatch.observation import Observation
from lanewatch.producing.reference_report import reference_lines
from lanewatch.producing.reference_scores import Referenced, ReferenceScorer
from lanewatch.producing.reference_thread import MAX_WAITING, ReferenceThread
from lanewatch.pushes.artifact_desk import ArtifactDesk, DeskLimits
from lanewatch.pushes.artifact_push import PushedArtifact, PushedCall, PushedMessage

from tests.monitors.records import record

CALL = {"name": "f", "args": {"x": 1}}
TOLD: tuple[dict[str, Any], ...] = ({"type": "ai", "content": "", "metadata": None, "tool_calls": [CALL]},)
GIVEN = Referenced(Artifact("mine", "me", TOLD), (CALL,), size=300)


class Metrics:
    """Ragas' metrics, which give or raise what they are told to."""

    def __init__(self, found: RagasScores | Exception) -> None:
        self.found = found

    def scores(self, _messages: Any, _reference: Any) -> RagasScores:
        """The answer."""
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def kill(self) -> None:
        """Nothing is running."""

    close = kill


def compared(found: RagasScores | Exception, given: Referenced = GIVEN) -> ReferenceCompared:
    """What comes of an artifact where Ragas answers so."""
    scorer = ReferenceScorer(WorkerLimits())
    scorer._metrics = Metrics(found)  # type: ignore[assignment]
    return scorer.compare(given)


@pytest.mark.parametrize(
    ("found", "agreement"),
    [
        (RagasScores(1, 1, 1), Agreement.AGREE),
        (RagasScores(0.5, 0, 0.5), Agreement.AGREE),
        (RagasScores(1, 0, 0), Agreement.DISAGREE),
        (RagasScores(1, 0, 1), Agreement.DISAGREE),
        (RagasScores(0, 1, 1), Agreement.DISAGREE),
        (RagasScores(None, 1, 1, "tool_call_f1: TypeError at x.py:1 in f"), Agreement.FAILED),
        (RagasScores(None, 1, 1), Agreement.FAILED),
        (RagasNotInstalled("pip install it"), Agreement.UNSUPPORTED),
        (WorkerTimedOut("no answer within 5 s"), Agreement.TIMED_OUT),
        (WorkerFailed("its process ended"), Agreement.FAILED),
    ],
)
def test_whatever_ragas_says_our_own_verdict_stands(found: RagasScores | Exception, agreement: Agreement) -> None:
    """And what it could not say is typed, never 0 and never an agreement."""
    one = compared(found)

    assert one.compared.verdict is ArtifactOutcome.EQUAL
    assert one.scores.agreement is agreement
    assert (one.scores.reason is None) is (agreement in (Agreement.AGREE, Agreement.DISAGREE))


def test_a_difference_from_a_reference_is_told_in_words_of_its_own() -> None:
    """Nothing ran here: a call is expected, or called."""
    reference = ({"name": "f", "args": {"x": 2}}, {"name": "g", "args": {}})
    lines = [
        str(line) for line in reference_lines(compared(RagasScores(1, 0, 1), Referenced(GIVEN.artifact, reference)))
    ]

    assert lines[0] == "reference calls (mine): 2 differences"
    assert "  arguments f: called with other arguments at $.x: expected 2, called 1" in lines
    assert "  missing g: expected, and not called: expected {}" in lines
    assert lines[-1].endswith("they disagree: only ToolCallF1 and ToolCallAccuracy in any order call it right")


class Stuck:
    """A scorer that answers only when it is let go, or killed."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()

    def scores(self, _given: Referenced) -> RagasToolScores:
        """Wait."""
        self.asked.set()
        assert self.go.wait(30)
        return RagasToolScores(Agreement.AGREE, 1, 1, 1)

    def kill(self) -> None:
        """Let go of whoever waits."""
        self.go.set()

    def close(self) -> None:
        """Nothing is left to end."""


def started(max_bytes: int) -> tuple[Stuck, ReferenceThread, list[Agreement]]:
    """A thread with a stuck scorer, and what it delivers."""
    delivered: list[Agreement] = []
    stuck: Any = Stuck()
    return (
        stuck,
        ReferenceThread(stuck, lambda _, found: delivered.append(found.agreement), max_bytes=max_bytes),
        delivered,
    )


def test_what_is_beyond_the_bytes_is_skipped_at_once_and_what_waits_at_the_end() -> None:
    """Each artifact has exactly one outcome."""
    stuck, thread, delivered = started(max_bytes=700)
    offered = [thread.offer(GIVEN) for _ in range(5)]
    assert stuck.asked.wait(30)
    thread.stop(0.05)
    refused = [one.agreement for one in offered if one is not None]

    assert refused == [Agreement.SKIPPED] * 3
    assert delivered == [Agreement.AGREE, Agreement.SKIPPED]
    assert thread.offer(GIVEN) is not None


def test_no_more_than_a_number_waits() -> None:
    """However small each is."""
    stuck, thread, delivered = started(max_bytes=2**30)
    assert thread.offer(GIVEN) is None
    assert stuck.asked.wait(30)
    offered = [thread.offer(GIVEN) for _ in range(MAX_WAITING + 3)]
    thread.stop(0.05)

    assert sum(one is not None for one in offered) == 3
    assert len(delivered) == MAX_WAITING + 1


SIZE = 10_000  # bytes of a body; its values take less memory


def pushed(**fields: Any) -> PushedArtifact:
    """A push with reference calls."""
    messages = (PushedMessage("ai", "", None, (PushedCall("f", {"x": 1}),)),)
    return PushedArtifact("mine", messages, reference_tool_calls=(PushedCall("f", {"x": 1}),), **fields)


def seen() -> Observation:
    """A trace."""
    return Observation(record(), (), {})


def test_an_artifact_is_referred_once_however_it_meets_its_trace() -> None:
    """Before it, after it, again after a late span, or never."""
    referred: list[Referenced] = []
    desk = ArtifactDesk(DeskLimits(waiting_artifacts=1), lambda: 0.0, referenced=referred.append)
    trace_id = seen().record.trace_id
    desk.pushed(pushed(trace_id=trace_id), SIZE)
    assert referred == []
    desk.seen(seen(), 10)
    desk.seen(seen(), 10)
    desk.pushed(pushed(trace_id=trace_id), SIZE)
    desk.pushed(pushed(trace_id="f" * 32), SIZE)
    desk.close()

    assert [one.trace_id for one in referred] == [trace_id, trace_id, None]
    assert all(one.reference == (CALL,) and one.size == SIZE for one in referred)


def test_all_outcomes_of_a_service_and_producer_are_there_from_the_first() -> None:
    """As 0: an alert on a rise from nothing needs the nothing. Both metrics open together."""
    exposition = Exposition(max_services=5, max_tools=5)
    exposition.add(reference_readings("svc", "mine", ArtifactOutcome.EQUAL))
    text = exposition.text(openmetrics=False).decode()

    name = "lanewatch_ragas_tool_metrics_total"
    assert all(f'{name}{{agreement="{one}",producer="mine",service="svc"}} 0.0' in text for one in Agreement)
    assert 'lanewatch_reference_tool_calls_total{outcome="equal",producer="mine",service="svc"} 1.0' in text
    assert 'lanewatch_reference_tool_calls_total{outcome="divergent",producer="mine",service="svc"} 0.0' in text
