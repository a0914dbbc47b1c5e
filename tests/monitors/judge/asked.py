"""What tests ask an endpoint with: time that passes only when slept, and one question with a range."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from email.utils import parsedate_to_datetime
from typing import Any

from lanewatch.monitors.judge.asking import Asking
from lanewatch.monitors.judge.breaker import Breaker
from lanewatch.monitors.judge.calls import CallEnd, Journal, MemoryJournal, Purse, UnlimitedPurse
from lanewatch.monitors.judge.endpoint import Endpoint, Limits
from lanewatch.monitors.judge.exchange import HttpSender
from lanewatch.monitors.judge.failures import InvalidAnswer

from tests.judge_server.faults import RETRY_AFTER_DATE
from tests.judge_server.server import JudgeServer

SCHEMA = {
    "title": "ContextRelevanceOutput",
    "type": "object",
    "properties": {"rating": {"type": "integer"}},
    "required": ["rating"],
}
PROMPT = f"How relevant is it? JSON Schema:\n{json.dumps(SCHEMA)}Do not use single quotes"
KEY = "sk-very-secret"


class SleptTime:
    """A clock that only sleeping moves. `slept` are all sleeps, in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        """Seconds."""
        return self.now

    def date(self) -> float:
        """Unix seconds: at first 20 before the date that the scripted server names."""
        return parsedate_to_datetime(RETRY_AFTER_DATE).timestamp() - 20.0 + self.now - 1000.0

    async def sleep(self, seconds: float) -> None:
        """Pass the time at once."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class Asked:
    """An endpoint at a scripted server, and what was told of its calls."""

    def __init__(
        self,
        server: JudgeServer,
        *,
        journal: Journal | None = None,
        purse: Purse | None = None,
        limits: Limits | None = None,
        seconds: float = 10.0,
        max_bytes: int = 1 << 20,
        embeddings_model: str = "",
        url: str = "",
    ) -> None:
        self.server = server
        self.time = SleptTime()
        self.ends: list[CallEnd] = []
        self.opened: list[tuple[str, float]] = []
        self.breaker = Breaker(self.time.clock, opened=lambda cause, seconds: self.opened.append((str(cause), seconds)))
        self._make: Callable[[], Endpoint] = lambda: Endpoint(
            HttpSender(url or server.url, KEY, seconds=seconds, max_bytes=max_bytes, now=self.time.date),
            "judge-1",
            journal or MemoryJournal(),
            purse or UnlimitedPurse(),
            self.breaker,
            embeddings_model=embeddings_model,
            limits=limits or Limits(),
            sleep=self.time.sleep,
            told=self.ends.append,
        )

    def run(self, use: Callable[[Endpoint], Coroutine[Any, Any, Any]]) -> Any:
        """Run with a fresh endpoint, closed afterwards."""

        async def all_of_it() -> Any:
            endpoint = self._make()
            try:
                return await use(endpoint)
            finally:
                await endpoint.close()

        return asyncio.run(all_of_it())

    def rating(self) -> tuple[int, Asking]:
        """Ask one question of one sample, once. Raises `JudgeFailure`."""

        async def ask(endpoint: Endpoint) -> tuple[int, Asking]:
            return await rating_of(endpoint)

        return self.run(ask)  # type: ignore[no-any-return]


async def rating_of(endpoint: Endpoint, sample: str = "t1") -> tuple[int, Asking]:
    """A rating of 0, 1 or 2."""
    asking = Asking(endpoint, "context_relevance", sample)
    return await asking.chat("You judge.", PROMPT, SCHEMA, read_rating), asking


def read_rating(answer: dict[str, Any]) -> int:
    """The rating in an answer."""
    rating = answer.get("rating")
    if not isinstance(rating, int) or rating not in {0, 1, 2}:
        raise InvalidAnswer
    return rating
