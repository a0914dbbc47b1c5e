"""What one sample asks an endpoint: each call paid for, written down, and retried within the sample's own bounds.

Invariants:

- One sample has one budget of retries and of waiting over all of its calls. What it fails with first it keeps failing with: metrics
  that swallow errors and go on ask nothing more.
- A call is journaled as sent before its first byte leaves, and with what came back before that is read. After a crash the same job asks
  the same questions under the same keys, and none that was answered goes out again.
- A request goes out only while the breaker is closed and the purse has room.
- No text of a prompt, an answer or an error is logged or raised.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from lanewatch.monitors.judge.answer_json import object_of
from lanewatch.monitors.judge.breaker import CAUSES, Cause
from lanewatch.monitors.judge.calls import JOB, NOTHING_USED, CallEnd, Estimate, Reservation, Usage
from lanewatch.monitors.judge.completion import (
    completion_of,
    document_of,
    status_failure,
    told_by,
    usage_of,
    vectors_of,
)
from lanewatch.monitors.judge.endpoint import Endpoint
from lanewatch.monitors.judge.exchange import Exchange
from lanewatch.monitors.judge.failures import InvalidAnswer, JudgeFailure
from lanewatch.monitors.judge.request_shape import Shape, chat_body, simpler
from lanewatch.monitors.judge.results import Cost, EvaluationOutcome, Reason, added
from lanewatch.monitors.judge.samples import Sample

_CHAT, _EMBEDDINGS = "/chat/completions", "/embeddings"
_TRANSIENT = {Reason.RATE_LIMITED, Reason.TIMEOUT, Reason.UNREACHABLE, Reason.SERVER_ERROR}
_FIRST_BACKOFF_SECONDS = 0.5
_HTTP_OK = 200
# Any constant: the same question then gets the same answer where the endpoint honours seeds. Asking once more counts it up,
# since the same seed would give the same invalid answer.
_SEED = 1


class Recorded(msgspec.Struct, frozen=True):
    """What the journal keeps of a call."""

    exchange: Exchange
    cost: Cost


class Question(msgspec.Struct, frozen=True):
    """One call: `body` makes the request of a shape, `answer` reads the response's document."""

    path: str
    key: str
    estimate: Estimate
    body: Callable[[Shape], bytes]
    answer: Callable[[dict[str, Any]], Any]


