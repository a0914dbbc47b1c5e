"""Messages of a model call, in one form for all conventions."""

from typing import TypeAlias

import msgspec
from msgspec.structs import force_setattr

from lanewatch.adapters.json_text import dump
from lanewatch.adapters.reading import NO_CONTENT, Content
from lanewatch.adapters.tool_names import NAME_LIMIT, bounded_name


class Text(msgspec.Struct, frozen=True, tag=True):
    """Plain text."""

    text: str


class Refusal(msgspec.Struct, frozen=True, tag=True):
    """A refusal that the API itself marked as one. `text` may be empty."""

    text: str


class Reasoning(msgspec.Struct, frozen=True, tag=True):
    """Thinking; never compared."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, tag=True):
    """A call that a model asks for."""

    name: str
    call_id: str | None = None
    arguments: Content = NO_CONTENT
    by_provider: bool = False  # run by the model's provider: no dispatch follows
    left_open: bool = False  # handed to a client or a person when the run ended: a later run answers it, if any does
    aliases: tuple[str, ...] = ()  # further ids of the same call (OpenAI's item id beside its call id)

    def __post_init__(self) -> None:
        """Bound the name."""
        if len(self.name) > NAME_LIMIT:
            force_setattr(self, "name", bounded_name(self.name))


class ToolResult(msgspec.Struct, frozen=True, tag=True):
    """A tool's result, as the model was shown it."""

    call_id: str | None = None
    name: str | None = None
    content: Content = NO_CONTENT
    is_error: bool = False


class Opaque(msgspec.Struct, frozen=True, tag=True):
    """Media, compaction and whatever else: kept by kind only."""

    kind: str


REDACTED_TEXT = "redacted_text"  # the kind of a text block that holds a placeholder: the blocks beside it are seen

Part: TypeAlias = Text | Refusal | Reasoning | ToolCall | ToolResult | Opaque


class Message(msgspec.Struct, frozen=True):
    """One message. `role` is system, user, assistant or tool."""

    role: str
    parts: tuple[Part, ...] = ()
    finish_reason: str | None = None

    @property
    def text(self) -> str:
        """All text parts, joined as they came."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of this message."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results of this message."""
        return tuple([part for part in self.parts if isinstance(part, ToolResult)])

    @property
    def refusal(self) -> str | None:
        """The refusal that the API marked, if any."""
        return next((part.text for part in self.parts if isinstance(part, Refusal)), None)


ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "tool-call": "assistant",  # smolagents
    "tool-response": "tool",
}


def role_of(value: object, default: str) -> str:
    """A role in our four words; `default` for anything else."""
    return ROLES.get(str(value).lower().removeprefix("messagerole."), default) if value else default


def describe(message: Message) -> str:
    """A digestible form of a message for telling repeated history; reasoning is left out."""
    words = [message.role]
    for part in message.parts:
        if isinstance(part, Text | Refusal):
            words.append(part.text)
        elif isinstance(part, ToolCall):
            words.append(f"{part.name}{dump(part.arguments.value)}")
        elif isinstance(part, ToolResult):
            words.append(part.content.text or "")
    return "\x1f".join(words)


def opening(messages: tuple[Message, ...]) -> str:
    """What a conversation is known again by: its first message that is not the system's."""
    return next((describe(message) for message in messages if message.role != "system"), "")
