"""Other places in which a value stands that is hidden as a whole: an answer, a result, a text that has JSON in it.

Invariants: every value is looked for, however many there are; of two that fit at one place the longer counts; the cost
goes with the text's length, and with how many lengths there are of values that begin alike.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from urllib.parse import quote, quote_plus

HEAD = 4  # characters by which values are looked up


class Repeats:
    """Texts of at least `HEAD` characters, each with what stands for it."""

    def __init__(self, stand_ins: Mapping[str, str] = MappingProxyType({})) -> None:
        """`stand_ins` by the text; a shorter text is not looked for."""
        self._stand_ins = {text: stand_in for text, stand_in in stand_ins.items() if len(text) >= HEAD}
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for text in self._stand_ins:
            lengths[text[:HEAD]].add(len(text))
        self._lengths = {head: sorted(own, reverse=True) for head, own in lengths.items()}
        # A look-ahead, since a head may begin within another one. By first characters: a thousand heads would be tried in turn.
        firsts = "".join(re.escape(first) for first in sorted({head[0] for head in lengths}))
        self._starts = re.compile(f"[{firsts}](?=.{{{HEAD - 1}}})", re.DOTALL) if firsts else None

    def get(self, text: str) -> str | None:
        """What stands for a whole text."""
        return self._stand_ins.get(text)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each, in order and apart."""
        if self._starts is None:
            return
        at = 0
        for found in self._starts.finditer(text):
            start = found.start()
            if start < at:
                continue
            for length in self._lengths.get(text[start : start + HEAD], ()):
                if text[start : start + length] in self._stand_ins:
                    at = start + length
                    yield start, at
                    break

    def replaced(self, text: str) -> str:
        """The text with what stands for each."""
        pieces, at = [], 0
        for start, end in self.spans(text):
            pieces += [text[at:start], self._stand_ins[text[start:end]]]
            at = end
        return "".join([*pieces, text[at:]]) if pieces else text


NO_REPEATS = Repeats()


def spellings(text: str) -> tuple[str, ...]:
    r"""A text as it stands in plain text, in JSON, in JSON within JSON, and in a URL, each once.

    >>> spellings("a b\nc")
    ('a b\nc', 'a b\\nc', 'a b\\\\nc', 'a%20b%0Ac', 'a+b%0Ac')
    """
    if text.isascii() and text.isalnum():
        return (text,)
    found = [text]
    for ascii_only in (False, True):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        found += [once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]]
    found += [form(text, safe="", errors="replace") for form in (quote, quote_plus)]
    return tuple(dict.fromkeys(found))
