"""Replay against the truth of every recorded capture: nothing silently wrong, no false alarm, and most of it exact."""

from collections import Counter

import pytest

from tests.corpus.known import CORPUS, captures, read_reasons, verdicts

STACKS = tuple(sorted(path.name for path in CORPUS.iterdir() if any(path.glob("*/truth.json"))))
# OpenInference, OpenLLMetry and the GenAI conventions: what the main job is held to.
FIRST = (
    "langchain_oi", "langchain_traceloop", "llamaindex_oi", "openai_agents_oi", "openai_oi", "openai_responses_oi",
    "openai_traceloop", "smolagents_oi", "openai-v2-latest", "openai-v2-events", "openai-v2-latest-event",
)  # fmt: skip
FACETS = ("requests", "dispatches", "retrievals", "responses")


@pytest.mark.parametrize("capture", captures(*STACKS))
def test_nothing_is_silently_wrong(capture: str) -> None:
    """A record that differs from the truth says that it can't be trusted; no divergence is made up or missed."""
    seen = verdicts(capture)

    assert not [facet for facet in FACETS if seen.get(facet) == "wrong"]
    assert seen["divergence"] != "false"
    assert seen["divergence"] != "missed" or any(one.tells(capture, "divergence", "missed") for one in read_reasons())


@pytest.mark.parametrize(("stacks", "least"), [(FIRST, 0.92), (STACKS, 0.90)])
def test_most_of_it_is_exact(stacks: tuple[str, ...], least: float) -> None:
    """Flagging everything would pass the test above."""
    counts = Counter(verdicts(c)[facet] for c in captures(*stacks) for facet in FACETS if facet in verdicts(c))

    assert counts["exact"] / counts.total() > least
