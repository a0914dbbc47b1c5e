"""Samples that tests have judged: a bridge, what was asked about it, and a booking."""

from typing import Any

from lanewatch.adapters.records import Evidence
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.ragas_llm import by_endpoint
from lanewatch.monitors.judge.ragas_metrics import RagasEvaluator
from lanewatch.monitors.judge.results import Result
from lanewatch.monitors.judge.samples import Sample

from tests.judge_server.server import JudgeServer
from tests.monitors.judge.asked import Asked

MESSAGES: tuple[dict[str, Any], ...] = (
    {"type": "human", "content": "Book a table for two.", "metadata": None},
    {"type": "ai", "content": "", "metadata": None, "tool_calls": [{"name": "book", "args": {"seats": 2}}]},
    {"type": "tool", "content": "booked", "metadata": None},
    {"type": "ai", "content": "Your table is booked.", "metadata": None, "tool_calls": []},
)
SAMPLE = Sample(
    "5b8aa5a2d2c872e8321cf37308d69df2",
    1,
    "shop",
    1_700_000_000_000_000_000,
    span_id="5fb397be34d26b51",
    question="When was the bridge built?",
    answer='The bridge was built in 1932. It is "a very old bridge" now. It is long. It is high. It is red.',
    contexts=("The bridge was built in 1932.", "It is a very old bridge.", "It is long, high and red."),
    messages=MESSAGES,
    evidence=dict.fromkeys(("requests", "dispatches", "retrievals", "responses"), Evidence.COMPLETE),
)


def judged(asked: Asked, name: str, sample: Sample = SAMPLE, orders: int = 2) -> Result:
    """What a metric of Ragas makes of a sample."""
    return asked.run(  # type: ignore[no-any-return]
        lambda endpoint: RagasEvaluator(
            endpoint, embeds=by_endpoint, topics=("bridges", "bookings"), orders=orders
        ).evaluate(BY_NAME[name], sample)
    )


def judged_by(server: JudgeServer, name: str, sample: Sample = SAMPLE, **more: Any) -> Result:
    """The same with an endpoint of its own at a server."""
    return judged(Asked(server, embeddings_model="embed-1"), name, sample, **more)
