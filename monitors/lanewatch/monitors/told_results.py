"""Whether an artifact's tool message says what the tool returned, or what the model was shown of it.

Frameworks write a result as JSON, as Python's `str`, as text blocks or bare; all of these say the same. An error's text
is wrapped by most of them, so a message that holds it says it. What was taken out of a result or a message says nothing:
it is neither the same nor another.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Any

from lanewatch.adapters.identity import canonical
from lanewatch.monitors.differences import differences
from lanewatch.monitors.expected_calls import ExpectedCall
from lanewatch.monitors.json_text import dumped, loaded
from lanewatch.monitors.redaction.comparing import alike, behind, conceals_within, has_hole
from lanewatch.monitors.redaction.tokens import TOKEN, Key


def content_keys(content: str) -> frozenset[Hashable]:
    """What a message's content says. It is a result that it shares one of these with, `result_keys` of that."""
    text = content.strip()
    told = loaded(text)
    return frozenset((("text", text), ("value", canonical(told)), ("blocks", _texts(told) or text)))


def result_keys(result: Any) -> frozenset[Hashable]:
    """What a message says that tells this result."""
    meant = loaded(result)
    keys: list[Hashable] = [("value", canonical(meant))]
    keys += [("text", result.strip())] if isinstance(result, str) else [("text", str(result)), ("text", dumped(result))]
    blocks = _texts(meant)
    return frozenset(keys if blocks is None else [*keys, ("text", blocks), ("blocks", blocks)])


def says(content: str, result: Any) -> bool:
    """Whether a message's content is this result."""
    return content == result or not content_keys(content).isdisjoint(result_keys(result))


def tells_result(content: str, call: ExpectedCall, key: Key | None = None) -> bool | None:
    """Whether a message's content is one of a call's known results; True where none is known, and None where something is
    hidden on either side that may make it so. Tokens of hidden values compare by `key`.
    """
    if not (call.results or call.errors):
        return True
    states = [_tells(content, result, key) for result in call.results]
    whole = [error for error in call.errors if not has_hole(error)]
    if True in states or tells_error(content, whole):
        return True
    unsure = None in states or len(whole) < len(call.errors) or bool(whole and has_hole(content))
    return None if unsure else False


def _tells(content: str, result: Any, key: Key | None) -> bool | None:
    """Whether a message is this result; None where only what is hidden can tell."""
    if not has_hole(content) and not conceals_within(result):
        return says(content, result)
    told, meant = loaded(content), loaded(result)
    if isinstance(told, dict | list) and type(told) is type(meant):
        states = [same for _, same in behind(differences(meant, told), meant, told, key)]
        if False in states:
            return False
        without_tokens = TOKEN.sub("", content), TOKEN.sub("", dumped(meant))
        return None if None in states or any(map(has_hole, without_tokens)) else True
    return alike(content, result if isinstance(result, str) else dumped(result), key)


def tells_error(content: str, errors: Iterable[str]) -> bool:
    """Whether a message holds the text of an error."""
    return any(error in content for error in errors)


class Contents:
    """Messages' contents in order, each of which tells at most one call."""

    def __init__(self, contents: list[str]) -> None:
        self._left = dict(enumerate(contents))
        self._places: dict[Hashable, list[int]] = defaultdict(list)  # last first
        for place in reversed(self._left):
            for key in content_keys(contents[place]):
                self._places[key].append(place)

    def take(self, call: ExpectedCall) -> bool:
        """Take the first content that tells a result of this call; False where none does. What is hidden tells none."""
        found: list[int] = []
        whole = (result for result in call.results if not conceals_within(result))
        for key in {key for result in whole for key in result_keys(result)}:
            places = self._places.get(key)
            while places and places[-1] not in self._left:
                places.pop()
            if places:
                found.append(places[-1])
        if call.errors:
            found += islice((place for place, text in self._left.items() if tells_error(text, call.errors)), 1)
        if found:
            del self._left[min(found)]
        return bool(found)

    @property
    def left(self) -> list[str]:
        """What was not taken."""
        return list(self._left.values())


def first_difference(content: str, call: ExpectedCall, key: Key | None = None) -> tuple[str, Any, Any]:
    """(JSON path, what was returned, what is told), into the results where both are JSON, else `$` for the whole; MISSING
    where a side has nothing there. What is hidden in a way that does not compare is passed over.
    """
    returned = (*call.results, *call.errors)[0]
    told, meant = loaded(content), loaded(returned)
    if isinstance(told, dict | list) and type(told) is type(meant):
        proved = (one for one, same in behind(differences(meant, told), meant, told, key) if same is False)
        return next(proved, ("$", returned, content))
    return "$", returned, content


def _texts(value: Any) -> str | None:
    """The text of a list of text blocks, as MCP and the providers write results."""
    blocks = value if isinstance(value, list) else [value] if isinstance(value, dict) and "text" in value else None
    if not blocks or not all(isinstance(b, dict) and isinstance(b.get("text"), str) for b in blocks):
        return None
    return _joined(block["text"] for block in blocks)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(texts).strip()
