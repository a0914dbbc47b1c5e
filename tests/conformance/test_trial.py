"""`lanewatch adapters test` with the real Ragas: every known fault of its converters shows, and ours has none."""

import contextlib
import gzip
import json
import warnings
from collections import Counter
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.producer_process import (
    BREAK_AFTER,
    ProducerLimits,
    ProducerProcess,
    ProducerTimedOut,
    ProducerUnavailable,
)
from lanewatch.adapters.producer_worker import answered, load_answer
from lanewatch.adapters.records import TraceRecord
from lanewatch.cli.main import app
from lanewatch.config.keys import Config
from lanewatch.conformance.command import LIMITS, ragas_metrics, trial_summary
from lanewatch.conformance.shapes import SHAPES
from lanewatch.conformance.trial import (
    HAND_MADE,
    OUT_OF_TIME,
    RECORDINGS,
    Ending,
    Finding,
    OwnProducer,
    Recording,
    conformance,
    recordings,
)
from lanewatch.junit import write_junit
from lanewatch.monitors.reference_calls import Agreement, RagasToolScores
from typer.testing import CliRunner

from tests.corpus.build_conformance import SHAPES as RECORDED_SHAPES
from tests.corpus.build_conformance import STACKS, archive

pytest.importorskip("ragas")

LANGGRAPH, LEGACY = "ragas.langgraph", "ragas.langgraph-legacy"
LLAMA, SWARM, BEDROCK = "ragas.llama_index", "ragas.swarm", "ragas.amazon_bedrock"
AG_UI, SNAPSHOT = "ragas.ag_ui", "ragas.ag_ui-snapshot"


class Inside(ProducerProcess):
    """A producer that answers in this process, which has imported ragas once for all of them; through JSON all the same."""

    def __init__(self, name: str) -> None:
        super().__init__(name, ProducerLimits())
        self._answer = load_answer(name)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Its answer, or what it raised."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in its own process, where warnings go nowhere
            found: dict[str, Any] = json.loads(json.dumps(answered(self._answer, json.loads(json.dumps(question)))))
        return found


@cache
def recorded() -> tuple[Recording, ...]:
    """The bundled recordings, read once."""
    return tuple(recordings(Config()))


@cache
def findings(name: str) -> tuple[Finding, ...]:
    """Everything that is found of one producer."""
    if name == "lanewatch":
        return tuple(conformance(name, OwnProducer(Config()), recorded()))
    for module in {LLAMA: ["llama_index.core"], AG_UI: ["ag_ui"], SNAPSHOT: ["ag_ui"]}.get(name, []):
        pytest.importorskip(module)
    return tuple(conformance(name, Inside(name), recorded()))


def hand_made(name: str, shape: str) -> str:
    """How a producer did on a hand-made shape, in words."""
    (found,) = [one for one in findings(name) if (one.convention, one.shape) == (HAND_MADE, shape)]
    return f"{found.ending}: {'; '.join(found.details)}" if found.details else str(found.ending)


def test_our_own_artifact_loses_and_invents_nothing() -> None:
    """On every recording that shows enough to tell, of every convention, and on every hand-made shape."""
    found = findings("lanewatch")

    assert {one.ending for one in found} <= {Ending.TRUE, Ending.INCOMPLETE}
    assert sum(one.ending is Ending.TRUE for one in found) > 75
    assert {one.convention for one in found} == {*STACKS, HAND_MADE}
    assert [(one.shape, one.ending) for one in found if one.convention == HAND_MADE] == [
        (shape.name, Ending.TRUE) for shape in SHAPES
    ]


