"""`lanewatch adapters test` with the real Ragas: every known fault of its converters shows, and ours has none."""

import gzip
import subprocess
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from lanewatch.adapters.producer_process import ProducerLimits, ProducerProcess
from lanewatch.config_keys import Config
from lanewatch.conformance import HAND_MADE, RECORDINGS, Ending, Finding, conformance
from lanewatch.junit import write_junit

from tests.corpus.build_conformance import SHAPES, STACKS, archive

pytest.importorskip("ragas")

LANGGRAPH, LEGACY = "ragas.langgraph", "ragas.langgraph-legacy"
LLAMA, SWARM, BEDROCK = "ragas.llama_index", "ragas.swarm", "ragas.amazon_bedrock"
AG_UI, SNAPSHOT = "ragas.ag_ui", "ragas.ag_ui-snapshot"


@cache
def findings(name: str) -> tuple[Finding, ...]:
    """Everything that is found of one producer."""
    if name == "lanewatch":
        return tuple(conformance(name, None, Config()))
    for module in {LLAMA: ["llama_index.core"], AG_UI: ["ag_ui"], SNAPSHOT: ["ag_ui"]}.get(name, []):
        pytest.importorskip(module)
    producer = ProducerProcess(name, ProducerLimits(call_seconds=30))
    try:
        producer.start()
        return tuple(conformance(name, producer, Config()))
    finally:
        producer.close()


def hand_made(name: str, shape: str) -> str:
    """How a producer did on a hand-made shape, in words."""
    (found,) = [one for one in findings(name) if (one.convention, one.shape) == (HAND_MADE, shape)]
    return f"{found.ending}: {'; '.join(found.details)}" if found.details else str(found.ending)


def test_our_own_artifact_loses_and_invents_nothing() -> None:
    """On every recording that shows enough to tell, of every convention."""
    found = findings("lanewatch")

    assert {one.ending for one in found} <= {Ending.TRUE, Ending.INCOMPLETE}
    assert sum(one.ending is Ending.TRUE for one in found) > 75
    assert {one.convention for one in found} == set(STACKS)


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
    # #2813: hand-written histories have no `tool_calls` key; system messages are refused.
    (SWARM, "one call", "true"),
    (SWARM, "an answer written by hand", "failed: KeyError at swarm.py"),
    (SWARM, "a system message", "failed: ValueError at swarm.py"),
    (SWARM, "list content", "failed: ValidationError"),
    (SWARM, "empty arguments", "failed: JSONDecodeError"),
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
    # Calls wait for the next text or result, and are merged into the last message.
    (AG_UI, "parallel calls", "true"),
    (AG_UI, "two rounds", "untrue: calls of two answers of the model stand in one message"),
    (AG_UI, "ends in a call", "untrue: loses weather"),
    (AG_UI, "a result without its call", "untrue: invents unknown_tool"),
    (AG_UI, "cut JSON", "untrue: tells other arguments of weather"),
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
    assert not [one for one in findings(LEGACY) if one.ending is Ending.UNTRUE]


def test_the_shipped_recordings_are_those_of_the_corpus() -> None:
    """`python tests/corpus/build_conformance.py` writes them anew."""
    shipped = gzip.decompress((files("lanewatch") / RECORDINGS).read_bytes())

    assert shipped == archive()
    assert len(SHAPES) >= 10


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


def ran(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """A run of `lanewatch`."""
    command = [sys.executable, "-m", "lanewatch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_prints_a_table_writes_junit_and_ends_with_a_status(tmp_path: Path) -> None:
    """0 where everything is told truly, 1 where not, 2 where there is no such producer."""
    own = ran("adapters", "test", "lanewatch", "--junit", str(tmp_path / "own.xml"))
    swarm = ran("adapters", "test", SWARM)
    unknown = ran("adapters", "test", "nobody")

    assert own.returncode == 0, own.stderr
    assert "parallel calls" in own.stdout
    assert ET.parse(tmp_path / "own.xml").getroot().get("failures") == "0"
    assert swarm.returncode == 1
    assert "KeyError" in swarm.stdout
    assert unknown.returncode == 2
    assert "ragas.langgraph" in unknown.stderr
    assert "ragas.swarm" in ran("adapters", "list").stdout
