"""The readable report: three views side by side, and a mark that never claims more than was compared."""

from io import StringIO
from pathlib import Path

import pytest
from lanewatch.config.keys import Config
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared
from lanewatch.observation import with_artifacts
from lanewatch.replaying.playback import replay
from lanewatch.replaying.report import print_report, trace_report
from rich.console import Console

CORPUS = Path(__file__).parents[1] / "corpus"


def report(capture: str, width: int = 200) -> str:
    """The report of a capture, as a terminal of this width shows it."""
    console = Console(width=width, record=True, highlight=False, file=StringIO())
    print_report(replay(CORPUS / capture, Config()), console)
    return console.export_text()


def marks(text: str) -> list[str]:
    """The marks of the rows of calls, in order."""
    return [line.split()[0] for line in text.splitlines() if line.split()[:1] and line.split()[0] in ("==", "!=", "??")]


@pytest.mark.parametrize(
    ("capture", "expected"),
    [
        ("openai_oi/03_parallel", ["==", "=="]),
        ("langchain_oi/07_runtime_rewrite", ["!="]),
        ("openai_agents_oi/07_runtime_rewrite", ["??"]),
        ("openai-v2-latest/17_crash", ["??"]),
        ("llamaindex_oi/06_runtime_alias", ["!=", "!="]),  # the run that was asked for, and another tool's inside it
    ],
)
def test_a_row_is_marked_same_only_where_it_was_compared(capture: str, expected: list[str]) -> None:
    """A difference is `!=`; what can't be compared, or is doubted by its result, is `??`."""
    assert marks(report(capture)) == expected


def test_hidden_content_is_never_marked_same() -> None:
    """With content capture off there is nothing that could be equal."""
    assert "==" not in marks(report("openai_oi/15_no_content"))


def test_the_evaluator_is_told_the_arguments_too() -> None:
    """The third view is as whole as the other two: here it is told of 100 where 50 ran."""
    row = next(line for line in report("langchain_oi/07_runtime_rewrite").splitlines() if "!=" in line)

    assert [row.count(f'"amount": {amount}') for amount in (100.0, 50.0)] == [2, 1]


def test_an_echo_shows_both_values() -> None:
    """What the span says and what the result says."""
    assert "the span says 100.0, the result 50.0" in " ".join(report("openai_agents_oi/07_runtime_rewrite").split())


@pytest.mark.parametrize(
    ("capture", "told"),
    [
        ("openai_oi/09b_refusal_field", "refused (told by field)"),
        ("openai_oi/09_refusal", "refused (told by text refused."),
    ],
)
def test_an_answer_says_what_told_its_disposition(capture: str, told: str) -> None:
    """A guess from words is not to be mistaken for the API's own word."""
    assert told in " ".join(report(capture).split())


def test_a_producer_that_could_not_be_compared_is_said_to_be() -> None:
    """Or its silence would look like truth."""
    replayed = replay(CORPUS / "openai_oi/01_right_tool", Config())
    failed = Compared("mine", ArtifactOutcome.FAILED, (), "TypeError at x.py:1 in f", "me")
    seen = with_artifacts(replayed.observations[0], (failed,))
    console = Console(width=200, highlight=False, file=StringIO())
    console.print(trace_report(seen))

    assert "? artifact (mine) not compared, failed: TypeError at x.py:1 in f" in console.file.getvalue()  # type: ignore[attr-defined]
    assert "not compared" not in report("openai_oi/15_no_content")


def test_who_looks_into_a_failing_lane_is_said_with_what_to_do() -> None:
    """A refusal is no divergence, and was nobody's: who was paged read `0 with a divergence` and no name."""
    told = " ".join(report("openai_oi/09_refusal").split())

    assert "hand to model: outcome fail (refusal): see whether it should have been answered" in told
    assert "1 trace, 0 with a divergence, 1 failing in outcome" in told
    assert "hand to" not in report("openai_oi/01_right_tool")


@pytest.mark.parametrize("width", [20, 80, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Wrapped by the report, not by the terminal."""
    assert max(map(len, report("langchain_traceloop/08_dropped", width).splitlines())) <= width
