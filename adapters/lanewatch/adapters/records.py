"""What happened in a trace: the records that everything downstream reads.

Fields and their meaning are those of DESIGN's replay output. Anything that the spans do not prove says so: `executed`
unknown, an outcome of unknown, evidence other than complete. Values are traced content: they go into records and
reports that a person asks for, never into logs, labels or errors.
"""

from enum import StrEnum
from typing import Any

import msgspec

from lanewatch.adapters.facts import Document, ErrorInfo, ErrorKind, Executed, Shape, ToolKind, Usage
from lanewatch.adapters.messages import Message

__all__ = ["Document", "ErrorInfo", "ErrorKind", "Executed", "Message", "Shape", "ToolKind", "Usage"]


class Evidence(StrEnum):
    """How much of one kind of record the spans show."""

    COMPLETE = "complete"
    PARTIAL = "partial"  # some of it is missing or can't be told
    ABSENT = "absent"  # nothing of it was recorded
    REDACTED = "redacted"
    TRUNCATED = "truncated"


EVIDENCE_ORDER = (Evidence.COMPLETE, Evidence.TRUNCATED, Evidence.REDACTED, Evidence.PARTIAL, Evidence.ABSENT)
RECORD_KINDS = ("requests", "dispatches", "retrievals", "responses")


class Incomplete(StrEnum):
    """Why a record does not hold what its trace shows; the label of `lanewatch_records_incomplete_total`."""

    WORK_LIMIT = "work_limit"  # reading took more steps than one trace may (work.py)


class Outcome(StrEnum):
    """What became of a request."""

    DISPATCHED = "dispatched"  # by running its body, or from a cache of what it returned before
    NOT_DISPATCHED = "not_dispatched"  # the runtime dropped it
    BLOCKED = "blocked"  # a guard, a policy or a person refused it
    INVALID = "invalid"  # no such tool, or arguments that were refused
    PENDING = "pending"  # the trace ends before it could be answered
    BY_PROVIDER = "by_provider"  # run by the model's provider
    HANDOFF = "handoff"  # control went to another agent
    ANSWER = "answer"  # an output tool: the arguments are the model's answer, and nothing was to run
    UNUSED = "unused"  # of an alternative that the application did not take, where it had asked for several (n > 1)
    UNKNOWN = "unknown"  # tools are not instrumented here, or the evidence is hidden


# Finish reasons of an output that asks for tools.
TOOL_CALL_REASONS = frozenset(
    {
        "tool_calls", "tool_call", "tool-calls", "tool_use", "function_call", "toolcalls",
        "malformed_function_call", "unexpected_tool_call",  # Gemini and Google ADK, which drop the call itself
    },
)  # fmt: skip


class IdQuality(StrEnum):
    """How far a call id can be trusted to name one call."""

    REAL = "real"
    ITEM = "item_id"
    SYNTHETIC = "synthetic"
    PLACEHOLDER = "placeholder"
    MISSING = "missing"


class ToolRequest(msgspec.Struct, frozen=True):
    """A tool call that the model asked for, out of an LLM output (never out of repeated history).

    `arguments` is None where they are no JSON object (then `arguments_raw` is the text) or were not recorded (then both
    are None). `position` counts the calls of one output from 0; `turn` counts the trace's model calls from 0.
    """

    name: str
    call_id: str | None
    call_id_quality: IdQuality
    arguments: dict[str, Any] | None
    arguments_raw: str | None
    arguments_state: str
    turn: int
    position: int
    span_id: str
    outcome: Outcome = Outcome.UNKNOWN
    aliases: tuple[str, ...] = ()
    observed_result: str | None = None  # what the model was shown as the result


class Dispatch(msgspec.Struct, frozen=True):
    """A TOOL span, and whether its body ran. `request` is an index into the trace's requests."""

    name: str
    call_id: str | None
    arguments: Any
    arguments_state: str
    shape: Shape
    result: Any
    executed: Executed
    error: ErrorInfo | None
    attempt: int
    match_rule: str | None
    request: int | None
    span_id: str
    start_ns: int
    end_ns: int
    kind: ToolKind = ToolKind.FUNCTION
    inside: int | None = None  # index of the dispatch whose body made this one
    turn: int | None = None  # the model call in whose turn it started, counted from 0
    span_ids: tuple[str, ...] = ()  # every span that reported it
    keys: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    application: str | None = None  # why no model can have asked for it: the application's own call, by design


class Retrieval(msgspec.Struct, frozen=True):
    """One retrieval. `query` is None where it was not recorded."""

    query: str | None
    documents: tuple[Document, ...]
    source: str | None
    span_id: str
    start_ns: int
    end_ns: int


class Generation(msgspec.Struct, frozen=True):
    """One model call, after duplicates are folded."""

    span_id: str
    model: str | None
    provider: str | None
    response_id: str | None
    finish_reason: str | None
    usage: Usage
    start_ns: int
    end_ns: int
    error: ErrorInfo | None = None
    reports: int = 1  # how many spans reported it


