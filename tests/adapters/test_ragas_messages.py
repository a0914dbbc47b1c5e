"""Messages as real Ragas objects, and the contract of Ragas that the artifact is built for."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from lanewatch.adapters.conversation import conversations
from lanewatch.adapters.ragas_messages import to_ragas, to_sample
from lanewatch.config.keys import Config
from lanewatch.replaying.playback import replay
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage

CORPUS = Path(__file__).parent.parent / "corpus"
MESSAGES: tuple[dict[str, Any], ...] = (
    {"content": "Refund order A-7.", "metadata": None, "type": "human"},
    {
        "content": "",
        "metadata": {"tool_call_ids": ["call_1"]},
        "type": "ai",
        "tool_calls": [{"name": "refund", "args": {"order": {"id": "A-7"}}}],
    },
    {"content": "ok", "metadata": {"tool_call_id": "call_1"}, "type": "tool"},
    {"content": "Done.", "metadata": None, "type": "ai", "tool_calls": None},
)


def test_each_dictionary_becomes_its_ragas_message() -> None:
    """By type, with calls and metadata."""
    human, asked, told, answer = to_ragas(MESSAGES)

    assert human == HumanMessage(content="Refund order A-7.")
    assert asked.tool_calls == [ToolCall(name="refund", args={"order": {"id": "A-7"}})]
    assert told == ToolMessage(content="ok", metadata={"tool_call_id": "call_1"})
    assert answer == AIMessage(content="Done.")


def test_the_dictionaries_are_what_ragas_itself_would_dump() -> None:
    """So that a file of them can be read back by Ragas."""
    assert [message.model_dump() for message in to_ragas(MESSAGES)] == list(MESSAGES)


def test_nested_arguments_are_copied() -> None:
    """Ragas keeps nested objects as the caller's own; a change there must not change the record."""
    asked = to_ragas(MESSAGES)[1]
    asked.tool_calls[0].args["order"]["id"] = "changed"

    assert MESSAGES[1]["tool_calls"][0]["args"] == {"order": {"id": "A-7"}}


def test_ragas_drops_ids_that_are_not_in_the_metadata() -> None:
    """The reason why ids ride there: an upgrade of Ragas that changes this is to be noticed."""
    assert "tool_call_id" not in ToolMessage.model_validate({"content": "r", "tool_call_id": "c1"}).model_dump()


@pytest.mark.parametrize(
    "capture", sorted(p.parent.relative_to(CORPUS).as_posix() for p in CORPUS.glob("*_*/*/truth.json"))
)
def test_every_recorded_turn_is_a_valid_sample(capture: str) -> None:
    """Ragas checks the order of messages when a sample is made: a result without its call would be refused."""
    for seen in replay(CORPUS / capture, Config()).observations:
        sample = to_sample(seen.record.messages)

        assert len(sample.user_input) == len(seen.record.messages)


def test_history_is_never_a_new_call() -> None:
    """Three turns of one conversation, each a trace that repeats the turns before it: every call is there once."""
    capture = CORPUS / "langchain_oi" / "11_multi_turn"
    truth = json.loads((capture / "truth.json").read_text())
    observations = replay(capture, Config()).observations
    (messages,) = conversations(seen.record for seen in observations).values()
    calls = [call["name"] for message in messages for call in message.get("tool_calls") or ()]
    humans = [message["content"] for message in messages if message["type"] == "human"]

    assert calls == [call["name"] for call in truth["llm_emitted_calls"]]
    assert humans == truth["conversation"]
    assert to_sample(messages)


def test_a_gzipped_capture_is_what_is_read() -> None:
    """The corpus is compressed; the fixture must not be empty by accident."""
    assert gzip.decompress((CORPUS / "langchain_oi" / "01_right_tool" / "request-000.pb.gz").read_bytes())
