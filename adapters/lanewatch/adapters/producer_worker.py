"""The process in which one producer runs: JSON lines in on stdin, JSON lines out on what was stdout.

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
import traceback
from pathlib import PurePath
from typing import Any, BinaryIO

from lanewatch.adapters.artifact_messages import ArtifactFault, message_dicts
from lanewatch.adapters.producers import load_producer
from lanewatch.adapters.ragas_converters import Convert, NeedsPackageError

GRACE_SECONDS = 2  # beyond the parent's own limit, so that the parent is the one who counts it


def main(name: str, start_seconds: int, call_seconds: int, memory_bytes: int) -> None:
    """Load the producer and answer until stdin ends."""
    answers = _only_answers()
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    signal.alarm(start_seconds + GRACE_SECONDS)
    try:
        produce = load_producer(name)
    except NeedsPackageError as error:
        _answer(answers, {"unavailable": str(error)})
        return
    except BaseException as error:  # noqa: BLE001 - an import may raise anything, SystemExit too
        _answer(answers, {"unavailable": f"can't be loaded: {place_of(error)}"})
        return
    _answer(answers, {"ready": True})
    for line in sys.stdin.buffer:
        signal.alarm(call_seconds + GRACE_SECONDS)
        _answer(answers, _produced(produce, json.loads(line)))
        signal.alarm(0)


def place_of(error: BaseException) -> str:
    """`TypeError at langgraph.py:37 in convert`: what was raised and where, without its text."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    last = frames[-1]
    return f"{type(error).__name__} at {PurePath(last.filename).name}:{last.lineno} in {last.name}"


def _only_answers() -> BinaryIO:
    """Keep stdout for answers and send all else that is printed nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def _produced(produce: Convert, given: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"messages": message_dicts(produce(tuple(given["chat"]), given["record"]))}
    except ArtifactFault as fault:
        return {"failed": f"no Ragas messages: {fault}"}
    except BaseException as error:  # noqa: BLE001 - whatever it raises is a finding about it
        with contextlib.suppress(Exception):
            return {"failed": place_of(error)}
        return {"failed": "an exception that can't be told"}


def _answer(answers: BinaryIO, value: dict[str, Any]) -> None:
    text = json.dumps(value, default=lambda other: f"<{type(other).__name__}>")
    answers.write(text.encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], *(int(one) for one in sys.argv[2:5]))
