"""Halves of surrogate pairs that JSON escapes alone (backslash u D83D), which no UTF-8 can hold.

JavaScript's length limits cut text in the middle of an emoji. JSON allows that (RFC 8259, 8.2), but whatever writes the
text again fails, so each such half becomes U+FFFD before the text is decoded.
"""

import re

# A run of backslashes before a half: an even one stands for backslashes, and only an odd one ends in an escape. It begins
# with a plain backslash, so that the search runs from one to the next; looking behind first took 40 times as long.
_HALF = (
    rb"\\(?<!\\\\)(?P<more>\\*)"
    rb"(?:(?P<first>u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_BYTES, _TEXT = re.compile(_HALF), re.compile(_HALF.decode())


def repaired(document: bytes) -> bytes:
    """A JSON document with U+FFFD for each half of a surrogate pair that stands alone."""
    return _BYTES.sub(_repaired_bytes, document) if b"\\ud" in document or b"\\uD" in document else document


def repaired_text(document: str) -> str:
    """The same of a document that is text already."""
    # Looking for the letters first costs a twentieth of the pattern's search.
    return _TEXT.sub(_repaired_text, document) if "\\ud" in document or "\\uD" in document else document


def _repaired_bytes(match: re.Match[bytes]) -> bytes:
    more, first = match["more"], match["first"]
    escapes = len(more) % 2 == 0
    if first is None:
        return more + b"\\ufffd" if escapes else match[0]
    return match[0] if escapes else b"\\" + more + first + b"\\ufffd"


def _repaired_text(match: re.Match[str]) -> str:
    more, first = match["more"], match["first"]
    escapes = len(more) % 2 == 0
    if first is None:
        return more + "\\ufffd" if escapes else match[0]
    return match[0] if escapes else "\\" + more + first + "\\ufffd"
