"""What a convention makes of one span: a model call, a run of a tool, a retrieval, or a step of an agent.

Facts are per span and unpaired; pairing and duplicates work on them without knowing who wrote the span.
"""

from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from lanewatch.adapters.messages import REDACTED_TEXT, Message, Opaque
from lanewatch.adapters.reading import NO_CONTENT, Content, State
from lanewatch.adapters.tool_names import NAME_LIMIT, bounded_name
from lanewatch.collector.spans import Span


class Executed(StrEnum):
    """Whether a tool's body ran."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class ErrorKind(StrEnum):
    """What kind of error a tool run or model call ended with."""

    FAILURE = "failure"  # it ran and failed
    VALIDATION = "validation"  # its arguments, or its name, were refused before it ran
    BLOCKED = "blocked"  # a guard, a policy or a person refused it
    CANCELLED = "cancelled"
    DEFERRED = "deferred"  # it waits for a person, or for a client to run it: no failure


class ErrorInfo(msgspec.Struct, frozen=True):
    """An error as the span, or the result in it, tells it. `message` is traced content."""

    type: str | None = None
    kind: ErrorKind = ErrorKind.FAILURE
    message: str | None = None


class Shape(StrEnum):
    """How the span wrote a run's arguments."""

    OBJECT = "object"
    BARE = "bare"  # the value of the only argument, its name lost
    POSITIONAL = "positional"  # values in order, names lost
    TEXT = "text"  # not an object: cut or malformed JSON
    ABSENT = "absent"


class ToolKind(StrEnum):
    """What a TOOL span stands for."""

    FUNCTION = "function"
    HANDOFF = "handoff"  # a framework's own tool by which one agent passes work to another
    RETRIEVER = "retriever"
    OUTPUT = "output"  # the model's way to end the run with an answer


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one model call."""

    input: int | None = None
    output: int | None = None


class LlmCall(msgspec.Struct, frozen=True):
    """One call of a model. `output_state` tells whether the answer was recorded at all."""

    span: Span
    convention: str
    input: tuple[Message, ...] = ()
    output: tuple[Message, ...] = ()
    input_state: State = State.ABSENT
    output_state: State = State.ABSENT
    finish_reason: str | None = None
    model: str | None = None
    provider: str | None = None
    response_id: str | None = None
    usage: Usage = Usage()
    tools: dict[str, Any] | None = None  # offered tools: name -> JSON Schema of the arguments; None: not recorded
    error: ErrorInfo | None = None
    session_id: str | None = None
    overwritten: bool = False  # the last of several calls that one span was written for: the others may be lost

    @property
    def hides_text(self) -> bool:
        """Whether a text of the output is hidden, where the parts beside it are seen."""
        return any(isinstance(p, Opaque) and p.kind == REDACTED_TEXT for message in self.output for p in message.parts)


class ToolRun(msgspec.Struct, frozen=True):
    """A TOOL span. Whether its body ran is decided later (execution.py); until then `executed` is YES, unless the span
    says otherwise.
    """

    span: Span
    convention: str
    name: str
    call_id: str | None = None
    id_rule: str = "R1"  # R1: the id is an attribute; R3: recovered from a payload or a parent
    arguments: Content = NO_CONTENT
    shape: Shape = Shape.ABSENT
    result: Content = NO_CONTENT
    executed: Executed = Executed.YES
    error: ErrorInfo | None = None
    kind: ToolKind = ToolKind.FUNCTION
    schema: dict[str, Any] | None = None
    session_id: str | None = None
    keys: tuple[str, ...] = ()  # attribute keys that the record was read from

    def __post_init__(self) -> None:
        """Bound the name."""
        if len(self.name) > NAME_LIMIT:
            force_setattr(self, "name", bounded_name(self.name))


class Document(msgspec.Struct, frozen=True):
    """A retrieved document. `score_kind` is similarity, distance or unknown."""

    rank: int
    id: str | None = None
    content: str | None = None
    score: float | None = None
    score_kind: str = "unknown"


class Search(msgspec.Struct, frozen=True):
    """A RETRIEVER span, or with `reranks` a RERANKER's: what it made of documents that were found before."""

    span: Span
    convention: str
    query: str | None = None
    documents: tuple[Document, ...] = ()
    state: State = State.ABSENT
    source: str | None = None
    session_id: str | None = None
    low_level: bool = False  # of the vector store: it completes a retriever around it, and is a retrieval without one
    reranks: bool = False


AGENT = "agent"  # the role of a step in which an agent runs
HANDOFF = "handoff"  # the role of a step in which one agent hands over to another


class Step(msgspec.Struct, frozen=True):
    """An agent, chain or other step. `instruments_tools`: whoever wrote this span would also have written TOOL spans."""

    span: Span
    convention: str
    role: str
    instruments_tools: bool = False
    target: str | None = None  # the agent's name; of a handoff, the agent that takes over
    refusal: str | None = None
    error: ErrorInfo | None = None
    session_id: str | None = None
    answer: str | None = None  # what an agent gave its caller, where that is more than its last model output
    awaits: tuple[str, ...] = ()  # ids of calls that an agent handed back, for a person to approve or a client to run


Fact: TypeAlias = LlmCall | ToolRun | Search | Step
