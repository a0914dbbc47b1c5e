"""Whether an artifact's tool message says what the tool returned, or what the model was shown of it.

Frameworks write a result as JSON, as Python's `str`, as text blocks or bare; all of these say the same. An error's text
is wrapped by most of them, so a message that holds it says it.
"""

from collections.abc import Iterable
from typing import Any

from lanewatch.adapters.identity import same
from lanewatch.monitors.differences import MISSING, differences
from lanewatch.monitors.expected_calls import ExpectedCall
from lanewatch.monitors.json_text import dumped, loaded


def says(content: str, result: Any) -> bool:
    """Whether a message's content is this result."""
    if content == result:
        return True
    text = content.strip()
    if isinstance(result, str) and text == result.strip():
        return True
    told, meant = loaded(text), loaded(result)
    if same(told, meant):
        return True
    if not isinstance(result, str) and text in {str(result), dumped(result)}:
        return True
    blocks = _texts(meant)
    return blocks is not None and blocks in {text, _texts(told)}


def tells_result(content: str, call: ExpectedCall) -> bool:
    """Whether a message's content is one of a call's known results; True where none is known."""
    if any(says(content, result) for result in call.results):
        return True
    return any(error in content for error in call.errors) or not (call.results or call.errors)


def first_difference(content: str, call: ExpectedCall) -> tuple[str, Any, Any]:
    """(JSON path, what was returned, what is told), into the results where both are JSON, else `$` for the whole."""
    returned = (*call.results, *call.errors)[0]
    told, meant = loaded(content), loaded(returned)
    if isinstance(told, dict | list) and type(told) is type(meant):
        path, there, here = next(iter(differences(meant, told)), ("$", returned, content))
        return path, None if there is MISSING else there, None if here is MISSING else here
    return "$", returned, content


def _texts(value: Any) -> str | None:
    """The text of a list of text blocks, as MCP and the providers write results."""
    blocks = value if isinstance(value, list) else [value] if isinstance(value, dict) and "text" in value else None
    if not blocks or not all(isinstance(b, dict) and isinstance(b.get("text"), str) for b in blocks):
        return None
    return _joined(block["text"] for block in blocks)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(texts).strip()
