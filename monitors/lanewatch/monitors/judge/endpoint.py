"""One OpenAI-compatible endpoint: how it is reached, what it is called, who pays, and what its requests may use.

`Asking` (`asking`) is what one sample asks through; this is what all samples share.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import msgspec

from lanewatch.monitors.judge.breaker import REMEDIES, Breaker, Cause
from lanewatch.monitors.judge.calls import CallEnd, Journal, Purse
from lanewatch.monitors.judge.exchange import HttpSender, Sends
from lanewatch.monitors.judge.request_shape import Shape

_LOG = logging.getLogger("lanewatch.judge")


class Limits(msgspec.Struct, frozen=True):
    """What one sample may use. `max_retries` and the waits are for all of its calls together; the timeout is of each request."""

    timeout_seconds: float = 30.0
    max_retries: int = 2
    max_tokens: int = 4096
    max_wait_seconds: float = 30.0
    max_calls: int = 64
    max_prompt_characters: int = 400_000


DEFAULT_LIMITS = Limits()


class Endpoint:
    """One base URL and model, with what was learnt of the requests it takes.

    `told` is called with the end of every request; `sleep` and the breaker's clock are passed in so that tests wait for nothing.
    """

    def __init__(
        self,
        sender: Sends,
        model: str,
        journal: Journal,
        purse: Purse,
        breaker: Breaker,
        *,
        embeddings_model: str = "",
        limits: Limits = DEFAULT_LIMITS,
        max_in_flight: int = 4,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        told: Callable[[CallEnd], None] = lambda _end: None,
    ) -> None:
        self.sender = sender
        self.model = model
        self.embeddings_model = embeddings_model
        self.journal = journal
        self.purse = purse
        self.breaker = breaker
        self.limits = limits
        self.in_flight = asyncio.Semaphore(max_in_flight)
        self.sleep = sleep
        self.told = told
        self.shape = Shape()  # of the newest request that was answered
        self.proven = False  # whether one was

    async def close(self) -> None:
        """Close its connections."""
        await self.sender.close()


def http_endpoint(
    base_url: str,
    api_key: str,
    model: str,
    journal: Journal,
    purse: Purse,
    *,
    embeddings_model: str = "",
    limits: Limits = DEFAULT_LIMITS,
    max_in_flight: int = 4,
    trust_env: bool = False,
    told: Callable[[CallEnd], None] = lambda _end: None,
) -> Endpoint:
    """An endpoint over HTTP, with a breaker that logs why it opens. Needs `lanewatch[judge]`: raises ImportError without httpx.

    Raises ValueError for a base URL or a key that can't be used.
    """
    # httpx logs the URL of every request at INFO; a base URL may hold a key.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return Endpoint(
        HttpSender(base_url, api_key, seconds=limits.timeout_seconds, trust_env=trust_env),
        model,
        journal,
        purse,
        Breaker(time.monotonic, opened=log_opened),
        embeddings_model=embeddings_model,
        limits=limits,
        max_in_flight=max_in_flight,
        told=told,
    )


def log_opened(cause: Cause, seconds: float) -> None:
    """Say that the judge pauses, and what helps."""
    level = logging.ERROR if cause is Cause.AUTH else logging.WARNING
    _LOG.log(level, "the judge pauses for %.0f seconds (%s): %s", seconds, cause, REMEDIES[cause])