# Each row is a fault that users have reported or that reading Ragas' source shows, and how it shows here.
KNOWN = (
    # #2602: it reads the provider's raw calls, which current LangChain no longer keeps.
    (LANGGRAPH, "one call", "untrue: loses weather"),
    (LANGGRAPH, "parallel calls", "untrue: loses weather; loses uv"),
    # Anthropic's and OpenAI's Responses models answer in blocks.
    (LANGGRAPH, "list content", "failed: TypeError at langgraph.py"),
    (LANGGRAPH, "list content of a result", "failed: TypeError at langgraph.py"),
    (LEGACY, "one call", "true"),
    # A tool without arguments, and a model that was cut off, end the whole conversion.
    (LEGACY, "empty arguments", "failed: JSONDecodeError"),
    (LEGACY, "null arguments", "failed: ValidationError"),
    (LEGACY, "cut JSON", "failed: JSONDecodeError"),
    # Middleware or a person edited the call: it reads the raw one, and tells what was never run.
    (LANGGRAPH, "a call edited before it ran", "untrue: tells other arguments of weather at $.city"),
    (LEGACY, "a call edited before it ran", "untrue: tells other arguments of weather at $.city"),
    # Raw calls under the key of before there were tools; and message types are looked up exactly.
    (LEGACY, "a legacy function call", "untrue: loses weather"),
    (LEGACY, "a legacy function result", "failed: ValueError at langgraph.py"),
    (LANGGRAPH, "streamed calls", "untrue: loses weather; loses uv"),
    (LANGGRAPH, "streamed text", "true"),
    (LEGACY, "a streamed result", "failed: ValueError at langgraph.py"),
    # Messages are not told apart by their ids.
    (LEGACY, "multi-turn", "true"),
    (LEGACY, "history told again", "untrue: doubles weather; invents a person's message; invents an answer"),
    # #2813: hand-written histories have no `tool_calls` key; system messages are refused.
    (SWARM, "one call", "true"),
    (SWARM, "an answer written by hand", "failed: KeyError at swarm.py"),
    (SWARM, "a system message", "failed: ValueError at swarm.py"),
    (SWARM, "list content", "failed: ValidationError"),
    (SWARM, "empty arguments", "failed: JSONDecodeError"),
    (SWARM, "a result without content", "failed: ValidationError"),
    # It knows no calls at all; results become a person's messages, and questions are lost.
    (BEDROCK, "one call", "untrue: loses weather; loses a person's message; invents a person's message"),
    (BEDROCK, "results in one message", "untrue: loses weather; loses uv"),
    # Calls are told apart by their id over the whole conversation.
    (LLAMA, "one call", "true"),
    (LLAMA, "ids used again", "untrue: loses uv"),
    (LLAMA, "no ids", "untrue: loses uv"),
    (LLAMA, "a question right behind a result", "untrue: loses a person's message"),
    (LLAMA, "the result is the answer", "untrue: loses the result of weather; invents an answer"),
    (LLAMA, "cut JSON", "untrue: tells other arguments of weather"),
    # It reads input[-1] of every AgentInput, and takes each for something newly said.
    (LLAMA, "an answer before any question", "failed: IndexError at llama_index.py"),
    (LLAMA, "history told again", "untrue: invents a person's message"),
    # Calls wait for the next text or result, and are merged into the last message.
    (AG_UI, "parallel calls", "true"),
    (AG_UI, "two rounds", "untrue: calls of two answers of the model stand in one message"),
    (AG_UI, "ends in a call", "untrue: loses weather"),
    (AG_UI, "a result without its call", "untrue: invents unknown_tool"),
    (AG_UI, "cut JSON", "untrue: tells other arguments of weather"),
    # Each chunk is taken for a whole message, and for a whole call; a snapshot comes on top of what was streamed.
    (AG_UI, "streamed calls", "untrue: tells other arguments of weather at $.city; tells other arguments of uv"),
    (AG_UI, "streamed text", "untrue: loses an answer; invents an answer 2 times"),
    (AG_UI, "history told again", "untrue: invents unknown_tool; invents a person's message; invents an answer"),
    # It reads `tc.name`, where AG-UI has `tc.function.name`; no content becomes the text "None".
    (SNAPSHOT, "one call", "untrue: loses weather; invents unknown_tool; invents an answer"),
)


@pytest.mark.parametrize(("producer", "shape", "expected"), KNOWN)
def test_a_known_fault_of_ragas_shows_and_what_works_is_left_alone(producer: str, shape: str, expected: str) -> None:
    """An upgrade of Ragas that mends one of these is to be noticed."""
    assert hand_made(producer, shape).startswith(expected)


def test_results_out_of_order_show_on_a_recording() -> None:
    """LlamaIndex's events come as tools end; without ids each result is read as the other call's."""
    (found,) = [
        one for one in findings(LLAMA) if (one.convention, one.shape) == ("openinference", "results out of order")
    ]

    assert found.details == ("tells another result of weather_lookup", "tells another result of uv_lookup")


def test_a_converter_that_is_right_is_never_blamed() -> None:
    """With the provider's raw calls at hand and text for content, Ragas' converter loses nothing on any recording."""
    assert not [one for one in findings(LEGACY) if one.ending is Ending.UNTRUE and one.convention != HAND_MADE]


def test_the_shipped_recordings_are_those_of_the_corpus() -> None:
    """`python tests/corpus/build_conformance.py` writes them anew."""
    shipped = gzip.decompress((files("lanewatch.conformance") / RECORDINGS).read_bytes())

    assert shipped == archive()
    assert len(RECORDED_SHAPES) >= 10


ENDS = """
import os

def ends(messages, record):
    os._exit(3)
"""


