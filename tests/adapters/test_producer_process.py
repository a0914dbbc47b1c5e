"""Producers in their own processes: whatever one does, its caller gets an artifact or a finding, in time."""

import os
import signal
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from lanewatch.adapters.producer_process import (
    BREAK_AFTER,
    ProducerFailed,
    ProducerLimits,
    ProducerProcess,
    ProducerTimedOut,
    ProducerUnavailable,
)
from lanewatch.adapters.producers import UnknownProducerError, identify, producer_names

ADAPTERS = '''
import os, signal, subprocess, sys, time

CHAT = [{"type": "human", "content": "hello"}]

class Told:
    """Like a pydantic model of Ragas."""
    def model_dump(self):
        return {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {"big": 2**70}}]}

def good(messages, record):
    return [{"type": "human", "content": m["content"]} for m in messages if m["role"] == "user"]

def objects(messages, record):
    return iter([Told()])

def echoes(messages, record):
    return [{"type": "human", "content": record["trace_id"]}]

def prints(messages, record):
    print("traced content on stdout"); sys.stderr.write("and on stderr"); os.write(1, b"noise\\n")
    return CHAT

def raises(messages, record):
    raise ValueError("traced content " + messages[0]["content"])

def exits(messages, record):
    sys.exit(3)

def dies(messages, record):
    os._exit(3)

def hangs(messages, record):
    time.sleep(600)

def spins(messages, record):
    while True:
        pass

def ignores_signals(messages, record):
    signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGALRM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    time.sleep(600)

def talks(messages, record):
    return [{"type": "human", "content": "x" * 1000}] * 9000

def hoards(messages, record):
    return [{"type": "human", "content": str(len(bytearray(3 * 2**30)))}]

def nothing(messages, record):
    return None

def roles(messages, record):
    return [{"role": "assistant", "content": "traced content"}]

no_function = 5
'''
NAMES = (
    "good", "objects", "echoes", "prints", "raises", "exits", "dies", "hangs", "spins", "ignores_signals", "talks",
    "hoards", "nothing", "roles", "no_function",
)  # fmt: skip
LIMITS = ProducerLimits(call_seconds=1.0, start_seconds=30.0, memory_bytes=2 * 2**30)
CHAT = ({"role": "user", "content": "What about Lisbon?"},)
RECORD = {"trace_id": "ab" * 16}


@pytest.fixture(autouse=True)
def adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed distribution with an adapter for each thing that one may do."""
    (tmp_path / "user_adapters.py").write_text(ADAPTERS)
    (tmp_path / "user_broken.py").write_text("import nothing_of_this_name\n")
    info = tmp_path / "user_adapters-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: user-adapters\nVersion: 1.2\n")
    points = "\n".join(f"{name} = user_adapters:{name}" for name in NAMES)
    text = f"[lanewatch.artifact_producers]\n{points}\nbroken = user_broken:f\nlanewatch = user_adapters:good\n"
    (info / "entry_points.txt").write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(tmp_path))


def asked(name: str, limits: ProducerLimits = LIMITS) -> tuple[dict[str, Any], ...]:
    """The messages of one artifact."""
    producer = ProducerProcess(name, limits)
    try:
        return producer.produce(CHAT, RECORD).messages
    finally:
        producer.close()


def test_an_adapter_is_found_by_its_entry_point_and_owned_by_its_distribution() -> None:
    """What goes wrong in it is told to whoever can mend it; our own name can't be taken."""
    assert {"good", "lanewatch", "ragas.langgraph"} <= set(producer_names())
    assert identify("good").owner == "adapter good (user-adapters)"
    assert identify("good").version == "1.2"
    assert identify("lanewatch").owner == "lanewatch"
    with pytest.raises(UnknownProducerError, match="good"):
        ProducerProcess("no such producer", LIMITS)


