"""A judging process whose evaluator does what the sample's answer says: `python -m tests.monitors.judge.played_worker INSTANCE`.

"crash" ends the process as a kill does, "hang" holds its only thread, "grow" takes memory and waits, "raise" raises, "ask" asks the
endpoint of the settings twice; anything else is scored 0.5.
"""

import asyncio
import os
import signal
import sys
import time
from typing import Any

from lanewatch.monitors.judge.asked_evaluators import endpoint_of
from lanewatch.monitors.judge.asking import Asking
from lanewatch.monitors.judge.evaluators import Loaded, Means
from lanewatch.monitors.judge.failures import InvalidAnswer, JudgeFailure
from lanewatch.monitors.judge.judged import failed, scored
from lanewatch.monitors.judge.metrics import Evaluator, Metric
from lanewatch.monitors.judge.results import EvaluationOutcome, Result
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.judge.worker import main

SCHEMA = {"title": "Yes", "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
GROWTH = 300 * 2**20


class Played:
    """`Evaluates`, without regard for anybody."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._taken: list[bytes] = []

    async def evaluate(self, metric: Metric, sample: Sample) -> Result:
        """Do as the answer says."""
        match sample.answer:
            case "crash":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                time.sleep(3600)  # noqa: ASYNC251 - it is to hold the loop
            case "grow":
                self._taken.append(b"x" * GROWTH)
                await asyncio.sleep(3600)
            case "raise":
                raise LookupError(f"a message with content: {sample.question}")
            case "ask":
                return await two_calls(self._means, metric, sample)
        return Result(EvaluationOutcome.SCORED, value=0.5)


async def two_calls(means: Means, metric: Metric, sample: Sample) -> Result:
    """A metric that asks twice, one after the other, as most do."""
    endpoint = endpoint_of(means)
    assert endpoint is not None
    asking = Asking(endpoint, metric.name, sample.trace_id)
    try:
        answers = [await asking.chat("You judge.", f"{n}: {sample.question}", SCHEMA, _read) for n in range(2)]
    except JudgeFailure as failure:
        return failed(asking, (), failure)
    return scored(asking, (), metric, sum(answers) / 2)


def _read(document: dict[str, Any]) -> bool:
    if document.get("ok") is not True:
        raise InvalidAnswer
    return True


def loaded(means: Means) -> Loaded:
    """The factory."""
    return Loaded(Played(means), "m")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], {Evaluator.SUPPORT: loaded, Evaluator.RAGAS: loaded}))
