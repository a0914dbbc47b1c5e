"""Names out of traced data as label values: short, on one line, inert, without secrets, and such that UTF-8 can hold
them.
"""

import unicodedata

from lanewatch.monitors.redaction.secrets import without_secrets

LABEL_LENGTH = 120  # characters; a tool's name beyond that is cut, as no dashboard shows it
SEARCHED_LENGTH = 4096  # characters that are searched first: half of a key that a cut leaves is no key to any rule
# Controls, line ends, lone surrogates (no UTF-8: one would break every scrape from then on), and format characters, which
# reorder or hide what stands beside them (U+200F, U+061C, U+FEFF, tags).
STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def label_text(value: str) -> str:
    r"""The value as a label may have it, with what would steer a page written out; never empty.

    >>> label_text("a\nb"), label_text("")
    ('a\\nb', '?')
    """
    value = without_secrets(value[:SEARCHED_LENGTH])[:LABEL_LENGTH]
    if not (value.isascii() and value.isprintable()):
        value = "".join(ascii(char)[1:-1] if unicodedata.category(char) in STEERING else char for char in value)
    return without_secrets(value)[:LABEL_LENGTH] or "?"
