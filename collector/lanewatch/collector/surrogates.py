"""Halves of surrogate pairs that JSON escapes alone (backslash u D83D), which no UTF-8 can hold.

JavaScript's length limits cut text in the middle of an emoji. JSON allows that (RFC 8259, 8.2), but whatever writes the
text again fails, so each such half becomes U+FFFD before the text is decoded.
"""

import re

_ESCAPE = rb"\\u[dD][89a-fA-F]"
# An even run of backslashes stands for backslashes; only an odd one ends in an escape.
_PATTERN = (
    rb"(?<!\\)(?P<backslashes>(?:\\\\)*)"
    rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<alone>\\u[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
_BYTES, _BYTES_ESCAPE = re.compile(_PATTERN), re.compile(_ESCAPE)
_TEXT = re.compile(_PATTERN.decode())


def repaired(document: bytes) -> bytes:
    """A JSON document with U+FFFD for each half of a surrogate pair that stands alone."""
    return _BYTES.sub(_repaired_bytes, document) if _BYTES_ESCAPE.search(document) else document


def repaired_text(document: str) -> str:
    """The same of a document that is text already."""
    # Looking for the letters first costs a twentieth of the pattern's search, which took twice as long as decoding.
    return _TEXT.sub(_repaired_text, document) if "\\ud" in document or "\\uD" in document else document


def _repaired_bytes(match: re.Match[bytes]) -> bytes:
    return match["backslashes"] + b"\\ufffd" if match["alone"] else match[0]


def _repaired_text(match: re.Match[str]) -> str:
    return match["backslashes"] + "\\ufffd" if match["alone"] else match[0]
