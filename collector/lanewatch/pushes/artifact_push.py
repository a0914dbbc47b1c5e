"""The body of `POST /v1/artifacts`: an evaluator's messages of one trace or session, and who made them.

Invariants: the shape is checked before anything is kept, a fault is told by its place alone, and integers of any size
arrive as they were sent.
"""

from typing import Annotated, Any, Literal

import msgspec

from lanewatch.adapters.artifact_messages import OWN, Artifact, call_dicts, message_dicts
from lanewatch.collector.content import value_bytes
from lanewatch.collector.outcomes import RefusalReason, Refused
from lanewatch.pushes.body import Id, Name, read_push


class PushedCall(msgspec.Struct, frozen=True):
    """Ragas' ToolCall."""

    name: str
    args: dict[str, Any]


class PushedMessage(msgspec.Struct, frozen=True):
    """Ragas' HumanMessage, AIMessage or ToolMessage, as `model_dump` writes them."""

    type: Literal["human", "ai", "tool"]
    content: str
    metadata: dict[str, Any] | None = None
    tool_calls: tuple[PushedCall, ...] | None = None


class PushedArtifact(msgspec.Struct, frozen=True):
    """An artifact. One of `trace_id` (32 hexadecimal digits) and `session_id` says what it is of.

    `reference_tool_calls` are the calls that a test expects of the messages.
    """

    producer: Name
    messages: Annotated[tuple[PushedMessage, ...], msgspec.Meta(max_length=10_000)]
    version: Name | None = None
    owner: Name | None = None
    trace_id: Id | None = None
    session_id: Id | None = None
    strict: bool = False
    reference_tool_calls: Annotated[tuple[PushedCall, ...], msgspec.Meta(max_length=10_000)] | None = None

    def memory(self) -> int:
        """Bytes in memory of what is in it at any depth: three bytes of JSON can become a hundred."""
        calls = [call.args for message in self.messages for call in message.tool_calls or ()]
        expected = [call.args for call in self.reference_tool_calls or ()]
        texts = [(message.content, message.metadata) for message in self.messages]
        return value_bytes([calls, expected, texts])

    def artifact(self) -> Artifact:
        """The artifact that can be compared. Raises ArtifactFault for what is nested too deeply."""
        owner = self.owner or f"producer {self.producer}{f' {self.version}' if self.version else ''}"
        messages = message_dicts(msgspec.to_builtins(self.messages))
        return Artifact(self.producer, owner, messages, self.version, self.strict)

    def reference(self) -> tuple[dict[str, Any], ...] | None:
        """The calls that a test expects, if it says. Raises ArtifactFault for what is nested too deeply."""
        return None if self.reference_tool_calls is None else call_dicts(msgspec.to_builtins(self.reference_tool_calls))


_decoder = msgspec.json.Decoder(PushedArtifact)


def parse_push(body: bytes) -> PushedArtifact:
    """Read a body. Raises Refused with the place of the fault."""
    pushed = read_push(_decoder, body, RefusalReason.NO_ARTIFACT)
    if pushed.producer == OWN:
        raise Refused(RefusalReason.NO_ARTIFACT, f"the name {OWN} is Lanewatch's own")
    return pushed