class Asking:
    """The calls of one sample by one metric, one after the other, and what they cost.

    `sample` tells it from other samples, `calls.JOB` from other jobs of the same.
    """

    def __init__(self, endpoint: Endpoint, metric: str, sample: str) -> None:
        self._endpoint = endpoint
        self._metric = metric
        self._identity = f"{JOB.get()}\0{sample}\0{metric}"
        self._retries = endpoint.limits.max_retries
        self._waited = 0.0
        self._n_calls = 0
        self.failure: JudgeFailure | None = None
        self.cost = Cost()
        self.model: str | None = None
        self.fingerprint: str | None = None
        self.request_ids: list[str] = []
        self.flags: set[str] = set()

    async def chat(self, system: str, user: str, schema: dict[str, Any], read: Callable[[dict[str, Any]], Any]) -> Any:
        """Ask for an object of `schema`; what `read` makes of it. Where `read` raises `InvalidAnswer`, it is asked again.

        Raises `JudgeFailure`, then and ever after.
        """
        call, limits, model = self._next_call(), self._endpoint.limits, self._endpoint.model
        if len(system) + len(user) > limits.max_prompt_characters:
            raise self._fails(JudgeFailure(Reason.TOO_LONG, EvaluationOutcome.UNSUPPORTED))
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        estimate = Estimate(model, (len(system) + len(user)) // 4 + 1, limits.max_tokens)
        wanted = msgspec.json.encode(schema, order="sorted").decode()
        for again in range(limits.max_retries + 1):

            def body(shape: Shape, seed: int = _SEED + again) -> bytes:
                return chat_body(shape, model, messages, schema, seed, limits.max_tokens)

            key = self._key(_CHAT, call, again, model, system, user, wanted)
            question = Question(
                _CHAT, key, estimate, body, lambda document: read(object_of(completion_of(document).text))
            )
            try:
                return await self._ask(question)
            except InvalidAnswer:
                if self._retries <= 0:
                    break
                self._retries -= 1
        self._endpoint.breaker.failed(Cause.INVALID)
        raise self._fails(JudgeFailure(Reason.JUDGE_INVALID))

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text. Raises `JudgeFailure`."""
        call, model = self._next_call(), self._endpoint.embeddings_model
        body = msgspec.json.encode({"model": model, "input": texts})
        estimate = Estimate(model, sum(len(text) for text in texts) // 4 + 1, 0)
        key = self._key(_EMBEDDINGS, call, model, *texts)
        question = Question(
            _EMBEDDINGS, key, estimate, lambda _: body, lambda document: vectors_of(document, len(texts))
        )
        vectors: list[list[float]] = await self._ask(question)
        return vectors

    def _next_call(self) -> int:
        if self.failure is not None:
            raise self.failure
        self._n_calls += 1
        if self._n_calls > self._endpoint.limits.max_calls:
            raise self._fails(JudgeFailure(Reason.TOO_LONG, EvaluationOutcome.UNSUPPORTED))
        return self._n_calls

    def _key(self, *parts: object) -> str:
        text = "\0".join([self._identity, *map(str, parts)])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _fails(self, failure: JudgeFailure) -> JudgeFailure:
        self.failure = self.failure or failure
        return self.failure

    async def _ask(self, question: Question) -> Any:
        """One question until it is answered. Raises `InvalidAnswer` for an answer that can't be used, else `JudgeFailure`."""
        stored = self._endpoint.journal.answered(question.key)
        if stored is not None:
            recorded = msgspec.msgpack.decode(stored, type=Recorded)
            self.cost = added(self.cost, recorded.cost)
            value, problem = self._read(question, recorded.exchange)
        else:
            value, problem = await self._ask_now(question)
        if isinstance(problem, JudgeFailure):
            raise self._fails(problem)
        if problem is not None:
            raise problem
        return value

    async def _ask_now(self, question: Question) -> tuple[Any, JudgeFailure | InvalidAnswer | None]:
        endpoint = self._endpoint
        shape, value = endpoint.shape, None
        problem: JudgeFailure | InvalidAnswer | None = None
        newest: Recorded | None = None
        while True:
            stop = await self._closed() or self._reserve(question)
            if isinstance(stop, JudgeFailure):
                problem = problem or stop
                break
            if newest is None and not endpoint.journal.sent(question.key):
                endpoint.purse.settle(stop, NOTHING_USED)
                return None, JudgeFailure(Reason.INTERRUPTED)
            newest, probe, value, problem = await self._send(question, question.body(shape), stop)
            exchange = newest.exchange
            lower = self._simpler(shape, exchange) if question.path == _CHAT else None
            if lower is not None and isinstance(problem, JudgeFailure) and problem.reason is Reason.BAD_REQUEST:
                endpoint.breaker.left(probe=probe)
                shape = lower
                continue
            self._tell_breaker(problem, exchange, probe=probe)
            if status_failure(exchange) is None and question.path == _CHAT:
                endpoint.shape, endpoint.proven = shape, True
            if not (
                isinstance(problem, JudgeFailure) and problem.reason in _TRANSIENT and await self._may_retry(exchange)
            ):
                break
        if newest is not None:
            endpoint.journal.store(question.key, msgspec.msgpack.encode(newest), newest.cost)
        return value, problem

    def _simpler(self, shape: Shape, exchange: Exchange) -> Shape | None:
        proven = self._endpoint.proven and shape == self._endpoint.shape
        return simpler(shape, exchange.status, exchange.body, proven=proven)

    async def _closed(self) -> JudgeFailure | None:
        """Wait for an open breaker as long as this sample may wait at all; what it fails with where that is too long."""
        while (wait := self._endpoint.breaker.wait()) > 0:
            if self._waited + wait > self._endpoint.limits.max_wait_seconds:
                return JudgeFailure(Reason.CIRCUIT_OPEN)
            await self._sleep(wait)
        return None

    def _reserve(self, question: Question) -> Reservation | JudgeFailure:
        reserved = self._endpoint.purse.reserve(self._metric, question.estimate)
        return JudgeFailure(reserved, EvaluationOutcome.OVER_BUDGET) if isinstance(reserved, Reason) else reserved

    async def _may_retry(self, exchange: Exchange) -> bool:
        """Wait for the next try; False where none is left, or the endpoint asks for a longer wait than may be had."""
        used = self._endpoint.limits.max_retries - self._retries
        wait = max(_FIRST_BACKOFF_SECONDS * 2.0**used, exchange.retry_after or 0.0)
        if self._retries <= 0 or self._waited + wait > self._endpoint.limits.max_wait_seconds:
            return False
        self._retries -= 1
        await self._sleep(wait)
        return True

    async def _sleep(self, seconds: float) -> None:
        self._waited += seconds
        await self._endpoint.sleep(seconds)

    async def _send(
        self, question: Question, body: bytes, reservation: Reservation
    ) -> tuple[Recorded, bool, Any, JudgeFailure | InvalidAnswer | None]:
        """One request, settled and told of whatever became of it; whether it was the probe, and how it reads."""
        endpoint, usage = self._endpoint, NOTHING_USED
        probe, exchange = endpoint.breaker.entered(), None
        try:
            async with endpoint.in_flight:
                usage = _unanswered(question)
                exchange = await endpoint.sender.post(question.path, body, question.key)
            usage = _usage(question, exchange)
        finally:
            dollars = endpoint.purse.settle(reservation, usage)
            if exchange is None:  # cancelled
                endpoint.breaker.left(probe=probe)
        if usage.estimated:
            self.flags.add("usage_estimated")
        cost = Cost(1, usage.input_tokens, usage.output_tokens, dollars, exchange.seconds)
        self.cost = added(self.cost, cost)
        value, problem = self._read(question, exchange)
        outcome = "ok" if problem is None else Reason.JUDGE_INVALID
        outcome = problem.reason if isinstance(problem, JudgeFailure) else outcome
        model, sizes = reservation.estimate.model, (len(body), len(exchange.body))
        endpoint.told(CallEnd(self._metric, model, outcome, exchange.seconds, usage, dollars, *sizes))
        return Recorded(exchange, cost), probe, value, problem

    def _read(self, question: Question, exchange: Exchange) -> tuple[Any, JudgeFailure | InvalidAnswer | None]:
        failure = status_failure(exchange)
        if failure is not None:
            return None, failure
        if exchange.request_id:
            self.request_ids.append(exchange.request_id)
        try:
            document = document_of(exchange)
            if question.path == _CHAT:
                model, fingerprint = told_by(document)
                self.model, self.fingerprint = model or self._endpoint.model, fingerprint or self.fingerprint
            return question.answer(document), None
        except (JudgeFailure, InvalidAnswer) as problem:
            return None, problem

    def _tell_breaker(self, problem: JudgeFailure | InvalidAnswer | None, exchange: Exchange, *, probe: bool) -> None:
        """A refusal, a cut, or a prompt too long is no fault of the endpoint. An answer that is asked again counts when it is given up."""
        if isinstance(problem, InvalidAnswer):
            self._endpoint.breaker.left(probe=probe)
        elif problem is not None and problem.reason in CAUSES:
            self._endpoint.breaker.failed(CAUSES[problem.reason], exchange.retry_after, probe=probe)
        else:
            self._endpoint.breaker.succeeded(probe=probe)


def identity(sample: Sample) -> str:
    """What tells a sample from every other one."""
    return f"{sample.trace_id}/{sample.revision}/{sample.span_id or ''}"


def _unanswered(question: Question) -> Usage:
    """What a request may have used of which nothing came back: as much as was reserved, for the endpoint may have answered to its end,
    and bill it.
    """
    return Usage(question.estimate.input_tokens, question.estimate.output_tokens, estimated=True)


def _usage(question: Question, exchange: Exchange) -> Usage:
    if exchange.unsent or exchange.status not in {0, _HTTP_OK}:
        return NOTHING_USED  # errors are free
    if status_failure(exchange) is not None:
        return _unanswered(question)
    try:
        counted = usage_of(document_of(exchange))
    except JudgeFailure:
        counted = None
    return counted or Usage(question.estimate.input_tokens, len(exchange.body) // 4, estimated=True)
