"""Streamed answers, put together from their chunks.

MLflow's own sum of a chat stream has the text alone: `tool_calls` is null and the finish reason may say `stop` where the
model asked for tools. Each chunk is a span event `mlflow.chunk.item.N`. SDKs keep 128 events a span, so the first may be
missing: then the sum can't be trusted, and neither can the chunks.
"""

from typing import Any

import msgspec

from lanewatch.adapters.json_text import parse_json_text
from lanewatch.adapters.message_parts import arguments_of
from lanewatch.adapters.message_shapes import read_completion
from lanewatch.adapters.messages import Message, Part, Refusal, Text, ToolCall
from lanewatch.adapters.reading import dictionaries
from lanewatch.collector.spans import Span

CHUNK = "mlflow.chunk.item."
VALUE = "mlflow.chunk.value"
DIGITS = 9
CHAT = ("chat.completion.chunk", "text_completion")
ENDINGS = ("response.completed", "response.incomplete")


class Streamed(msgspec.Struct, frozen=True):
    """An answer put together from chunks; `is_whole` where none of them is missing."""

    messages: tuple[Message, ...]
    is_whole: bool


class _Choice(msgspec.Struct):
    """What has come of one choice of a chat completion."""

    text: str = ""
    refusal: str = ""
    finish: str | None = None
    calls: dict[int, dict[str, str]] = msgspec.field(default_factory=dict)

    def add(self, choice: dict[str, Any]) -> None:
        delta = choice["delta"] if isinstance(choice.get("delta"), dict) else choice
        for content in (delta.get("content"), choice.get("text")):
            self.text += content if isinstance(content, str) else ""
        self.refusal += delta["refusal"] if isinstance(delta.get("refusal"), str) else ""
        reason = choice.get("finish_reason")
        self.finish = reason if isinstance(reason, str) and reason else self.finish
        for place, item in enumerate(dictionaries(delta.get("tool_calls"))):
            index = item.get("index")
            call = self.calls.setdefault(index if isinstance(index, int) else place, {"id": "", "name": "", "text": ""})
            function = item["function"] if isinstance(item.get("function"), dict) else {}
            for key, piece in (
                ("id", item.get("id")),
                ("name", function.get("name")),
                ("text", function.get("arguments")),
            ):
                call[key] += piece if isinstance(piece, str) else ""

    def message(self) -> Message:
        parts: list[Part] = [Text(self.text)] if self.text else []
        parts += [Refusal(self.refusal)] if self.refusal else []
        for _, call in sorted(self.calls.items()):
            parts.append(ToolCall(call["name"], call["id"] or None, arguments_of(call["text"])))
        return Message("assistant", tuple(parts), self.finish)


def streamed(span: Span) -> Streamed | None:
    """The answer that a span's chunks make, or None where it has none of a known shape."""
    chunks: list[tuple[int, Any]] = []
    for event in span.events:
        number = event.name.removeprefix(CHUNK)
        if number != event.name and number.isdecimal() and len(number) <= DIGITS:
            chunks.append((int(number), parse_json_text(event.attributes.get(VALUE))))
    if not chunks:
        return None
    chunks.sort(key=lambda chunk: chunk[0])
    gapless = [index for index, _ in chunks] == list(range(len(chunks)))
    choices: dict[int, _Choice] = {}
    for _, value in chunks:
        if not isinstance(value, dict):
            continue
        if value.get("type") in ENDINGS and isinstance(value.get("response"), dict):
            return Streamed(read_completion(value["response"]), is_whole=True)
        if value.get("object") in CHAT or "choices" in value:
            for choice in dictionaries(value.get("choices")):
                index = choice.get("index")
                choices.setdefault(index if isinstance(index, int) else 0, _Choice()).add(choice)
    if not choices:
        return None
    messages = tuple(choice.message() for _, choice in sorted(choices.items()))
    return Streamed(messages, is_whole=gapless and all(message.finish_reason for message in messages))
