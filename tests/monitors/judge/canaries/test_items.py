"""The anchors: those that are shipped, and what a user's own file may be."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lanewatch.adapters.ragas_messages import to_ragas
from lanewatch.monitors.embedding import EmbedderUnavailableError, local_embedder
from lanewatch.monitors.judge.canaries.items import (
    CanaryFaults,
    Kind,
    canaries_of,
    load_canaries,
    read_canaries,
    sample_of,
    shipped,
)
from lanewatch.monitors.judge.eligibility import eligible
from lanewatch.monitors.judge.metrics import BY_NAME, METRICS
from lanewatch.monitors.judge.ragas_metrics import RagasEvaluator
from lanewatch.monitors.judge.support.embedding import EmbeddingEvaluator
from lanewatch.monitors.judge.support.evaluator import SIGNALS, support_of

CANARIES = shipped()
GOOD: dict[str, Any] = {
    "id": "mine-1",
    "kind": "supported",
    "question": "When?",
    "answer": "At 5.",
    "contexts": ["It is at 5."],
    "expect": {"faithfulness": {"low": 0.8, "high": 1}, "number_support": {"missing": ["no_claims"]}},
}


def line(**changes: object) -> bytes:
    """A row of a file, with changes; None takes a field out."""
    return json.dumps({key: value for key, value in {**GOOD, **changes}.items() if value is not None}).encode()


@pytest.mark.parametrize("metric", [metric.name for metric in METRICS])
def test_every_metric_has_at_least_40_anchors_of_all_four_kinds(metric: str) -> None:
    """With an expectation of its own each; a share of them in another language than English."""
    mine = canaries_of(metric, CANARIES)
    kinds = Counter(canary.kind for canary in mine)

    assert len(mine) >= 40
    assert set(kinds) == set(Kind)
    assert min(kinds.values()) >= 10
    assert {canary.language for canary in mine} - {"en"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_anchor_may_be_asked(metric: Any) -> None:
    """Eligibility would set an anchor apart, and the round would never be whole."""
    for canary in canaries_of(metric.name, CANARIES):
        sample = sample_of(canary, "1")

        assert eligible(metric, sample, sample.topics) is None


@pytest.mark.parametrize("name", SIGNALS)
def test_the_offline_signals_end_every_anchor_as_expected(name: str) -> None:
    """They are deterministic: another value is another version of the signal."""
    astray = []
    for canary in canaries_of(name, CANARIES):
        result = support_of(BY_NAME[name], sample_of(canary, "1"))
        if not canary.expect[name].holds(result.value, result.reason.value):
            astray.append((canary.id, result.value, result.reason))

    assert astray == []


def test_a_users_own_anchors_stand_beside_the_shipped_ones(tmp_path: Path) -> None:
    """The same form, one object a line; blank lines are none."""
    path = tmp_path / "own.jsonl"
    path.write_bytes(line() + b"\n\n" + line(id="mine-2") + b"\n")

    assert [canary.id for canary in load_canaries(path)[len(CANARIES) :]] == ["mine-1", "mine-2"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"nonsense", "own:1: not a JSON object"),
        (b"", "own: no canary in it"),
        (line(kind="good"), "own:1: Invalid enum value 'good' - at `$.kind`"),
        (line(id="a b"), "own:1: `id` must be"),
        (line() + b"\n" + line(), "own:2: its `id` is taken"),
        (line(expect={}), "own:1: `expect` names no metric"),
        (line(expect={"honesty": {"low": 0, "high": 1}}), "own:1: `expect` names a metric that nobody has"),
        (line(expect={"faithfulness": {"low": 0}}), "own:1: expect.faithfulness: `low` and `high` go together"),
        (line(expect={"faithfulness": {}}), "own:1: expect.faithfulness: needs `low` and `high`, or `missing`"),
        (line(expect={"faithfulness": {"low": 0.5, "high": 2}}), "own:1: expect.faithfulness: needs 0 <= low <= high <= 1"),
        (line(expect={"faithfulness": {"missing": ["tired"]}}), "own:1: expect.faithfulness: `missing` takes"),
        (line(contexts=[]), "own:1: expect.faithfulness: needs `contexts`"),
        (line(question=None), "own:1: expect.faithfulness: needs `question`"),
        (line(messages=[{"role": "user"}]), "own:1: each of `messages` must have a `type`"),
        (line(messages=[{"type": "ai", "content": "", "tool_calls": [{"name": 1}]}]), "own:1: `tool_calls` of `messages`"),
        (line(note="x"), "own:1: Object contains unknown field `note`"),
        (b'{"a":' + b" " * 300_000 + b"1}", "own:1: longer than 262144 bytes"),
        (b"x" * (9 * 2**20), "own: larger than 8388608 bytes"),
    ],
)  # fmt: skip
def test_a_file_with_a_fault_is_refused_whole_and_each_fault_is_named(content: bytes, fault: str) -> None:
    """By its line, and without the text that stands there."""
    with pytest.raises(CanaryFaults) as refused:
        read_canaries(content, "own")

    assert any(found.startswith(fault) for found in refused.value.faults), refused.value.faults


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    """It was asked for: going on without it would be silently wrong."""
    with pytest.raises(CanaryFaults, match="No such file"):
        load_canaries(tmp_path / "none.jsonl")


def test_an_anchors_sample_is_of_its_round_and_holds_no_kind() -> None:
    """The judge must not be told what is expected; two rounds are two jobs."""
    first, second = sample_of(CANARIES[0], "1"), sample_of(CANARIES[0], "2")

    assert first.trace_id != second.trace_id
    assert (first.question, first.answer, first.contexts) == (second.question, second.answer, second.contexts)


def astray_by(evaluator: Any, name: str) -> list[tuple[str, float | None, str]]:
    """The anchors that an evaluator ends otherwise than expected."""
    found = []
    for canary in canaries_of(name, CANARIES):
        result = asyncio.run(evaluator.evaluate(BY_NAME[name], sample_of(canary, "1")))
        if not canary.expect[name].holds(result.value, result.reason.value):
            found.append((canary.id, result.value, result.reason.value))
    return found


def test_ragas_ends_every_anchor_with_quotations_as_expected() -> None:
    """It needs no judge for these, so that its installed version can be held against them."""
    assert astray_by(RagasEvaluator(None), "quoted_spans_alignment") == []


def test_the_local_model_ends_every_anchor_as_expected() -> None:
    """With the extra installed."""
    try:
        evaluator = EmbeddingEvaluator(local_embedder())
    except EmbedderUnavailableError as error:
        pytest.skip(str(error))

    assert astray_by(evaluator, "embedding_support") == []


def test_an_anchors_conversation_is_what_ragas_takes() -> None:
    """Fields that a file may leave out are there."""
    for canary in canaries_of("topic_adherence", CANARIES):
        assert len(to_ragas(sample_of(canary, "1").messages)) == len(canary.messages)
