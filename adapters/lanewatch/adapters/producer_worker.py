"""The process in which one producer, or Ragas' metrics, runs: JSON lines in on stdin, and out on what was stdout.

Invariants:

- What the producer prints goes nowhere, so it can't garble the answers and no traced content reaches a log.
- An exception is answered by its type and the place where it was raised, never by its text, which may hold content.
- A call that takes longer than its limit ends the process by SIGALRM, even where the parent is gone.
"""

import contextlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, TypeAlias

from lanewatch.adapters.artifact_messages import ArtifactFault, message_dicts
from lanewatch.adapters.producers import load_producer
from lanewatch.adapters.ragas_converters import NeedsPackageError
from lanewatch.adapters.ragas_messages import RagasMissingError
from lanewatch.collector.error_place import place_of

Answer: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]  # one question, as JSON has it

GRACE_SECONDS = 2  # beyond the parent's own limit, so that the parent is the one who counts it


def main(name: str, start_seconds: int, call_seconds: int, memory_bytes: int) -> None:
    """Load the producer and answer until stdin ends."""
    serve(lambda: load_answer(name), start_seconds, call_seconds, memory_bytes)


def load_answer(name: str) -> Answer:
    """What answers with a producer's messages. Imports what it needs; raises what the import raises."""
    produce = load_producer(name)
    return lambda given: {"messages": message_dicts(produce(tuple(given["chat"]), given["record"]))}


def serve(load: Callable[[], Answer], start_seconds: int, call_seconds: int, memory_bytes: int) -> None:
    """Load what answers, and let it answer until stdin ends. The other side is `worker_process`."""
    answers = _only_answers()
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    signal.alarm(start_seconds + GRACE_SECONDS)
    try:
        answer = load()
    except (NeedsPackageError, RagasMissingError) as error:
        _answer(answers, {"unavailable": str(error)})
        return
    except BaseException as error:  # noqa: BLE001 - an import may raise anything, SystemExit too
        _answer(answers, {"unavailable": f"can't be loaded: {place_of(error)}"})
        return
    _answer(answers, {"ready": True})
    for line in sys.stdin.buffer:
        signal.alarm(call_seconds + GRACE_SECONDS)
        _answer(answers, answered(answer, json.loads(line)))
        signal.alarm(0)


def answered(answer: Answer, given: dict[str, Any]) -> dict[str, Any]:
    """An answer, or what kept it from being one."""
    try:
        return answer(given)
    except ArtifactFault as fault:
        return {"failed": f"no Ragas messages: {fault}"}
    except BaseException as error:  # noqa: BLE001 - whatever it raises is a finding about it
        with contextlib.suppress(Exception):
            return {"failed": place_of(error)}
        return {"failed": "an exception that can't be told"}


def _only_answers() -> BinaryIO:
    """Keep stdout for answers and send all else that is printed nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def _answer(answers: BinaryIO, value: dict[str, Any]) -> None:
    text = json.dumps(value, default=lambda other: f"<{type(other).__name__}>")
    answers.write(text.encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], *(int(one) for one in sys.argv[2:5]))
