"""What the bodies of pushes have in common: JSON of a declared shape, of one trace or one session.

Invariants: the shape is checked before anything is kept, and a fault is told by its place alone.
"""

import re
from typing import Annotated, Protocol, TypeVar

import msgspec

from lanewatch.collector.outcomes import RefusalReason, Refused

TRACE_ID = re.compile(r"[0-9a-f]{32}")
# Lists and objects of a body, whatever stands in texts among them: a million take a second to read, in one piece.
MAX_PARTS = 100_000
PLACE = re.compile(r"`(\$[^`]{0,200})`$")

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]


class Pushed(Protocol):
    """Says what it is of: a trace (32 hexadecimal digits) or a session."""

    @property
    def trace_id(self) -> str | None:
        """The trace."""

    @property
    def session_id(self) -> str | None:
        """The session."""


P = TypeVar("P", bound=Pushed)


def read_push(decoder: msgspec.json.Decoder[P], body: bytes, reason: RefusalReason) -> P:
    """Read a body. Raises Refused, for this reason, with the place of the fault."""
    if body.count(b"[") + body.count(b"{") > MAX_PARTS:
        raise Refused(reason, f"more than {MAX_PARTS} lists and objects")
    try:
        pushed = decoder.decode(body)
    except msgspec.ValidationError as error:
        place = PLACE.search(str(error))
        raise Refused(reason, f"at {place[1]}" if place else "at its top") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Refused(reason, "not JSON, or nested too deeply") from None
    if (pushed.trace_id is None) is (pushed.session_id is None):
        raise Refused(reason, "one of trace_id and session_id is needed")
    if pushed.trace_id is not None and not TRACE_ID.fullmatch(pushed.trace_id.lower()):
        raise Refused(reason, "trace_id is not 32 hexadecimal digits")
    return pushed
