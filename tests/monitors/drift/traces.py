"""Traces as a shop's assistant makes them, seeded, with habits that a test can change."""

import random
from collections.abc import Iterator

import msgspec
from lanewatch.adapters.records import Document, Retrieval, Usage
from lanewatch.monitors.drift.facts import Facts, facts

from tests.monitors.records import answer, dispatch, failure, generation, record, request

WORDS = tuple(f"{a}{b}{c}" for a in ("ka", "ro", "mi", "tel") for b in ("ba", "lo", "ne") for c in ("t", "x", "ring"))
TOOLS = ("search", "refund", "lookup")


class Habits(msgspec.Struct, frozen=True):
    """What the traffic does."""

    refusals: float = 0.01
    tool_errors: float = 0.02
    slower: float = 1.0
    tools: tuple[float, ...] = (0.5, 0.3, 0.2)
    words: tuple[str, ...] = WORDS
    session: int = 5  # traces
    embedding: int = 0  # dimensions


def trace(rng: random.Random, number: int, seconds: float, habits: Habits, service: str = "shop") -> Facts:
    """A trace that ends at this time."""
    question = " ".join(rng.choices(habits.words, k=rng.randint(4, 14))) + "?"
    documents = tuple(Document(k, f"d{k}", "text", rng.random()) for k in range(rng.randint(1, 6)))
    tool = rng.choices(TOOLS, habits.tools)[0]
    end = int(seconds * 1e9)
    made = record(
        trace_id=f"{number:032x}",
        session_id=f"s{number // habits.session}",
        service=service,
        start_ns=end - int(rng.lognormvariate(0, 0.5) * habits.slower * 1e9),
        end_ns=end,
        messages=({"type": "human", "content": question},),
        retrievals=(Retrieval(question, documents, "kb", "cc" * 8, 0, 1),),
        requests=(request(tool),),
        dispatches=(dispatch(tool, error=failure() if rng.random() < habits.tool_errors else None),),
        generations=(generation(usage=Usage(rng.randint(100, 900), rng.randint(10, 300))),),
        responses=(answer("x" * rng.randint(20, 400), refusal=rng.random() < habits.refusals),),
    )
    vector = [rng.gauss(0, 1) for _ in range(habits.embedding)] or None
    return facts(made, embedding=vector)


def traces(
    rng: random.Random, count: int, start: float, per_second: float, habits: Habits, service: str = "shop"
) -> Iterator[Facts]:
    """Traces from `start` (seconds since the epoch) on."""
    at = start
    first = rng.getrandbits(60) << 20
    for number in range(count):
        at += rng.expovariate(per_second)
        yield trace(rng, first + number, at, habits, service)
