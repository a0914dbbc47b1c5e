"""Ragas' metrics, asked through Lanewatch: an LLM and embeddings of Ragas' own base classes, and the one place that imports them.

Invariants: telemetry and every look into the network are switched off before Ragas is imported (`RAGAS_DO_NOT_TRACK` takes the
word `true` alone, and is read once); the traced input of each prompt is fenced; each answer is validated; what fails is
kept, since some metrics swallow it. A second pass over the same sample asks only what differs.
"""

import asyncio
import functools
import os
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import msgspec

from lanewatch.monitors.judge.answers import checked
from lanewatch.monitors.judge.asking import Asking
from lanewatch.monitors.judge.failures import JudgeFailure
from lanewatch.monitors.judge.fencing import RULE, fenced
from lanewatch.monitors.judge.results import Reason

_ENVIRONMENT = {"RAGAS_DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1", "LANGSMITH_TRACING": "false"}
# Between these Ragas' prompts have the input as JSON; neither can stand in JSON itself, which has no raw line break in a string.
_INPUT_BEGINS = "\nNow perform the same with the following input\ninput: "
_INPUT_ENDS = "\nOutput: "

Embeds = Callable[[Asking, list[str]], Awaitable[list[list[float]]]]


def ragas_installed() -> bool:
    """Whether Ragas can be imported, without doing it."""
    return find_spec("ragas") is not None


@functools.cache
def ragas_collections() -> Any:
    """The module `ragas.metrics.collections`. Takes seconds and 220 MB the first time. Raises ImportError."""
    os.environ.update(_ENVIRONMENT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies, at their import
        from ragas.metrics import collections  # noqa: PLC0415 - an extra, and of the worker alone
    return collections


class RagasJudge:
    """What one sample's metric asks through. `answers` are those of the newest pass, in order; `error` is the first one.

    Without an `asking` it is for a metric that asks nobody.
    """

    def __init__(self, asking: Asking | None) -> None:
        self._asking = asking
        self.error: Exception | None = None
        self._known: dict[tuple[str, int], Any] = {}
        self._times: Counter[str] = Counter()
        self.answers: list[Any] = []

    def new_pass(self) -> None:
        """Begin again: what is asked in the same words, for the same time in this pass, has its answer already."""
        self._times.clear()
        self.answers = []

    async def ask(self, prompt: str, response_model: Any) -> Any:
        """The answer to one of Ragas' prompts. Raises `JudgeFailure`."""
        with self._kept():
            return await self._ask(prompt, response_model)

    async def _ask(self, prompt: str, response_model: Any) -> Any:
        assert self._asking is not None
        self._times[prompt] += 1
        known = (prompt, self._times[prompt])
        if known not in self._known:
            user, given = fenced_prompt(prompt)
            schema = response_model.model_json_schema()

            def read(answer: dict[str, Any]) -> Any:
                return checked(response_model, answer, given)

            self._known[known] = await self._asking.chat(RULE, user, schema, read)
        self.answers.append(self._known[known])
        return self._known[known]

    async def embed(self, embeds: Embeds, texts: list[str]) -> list[list[float]]:
        """Vectors of texts. Raises `JudgeFailure`."""
        with self._kept():
            assert self._asking is not None
            vectors = await embeds(self._asking, texts)
            if not all(any(vector) for vector in vectors):
                raise JudgeFailure(Reason.JUDGE_INVALID)  # a vector of zeros has no cosine
            return vectors

    @contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.error = self.error or error
            raise


def fenced_prompt(prompt: str) -> tuple[str, dict[str, Any]]:
    """One of Ragas' prompts with its input fenced, and that input. Raises JudgeFailure for a prompt that has none.

    An unfenced input is not sent: another version of Ragas may write its prompts otherwise.
    """
    before, begins, after = prompt.partition(_INPUT_BEGINS)
    data, ends, rest = after.rpartition(_INPUT_ENDS)
    try:
        given = msgspec.json.decode(data.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, RecursionError):
        given = None
    if not begins or not ends or rest or not isinstance(given, dict):
        raise JudgeFailure(Reason.WORKER_FAILED)
    return f"{before}{begins}{fenced(data).text}{ends}", given


def llm_of(judge: RagasJudge) -> Any:
    """An `InstructorBaseRagasLLM` that asks through `judge`."""
    return _llm_class()(judge)


def embeddings_of(judge: RagasJudge, embeds: Embeds) -> Any:
    """A `BaseRagasEmbedding` that embeds through `judge`."""
    return _embedding_class()(judge, embeds)


@functools.cache
def _llm_class() -> Any:
    ragas_collections()
    from ragas.llms.base import InstructorBaseRagasLLM  # noqa: PLC0415

    class JudgeLLM(InstructorBaseRagasLLM):
        def __init__(self, judge: RagasJudge) -> None:
            self._judge = judge

        def generate(self, prompt: str, response_model: Any) -> Any:  # noqa: ARG002
            raise TypeError("a judge is asked asynchronously")

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            return await self._judge.ask(prompt, response_model)

    return JudgeLLM


@functools.cache
def _embedding_class() -> Any:
    ragas_collections()
    from ragas.embeddings.base import BaseRagasEmbedding  # noqa: PLC0415

    class JudgeEmbeddings(BaseRagasEmbedding):
        def __init__(self, judge: RagasJudge, embeds: Embeds) -> None:
            super().__init__()
            self._judge = judge
            self._embeds = embeds

        def embed_text(self, text: str, **_: Any) -> list[float]:  # noqa: ARG002
            raise TypeError("a judge is asked asynchronously")

        async def aembed_text(self, text: str, **_: Any) -> list[float]:
            return (await self._judge.embed(self._embeds, [text]))[0]

        async def aembed_texts(self, texts: list[str], **_: Any) -> list[list[float]]:
            return await self._judge.embed(self._embeds, texts)  # one request, not one a text

    return JudgeEmbeddings


async def by_endpoint(asking: Asking, texts: list[str]) -> list[list[float]]:
    """Embeds by the endpoint's own model."""
    return await asking.embed(texts)


def by_embedder(embed: Callable[[list[str]], Any]) -> Embeds:
    """Embeds on this machine; `embed` gives an array of rows. One text after the other, on a thread that waits for the last."""
    lock = asyncio.Lock()

    async def embeds(_: Asking, texts: list[str]) -> list[list[float]]:
        async with lock:
            rows = await asyncio.to_thread(embed, texts)
        return [[float(value) for value in row] for row in rows]

    return embeds
