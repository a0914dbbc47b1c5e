"""Values of attributes that always hold JSON (JSON.stringify, json.dumps), so that even a text stands in quotes."""

from typing import Any

from lanewatch.adapters.json_text import parse_json
from lanewatch.adapters.reading import Content, read


def json_text(value: Any) -> Content:
    """Content of an attribute that always holds JSON: the quotes of a text are taken off.

    >>> json_text('"blocked"').value, json_text('{"a": 1}').value
    ('blocked', {'a': 1})
    """
    if isinstance(value, str) and value[:1] == '"':
        try:
            return read(parse_json(value))
        except ValueError:  # cut
            return read(value)
    return read(value)
