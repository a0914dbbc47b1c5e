"""Values and records without what must not be stored or judged.

Hidden are: sensitive arguments of the registry, fields whose name says that they hold a secret, secrets that a rule finds
in text, and every other place where a value that was hidden as a whole occurs again. The same value gives the same token
at each place. What is given in is never changed.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from lanewatch.adapters.records import Dispatch, ToolRequest, TraceRecord
from lanewatch.monitors.contracts import Place, values_at
from lanewatch.monitors.redaction.repeats import NO_REPEATS, Repeats, spellings
from lanewatch.monitors.redaction.secrets import find_secrets, names_a_secret, with_stand_ins
from lanewatch.monitors.redaction.tokens import TOKEN, Key, canonical_text, token
from lanewatch.monitors.tools import UNREGISTERED, Registry

T = TypeVar("T")

DEEPEST = 64  # levels; what lies deeper is hidden as a whole
SHORTEST_NUMBER = 13  # characters of one that may be a secret: a card's; each other secret has letters
SHORTEST_REPEAT = 4  # characters; a shorter value ("42") would be found in any text
IDS = ("trace_id", "span_id", "span_ids")  # hexadecimal, made by the tracer; digits of them may pass for a card's
LONGEST_TEXT = 256 * 1024  # characters of one text that are searched; the rest is hidden
MOST_TEXT = 2 * 2**20  # characters of one record that are searched (0.5 s); texts beyond that are hidden whole
BEYOND = (
    4096  # characters behind the longest text that are looked at, so that no cut makes half a secret of a whole one
)
MOST_DONE = (
    20_000  # texts of one record that are remembered while it is hidden; all their characters are bounded anyway
)
SCHEMA_KEYS = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum"})  # a field's definition, which is no value


class Search:
    """What is looked for in one record, and how many more characters of it may be searched."""

    def __init__(self, repeats: Repeats = NO_REPEATS) -> None:
        self.repeats = repeats
        self.left = MOST_TEXT
        self.done: dict[str, str] = {}  # texts and what became of them: a name, and what was said, stand in many places


class Redactor:
    """Hides, under one key. Without a key what is hidden is marked and can't be compared."""

    def __init__(self, key: Key | None = None, registry: Registry = UNREGISTERED) -> None:
        """`registry` names the sensitive arguments."""
        self.key = key
        self._registry = registry

    def text(self, text: str) -> str:
        """A text with its secrets replaced."""
        return self._text(text, Search())

    def value(self, value: Any) -> Any:
        """A JSON value with its secrets replaced."""
        return self._value(value, Search(), 0)

    def record(self, record: TraceRecord, search: Search | None = None) -> TraceRecord:
        """A record that may be stored or judged: ids, times, states and the names of tools stay."""
        return self.redact(record, record, search)

    def redact(self, value: T, record: TraceRecord, search: Search | None = None) -> T:
        """Anything made of a record (a struct, or plain values), without what must be hidden in that record. `search` is the
        record's, where several values are made of it.
        """
        hidden: T = self._any(value, search or self.search(record))
        if not isinstance(value, TraceRecord) or not isinstance(hidden, TraceRecord):
            return hidden
        requests = tuple(self._request(a, b) for a, b in zip(record.requests, hidden.requests, strict=True))
        dispatches = tuple(self._dispatch(a, b) for a, b in zip(record.dispatches, hidden.dispatches, strict=True))
        messages = tuple(map(self._message, record.messages, hidden.messages))
        return msgspec.structs.replace(hidden, requests=requests, dispatches=dispatches, messages=messages)

    def messages(self, record: TraceRecord, search: Search) -> tuple[dict[str, Any], ...]:
        """The messages of a record, as `record` gives them, without the rest; `search` is the record's."""
        return tuple(map(self._message, record.messages, self._any(record.messages, search)))

    def arguments(self, name: str, arguments: Any) -> Any:
        """A tool's arguments, or its value at `$`, with its sensitive ones and secrets replaced."""
        return self._placed(arguments, self.value(arguments), self._places(name))

    def at(self, name: str, place: Place, value: Any) -> Any:
        """The value at one place of a tool's arguments: hidden whole where the place lies in a sensitive one."""
        for sensitive in self._places(name):
            if place[: len(sensitive)] == sensitive:
                return value if value is None or _is_token(value) else token(value, self.key)
        return self.value(value)

    # ---- what is known to be sensitive

    def search(self, record: TraceRecord) -> Search:
        """The values that are hidden as a whole, in the spellings in which a text may repeat them."""
        found: dict[str, str] = {}
        calls: tuple[ToolRequest | Dispatch, ...] = (*record.requests, *record.dispatches)
        for call in calls:
            for value in self._sensitive_values(call.name, call.arguments):
                stand_in = token(value, self.key)
                for text in spellings(value if isinstance(value, str) else canonical_text(value)):
                    if len(text) >= SHORTEST_REPEAT:
                        found.setdefault(text, stand_in)
            raw = call.arguments_raw if isinstance(call, ToolRequest) and call.arguments is None else None
            if raw is not None and len(raw) >= SHORTEST_REPEAT and self._places(call.name):
                found.setdefault(raw, token(raw, self.key))
        return Search(Repeats(found))

    def _sensitive_values(self, name: str, arguments: Any) -> Iterator[Any]:
        for place in self._places(name):
            yield from (leaf for value in values_at(arguments, place) for leaf in _leaves(value))

    def _places(self, name: str) -> Iterable[Place]:
        tool = self._registry.find(name)
        return () if tool is None else tool.sensitive

    # ---- hiding

    def _request(self, plain: ToolRequest, hidden: ToolRequest) -> ToolRequest:
        places = self._places(plain.name)
        if not places:
            return hidden
        raw = None if plain.arguments_raw is None else token(plain.arguments_raw, self.key)
        arguments = self._placed(plain.arguments, hidden.arguments, places)
        return msgspec.structs.replace(hidden, arguments=arguments, arguments_raw=raw)

    def _dispatch(self, plain: Dispatch, hidden: Dispatch) -> Dispatch:
        places = self._places(plain.name)
        if not places:
            return hidden
        if isinstance(plain.arguments, dict):
            return msgspec.structs.replace(hidden, arguments=self._placed(plain.arguments, hidden.arguments, places))
        if plain.arguments is None:
            return hidden
        return msgspec.structs.replace(hidden, arguments=token(plain.arguments, self.key))  # names were lost: all of it

    def _message(self, plain: dict[str, Any], hidden: dict[str, Any]) -> dict[str, Any]:
        calls = plain.get("tool_calls")
        if not calls:
            return hidden
        told = [
            {**after, "args": self._placed(before["args"], after["args"], self._places(before["name"]))}
            for before, after in zip(calls, hidden["tool_calls"], strict=True)
        ]
        return {**hidden, "tool_calls": told}

    def _placed(self, plain: Any, hidden: Any, places: Iterable[Place]) -> Any:
        for place in places:
            hidden = _replaced(plain, hidden, place, lambda value: token(value, self.key))
        return hidden

    def _any(self, value: Any, known: Search) -> Any:
        """A struct, or plain values, of the same types."""
        if isinstance(value, msgspec.Struct):
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            changed = {name: self._any(item, known) for name, item in fields.items() if name not in IDS}
            return msgspec.structs.replace(value, **changed)
        if isinstance(value, tuple):
            return tuple(self._any(item, known) for item in value)
        return self._value(value, known, 0)

    def _value(self, value: Any, known: Search, depth: int) -> Any:
        if type(value) is str:  # an enum's member is a name, not content
            return self._text(value, known)
        if isinstance(value, msgspec.Struct):
            return self._any(value, known)
        if depth > DEEPEST and isinstance(value, dict | list | tuple):
            return token(repr(type(value)), None)
        if isinstance(value, dict):
            return {
                self._text(key, known) if type(key) is str else key: self._field(key, item, known, depth)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._value(item, known, depth + 1) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = str(value) if isinstance(value, float) or value.bit_length() < 4096 else ""  # noqa: PLR2004 - str's limit is 4,300 digits
            is_secret = len(text) >= SHORTEST_NUMBER and any(find_secrets(text))
            return known.repeats.get(text) or (token(value, self.key) if is_secret else value)
        return token(value.hex(), self.key) if isinstance(value, bytes) else value

    def _field(self, key: Any, value: Any, known: Search, depth: int) -> Any:
        if isinstance(key, str) and value not in (None, "", {}, []) and names_a_secret(key):
            if not isinstance(value, bool | dict | list) and not _is_token(value):
                return token(value, self.key)
            if isinstance(value, list) or (isinstance(value, dict) and not SCHEMA_KEYS & value.keys()):
                return self._hidden_leaves(value, depth)
        return self._value(value, known, depth + 1)

    def _hidden_leaves(self, value: Any, depth: int) -> Any:
        """Every value below a field that is named for a secret: `credentials: {user, pass}`, `cookies: [...]`."""
        if depth > DEEPEST:
            return token(repr(type(value)), None)
        if isinstance(value, dict):
            return {self.text(str(key)): self._hidden_leaves(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._hidden_leaves(item, depth + 1) for item in value]
        return value if value is None or isinstance(value, bool) or _is_token(value) else token(value, self.key)

    def _text(self, text: str, known: Search) -> str:
        if known.left < min(len(text), LONGEST_TEXT):
            return token(text, self.key)
        if len(text) > LONGEST_TEXT:
            at = _whole(text, known.repeats)
            return self._text(text[:at], known) + token(text[at:], self.key)
        known.left -= len(text)
        done = known.done.get(text)
        if done is None:
            done = self._searched(text, known)
            if len(known.done) < MOST_DONE:
                known.done[text] = done
        return done

    def _searched(self, text: str, known: Search) -> str:
        text = known.repeats.replaced(text)
        # What stands for a hidden value is no text to search: its digits may pass for a card's.
        pieces, at = [], 0
        for found in TOKEN.finditer(text):
            pieces += [self._plain(text[at : found.start()]), found[0]]
            at = found.end()
        return "".join([*pieces, self._plain(text[at:])])

    def _plain(self, text: str) -> str:
        """A text without tokens, with its secrets replaced."""
        return with_stand_ins(text, lambda secret: token(secret, self.key))


def _whole(text: str, repeats: Repeats) -> int:
    """Where to cut a long text so that no secret is cut in two."""
    window = text[LONGEST_TEXT - BEYOND : LONGEST_TEXT + BEYOND]
    starts = [start for start, end, _ in find_secrets(window) if start < BEYOND < end]
    starts += [start for start, end in repeats.spans(window) if start < BEYOND < end]
    return LONGEST_TEXT - BEYOND + min(starts, default=BEYOND)


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and TOKEN.fullmatch(value) is not None


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield value


def _replaced(plain: Any, hidden: Any, place: Place, stand_in: Callable[[Any], str]) -> Any:
    """`hidden` with what `plain` has at a place replaced; as it is where there is no such place."""
    if not place:
        return hidden if plain is None or _is_token(plain) else stand_in(plain)
    if place[0] is None and isinstance(plain, list) and isinstance(hidden, list):
        return [_replaced(a, b, place[1:], stand_in) for a, b in zip(plain, hidden, strict=True)]
    if isinstance(plain, dict) and isinstance(hidden, dict) and place[0] in plain and place[0] in hidden:
        return {**hidden, place[0]: _replaced(plain[place[0]], hidden[place[0]], place[1:], stand_in)}
    return hidden