def test_an_adapter_is_given_messages_and_record_and_gives_messages() -> None:
    """Dictionaries, or objects like Ragas' own; integers of any size survive the way."""
    assert asked("good") == ({"content": "What about Lisbon?", "metadata": None, "type": "human"},)
    assert asked("echoes")[0]["content"] == "ab" * 16
    assert asked("objects")[0]["tool_calls"] == [{"name": "f", "args": {"big": 2**70}}]


def test_what_an_adapter_prints_does_not_disturb() -> None:
    """Neither the answers nor anybody's log."""
    assert asked("prints")[0]["content"] == "hello"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", r"^ValueError at user_adapters\.py:\d+ in raises$"),
        ("exits", r"^SystemExit at user_adapters\.py:\d+ in exits$"),
        ("dies", "its process ended"),
        ("talks", "longer than"),
        ("hoards", "MemoryError"),
        ("nothing", "no Ragas messages: expected a list of messages, found NoneType|null"),
        ("roles", r"no Ragas messages: messages\[0\].type"),
        ("no_function", "can't be loaded: TypeError"),
        ("broken", r"can't be loaded: ModuleNotFoundError at user_broken\.py:1"),
    ],
)
def test_what_an_adapter_does_wrong_is_a_finding_without_content(name: str, reason: str) -> None:
    """The kind of the exception and its place; its text may hold what the trace holds."""
    with pytest.raises(ProducerFailed, match=reason) as failed:
        asked(name)

    assert "traced content" not in str(failed.value)
    assert "Lisbon" not in str(failed.value)


@pytest.mark.parametrize("name", ["hangs", "spins", "ignores_signals"])
def test_an_adapter_that_does_not_answer_is_ended_with_all_that_it_started(name: str) -> None:
    """Even where it ignores every signal that can be ignored."""
    producer = ProducerProcess(name, LIMITS)
    producer.start()
    assert producer._process is not None
    group = producer._process.pid
    with pytest.raises(ProducerTimedOut, match="within 1 s"):
        producer.produce(CHAT, RECORD)

    deadline = time.monotonic() + 10
    while _alive(group) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(group)


def _alive(group: int) -> bool:
    """Whether any process of a group is left that is no zombie."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                return True
    return False


def test_an_adapter_that_ended_is_started_again() -> None:
    """One crash costs one trace."""
    producer = ProducerProcess("good", LIMITS)
    try:
        producer.start()
        assert producer._process is not None
        os.kill(producer._process.pid, signal.SIGKILL)
        producer._process.wait()

        assert producer.produce(CHAT, RECORD).messages
    finally:
        producer.close()


def test_an_adapter_that_never_answers_is_left_alone_for_a_while() -> None:
    """Three calls in a row cost their time limit, the next ones nothing, until the rest is over."""
    now = [0.0]
    producer = ProducerProcess("dies", LIMITS, clock=lambda: now[0])
    for _ in range(BREAK_AFTER):
        with pytest.raises(ProducerFailed, match="ended"):
            producer.produce(CHAT, RECORD)
    with pytest.raises(ProducerUnavailable, match="rests"):
        producer.produce(CHAT, RECORD)
    now[0] = LIMITS.rest_seconds
    with pytest.raises(ProducerFailed, match="ended"):
        producer.produce(CHAT, RECORD)


def test_a_question_larger_than_a_pipe_does_not_block() -> None:
    """A record of a megabyte goes in while the producer may not even read."""
    producer = ProducerProcess("good", LIMITS)
    try:
        artifact = producer.produce(({"role": "user", "content": "x" * 2**20},), RECORD)
    finally:
        producer.close()

    assert len(artifact.messages[0]["content"]) == 2**20
    stuck = ProducerProcess("hangs", LIMITS)
    with pytest.raises(ProducerTimedOut):
        stuck.produce(({"role": "user", "content": "x" * 2**20},), RECORD)


def test_what_a_converter_needs_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not installed is no fault of the adapter, and names what to install."""
    (tmp_path / "ag_ui.py").write_text("raise ImportError\n")
    with pytest.raises(ProducerUnavailable, match="pip install ag-ui-protocol"):
        asked("ragas.ag_ui")