def test_a_producer_that_ends_its_process_is_started_anew_for_every_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial is no live traffic, where one that keeps failing is left alone for a while."""
    (tmp_path / "ending_adapter.py").write_text(ENDS)
    info = tmp_path / "ending_adapter-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ending-adapter\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[lanewatch.artifact_producers]\nends = ending_adapter:ends\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with contextlib.closing(ProducerProcess("ends", LIMITS)) as producer:
        found = list(islice(conformance("ends", producer, ()), BREAK_AFTER + 2))

    assert [(one.ending, one.details) for one in found] == [(Ending.FAILED, ("its process ended",))] * (BREAK_AFTER + 2)


class Unstartable:
    """A producer whose process can be started for a few traces, and then no more."""

    def __init__(self, traces: int) -> None:
        self.left = traces

    def artifact(self, _record: TraceRecord) -> Artifact:
        """Never asked here."""
        raise AssertionError

    def produce(self, _chat: tuple[dict[str, Any], ...], _record: dict[str, Any]) -> Artifact:
        """No artifact, one way or the other."""
        self.left -= 1
        if self.left < 0:
            raise ProducerUnavailable("can't be started: out of processes")
        raise ProducerTimedOut("no answer within 5 s")


@pytest.mark.parametrize(
    ("traces", "seconds", "reason"), [(2, 99, "can't be started: out of processes"), (99, 2, OUT_OF_TIME)]
)
def test_what_was_not_tried_is_said_as_such_and_is_no_failure(
    traces: int, seconds: int, reason: str, tmp_path: Path
) -> None:
    """In the findings, the summary and JUnit: nothing is known of it."""
    clock = iter(range(1_000))
    found = list(conformance("p", Unstartable(traces), (), in_time=lambda: next(clock) < seconds))
    write_junit(tmp_path / "junit.xml", "p", found)
    suite = ET.parse(tmp_path / "junit.xml").getroot()
    rest = len(SHAPES) - 2

    assert Counter(one.ending for one in found) == {Ending.FAILED: 2, Ending.NOT_TRIED: rest}
    assert found[-1].details == (reason,)
    assert (suite.get("errors"), suite.get("skipped")) == ("2", str(rest))
    assert [one.get("message") for one in suite.iter("skipped")] == [f"not tried: {reason}"] * rest
    assert f"0 of 2 traces told truly, 0 not, 2 failed; {rest} more were not tried" in str(trial_summary(found))


def test_findings_as_junit(tmp_path: Path) -> None:
    """Counts and cases as CI systems read them; every case has a name of its own."""
    found = [
        Finding("c", "one", Ending.TRUE),
        Finding("c", "one", Ending.UNTRUE, ("loses <f> & \x00g",)),
        Finding("c", "two", Ending.FAILED, ("TypeError",)),
        Finding("c", "three", Ending.INCOMPLETE, ("requests_partial",)),
    ]
    write_junit(tmp_path / "junit.xml", "p", found)
    suite = ET.parse(tmp_path / "junit.xml").getroot()
    cases = list(suite)

    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    assert [case.get("name") for case in cases] == ["one", "one (2)", "two", "three"]
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["error"], ["skipped"]]


def test_ragas_metrics_are_asked_with_what_ran_as_the_reference() -> None:
    """For each artifact that tells other calls, and for no other: starting ragas takes seconds."""
    asked: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    def score(told: Artifact, ran: tuple[dict[str, Any], ...]) -> RagasToolScores:
        calls = [call["name"] for message in told.messages for call in message.get("tool_calls") or ()]
        asked.append((tuple(calls), tuple(call["name"] for call in ran)))
        return RagasToolScores(Agreement.AGREE)

    found = list(conformance(LANGGRAPH, Inside(LANGGRAPH), (), score))
    scored = {one.shape: one for one in found if one.scores is not None}

    assert len(asked) == len(scored) > 10
    assert ((), ("weather", "uv")) in asked
    assert all(one.calls_differ and one.ending is Ending.UNTRUE for one in scored.values())
    assert "list content" not in scored  # it raises there: there is no artifact


def test_the_command_prints_a_table_writes_junit_and_ends_with_a_status(tmp_path: Path) -> None:
    """0 where everything is told truly, 1 where not, 2 where there is no such producer."""
    command = CliRunner(env={"TERM": "dumb", "COLUMNS": "200"})
    own = command.invoke(app, ["adapters", "test", "lanewatch", "--junit", str(tmp_path / "own.xml")])
    swarm = command.invoke(app, ["adapters", "test", SWARM])
    unknown = command.invoke(app, ["adapters", "test", "nobody"])

    assert own.exit_code == 0, own.stderr
    assert "parallel calls" in own.stdout
    assert ET.parse(tmp_path / "own.xml").getroot().get("failures") == "0"
    assert swarm.exit_code == 1
    assert "KeyError" in swarm.stdout
    assert "Ragas' tool metrics" not in own.stdout + swarm.stdout  # neither tells other calls than ran
    assert unknown.exit_code == 2
    assert "ragas.langgraph" in unknown.stderr
    assert "ragas.swarm" in command.invoke(app, ["adapters", "list"]).stdout


def test_what_ragas_metrics_make_of_wrong_artifacts_is_one_line() -> None:
    """How many of them each calls right, and on how many they disagree; or why there is nothing to tell."""
    scores = (RagasToolScores(Agreement.DISAGREE, 1, 0, 0), RagasToolScores(Agreement.AGREE, 0, 0, 0))
    found = [Finding("c", "s", Ending.UNTRUE, scores=one, calls_differ=True) for one in scores]
    missing = RagasToolScores(Agreement.UNSUPPORTED, reason="pip install it")

    assert str(ragas_metrics(found)).endswith(
        "of 2 artifacts with other calls than ran they call right: ToolCallF1 1, ToolCallAccuracy 0, "
        "ToolCallAccuracy in any order 0; they disagree on 1"
    )
    assert "unsupported: pip install it" in str(ragas_metrics([Finding("c", "s", Ending.UNTRUE, scores=missing)]))
