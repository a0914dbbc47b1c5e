"""Replay against the truth of every recorded capture: nothing silently wrong, no false alarm, and most of it exact."""

import json
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from lanewatch.config.keys import Config
from lanewatch.replaying.lines import line_of
from lanewatch.replaying.playback import replay

from tests.corpus.scoring import judge

CORPUS = Path(__file__).parent
STACKS = tuple(sorted(path.name for path in CORPUS.iterdir() if any(path.glob("*/truth.json"))))
# OpenInference, OpenLLMetry and the GenAI conventions: what the main job is held to.
FIRST = (
    "langchain_oi", "langchain_traceloop", "llamaindex_oi", "openai_agents_oi", "openai_oi", "openai_responses_oi",
    "openai_traceloop", "smolagents_oi", "openai-v2-latest", "openai-v2-events", "openai-v2-latest-event",
)  # fmt: skip
FACETS = ("requests", "dispatches", "retrievals", "responses")
KNOWN: dict[str, dict[str, str]] = tomllib.loads((CORPUS / "known.toml").read_text())


@cache
def verdicts(capture: str) -> dict[str, str]:
    """What the judge says of one capture."""
    line = json.loads(line_of(replay(CORPUS / capture, Config())))
    return judge(line, json.loads((CORPUS / capture / "truth.json").read_text()))


def captures(*stacks: str) -> list[str]:
    """STACK/SCENARIO of these stacks."""
    return [
        path.parent.relative_to(CORPUS).as_posix()
        for stack in stacks
        for path in sorted((CORPUS / stack).glob("*/truth.json"))
    ]


@pytest.mark.parametrize("capture", captures(*STACKS))
def test_nothing_is_silently_wrong(capture: str) -> None:
    """A record that differs from the truth says that it can't be trusted; no divergence is made up or missed."""
    seen = verdicts(capture)

    assert not [facet for facet in FACETS if seen.get(facet) == "wrong"]
    assert seen["divergence"] != "false"
    assert seen["divergence"] != "missed" or capture in KNOWN


@pytest.mark.parametrize(("stacks", "least"), [(FIRST, 0.92), (STACKS, 0.90)])
def test_most_of_it_is_exact(stacks: tuple[str, ...], least: float) -> None:
    """Flagging everything would pass the test above."""
    counts = Counter(verdicts(c)[facet] for c in captures(*stacks) for facet in FACETS if facet in verdicts(c))

    assert counts["exact"] / counts.total() > least


def test_known_misses_are_still_missed() -> None:
    """A miss that is no longer one leaves the list."""
    assert {c for c in captures(*STACKS) if verdicts(c)["divergence"] == "missed"} == set(KNOWN)
