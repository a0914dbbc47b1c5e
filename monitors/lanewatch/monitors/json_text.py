"""Values as JSON text and back, for comparing what one side wrote as text with what the other kept as a value."""

import json
from typing import Any

from lanewatch.collector.surrogates import repaired_text

JSON_STARTS = frozenset('{["-0123456789tfn')
TEXT_LIMIT = 2**20  # characters; a longer text is compared as text


def loaded(value: Any) -> Any:
    """The value that a JSON text stands for; anything else as it is."""
    if not isinstance(value, str) or not value or len(value) > TEXT_LIMIT or value[0] not in JSON_STARTS:
        return value
    try:
        return json.loads(repaired_text(value))
    except (ValueError, RecursionError):
        return value


def dumped(value: Any) -> str:
    """JSON text of a value; strangers become their type's name."""
    return json.dumps(value, ensure_ascii=False, default=lambda other: f"<{type(other).__name__}>")
