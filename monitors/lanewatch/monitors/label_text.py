"""Names out of traced data as label values: short, on one line, without secrets, and such that UTF-8 can
hold them.
"""

import re

from lanewatch.monitors.redaction.secrets import without_secrets

LABEL_LENGTH = 120  # characters; a tool's name beyond that is cut, as no dashboard shows it
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def label_text(value: str) -> str:
    r"""The value as a label may have it; never empty.

    >>> label_text("a\nb"), label_text("")
    ('a?b', '?')
    """
    # A lone surrogate can't be written as UTF-8: it would break every scrape from then on.
    text = value[:LABEL_LENGTH].encode("utf-8", "replace").decode()
    return without_secrets(CONTROL.sub("?", text)) or "?"