class Disposition(StrEnum):
    """What an answer does with what was asked (docs/decisions/0009)."""

    REFUSED = "refused"  # the model, its API or a guard would not
    ABSTAINED = "abstained"  # the documents, or what the model knows, do not tell: no refusal
    ANSWERED = "answered"  # only where something positive says so
    UNDETERMINED = "undetermined"  # nothing tells; never taken for an answer


class DispositionSource(StrEnum):
    """What told a disposition, strongest first."""

    FIELD = "field"  # the API's refusal field or part
    FINISH_REASON = "finish_reason"  # a filter, a safety system or the model itself ended the output
    MARKER = "marker"  # a filter's mark in the payload or in an error's text
    EXCEPTION = "exception"  # the type of the error with which a client or framework answers
    TEXT = "text"  # a rule about the answer's words, named by `disposition_rule`
    NONE = "none"


# Which disposition of several answers stands for their trace.
_WEIGHT = (Disposition.REFUSED, Disposition.ABSTAINED, Disposition.UNDETERMINED, Disposition.ANSWERED)


class Response(msgspec.Struct, frozen=True):
    """An answer that ends a turn. `disposition_rule` is the id of the rule or mark that told its disposition."""

    text: str | None
    finish_reason: str | None = None
    disposition: Disposition = Disposition.UNDETERMINED
    disposition_source: DispositionSource = DispositionSource.NONE
    disposition_rule: str | None = None
    span_id: str | None = None

    @property
    def refusal(self) -> bool:
        """Whether a refusal was told. False is no proof of an answer: `disposition` may be undetermined."""
        return self.disposition is Disposition.REFUSED

    @property
    def refused(self) -> bool | None:
        """Whether the answer is a refusal, or None where that is not known."""
        return None if self.disposition is Disposition.UNDETERMINED else self.disposition is Disposition.REFUSED

    @property
    def abstained(self) -> bool | None:
        """Whether the answer is an abstention, or None where that is not known."""
        return None if self.disposition is Disposition.UNDETERMINED else self.disposition is Disposition.ABSTAINED


class OutcomeFact(msgspec.Struct, frozen=True):
    """What somebody who looked says of the state that was left behind. `held` is None where nobody can tell from it.

    `name`, `expected` and `observed` are traced content. `session_id` is the one that the fact itself names.
    """

    name: str
    held: bool | None
    expected: Any = None
    observed: Any = None
    session_id: str | None = None
    time_ns: int | None = None  # when it was seen; None: when it came
    span_id: str | None = None
    told_by: str = "span"  # or push


class TraceRecord(msgspec.Struct, frozen=True):
    """Everything that one trace shows."""

    trace_id: str
    session_id: str | None
    service: str | None
    revision: int
    start_ns: int
    end_ns: int
    conventions: tuple[str, ...]
    requests: tuple[ToolRequest, ...]
    dispatches: tuple[Dispatch, ...]
    retrievals: tuple[Retrieval, ...]
    generations: tuple[Generation, ...]
    responses: tuple[Response, ...]
    messages: tuple[dict[str, Any], ...]
    evidence: dict[str, Evidence]
    tools: dict[str, Any] = {}  # offered tools: name -> JSON Schema
    unread: int = 0  # spans that a convention claimed and could not read
    shown_ids: tuple[str, ...] = ()  # ids of the tool results that models were shown
    complete: bool = True  # no span of it was lost to a limit
    outcomes: tuple[OutcomeFact, ...] = ()
    scopes: tuple[str, ...] | None = None  # roles and scopes of the identity behind it; None: not told
    incomplete: Incomplete | None = None  # nothing was made of the trace, for this reason
    half_hidden: tuple[str, ...] = ()  # kinds that would be complete, were no values within their arguments hidden

    def shows(self, kind: str) -> bool:
        """Whether every record of a kind is seen with its arguments. Hidden values within these may be left: each compares
        by its token or not at all, and whoever compares says so value by value.
        """
        return self.evidence[kind] is Evidence.COMPLETE or kind in self.half_hidden

    @property
    def disposition(self) -> Disposition | None:
        """What the trace's answers come to: a refusal anywhere is one, then an abstention; what is undetermined keeps
        the rest from being an answer. None where no answer was seen. No consumer has to read an answer's text.
        """
        found = {response.disposition for response in self.responses}
        return next((one for one in _WEIGHT if one in found), None)

    def told(self, disposition: Disposition) -> bool | None:
        """Whether any answer is told to be this; None where answers are missing, or were not seen whole and none of the
        seen ones is. It is a rate's event: counted over all answers seen, it does not move with how many are
        undetermined, as a share of the known ones would.
        """
        if any(response.disposition is disposition for response in self.responses):
            return True
        seen = self.responses and self.evidence.get("responses") is Evidence.COMPLETE
        return False if seen else None
