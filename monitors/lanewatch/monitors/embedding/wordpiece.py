"""WordPiece tokens as BERT's uncased models were trained on (Devlin et al. 2018; Wu et al. 2016): a text becomes numbers.

Written out here, held to the reference implementation's numbers by tests, because that one brings a client for a model
hub, an HTTP library and a downloader into a process that reads people's questions. `vocabulary.txt` is that of
bert-base-uncased (Google, Apache-2.0); a token's number is its line, counted from 0.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from string import punctuation

MAX_CHARACTERS = 8192  # of a text that are read; 256 tokens are rarely more than 1,500
MAX_WORD = 100  # characters; longer ones are unknown, as the model has learnt
UNKNOWN, START, END = 100, 101, 102
_HIDDEN = {"Cc", "Cf", "Co", "Cs"}  # controls, formats, private, surrogates
_ASCII_PIECES = re.compile(r"[!-/:-@\[-`{-~]|[^\s!-/:-@\[-`{-~]+")
# Scripts that are written without spaces, as BERT's authors listed them: each character is a word.
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


@cache
def vocabulary() -> dict[str, int]:
    """Every token's number: 4 MB, read once."""
    text = files("lanewatch.monitors.embedding").joinpath("vocabulary.txt").read_text("utf-8")
    return {token: number for number, token in enumerate(text.splitlines())}


def tokens(text: str, most: int) -> list[int]:
    """The numbers of a text's tokens, at most `most` with the start and the end.

    >>> tokens("Unaffordable tokens!", 16)
    [101, 14477, 4246, 8551, 3085, 19204, 2015, 999, 102]
    """
    known = vocabulary()
    found = [START]
    for word in _words(text[:MAX_CHARACTERS]):
        found += _pieces(word, known)
        if len(found) >= most - 1:
            break
    return [*found[: most - 1], END]


def _pieces(word: str, known: dict[str, int]) -> list[int]:
    """The longest known beginning, then the longest known continuation of it, to the end; else one unknown."""
    whole = known.get(word)
    if whole is not None:
        return [whole]
    if len(word) > MAX_WORD:
        return [UNKNOWN]
    found: list[int] = []
    start, prefix = 0, ""
    while start < len(word):
        for end in range(len(word), start, -1):
            number = known.get(prefix + word[start:end])
            if number is not None:
                break
        else:
            return [UNKNOWN]
        found.append(number)
        start, prefix = end, "##"
    return found


def _words(text: str) -> Iterator[str]:
    if text.isascii():
        clean = "".join(c for c in text if c.isprintable() or c in "\t\n\r")
        yield from _ASCII_PIECES.findall(clean.lower())
        return
    clean = "".join(_spaced(c) for c in text)
    plain = unicodedata.normalize("NFD", clean)
    # Character by character: `lower` of a whole word knows the final sigma, which the model has not learnt.
    folded = "".join(c.lower() for c in plain if unicodedata.category(c) != "Mn")
    for word in folded.split():
        yield from _split(word)


def _spaced(character: str) -> str:
    """A character as BERT's cleaning leaves it: nothing for control characters, spaces around ideographs."""
    point = ord(character)
    if character in "\t\n\r":
        return " "
    if point in {0, 0xFFFD} or unicodedata.category(character) in _HIDDEN:
        return ""
    return f" {character} " if any(low <= point <= high for low, high in _CJK) else character


def _split(word: str) -> Iterator[str]:
    start = 0
    for place, character in enumerate(word):
        if _is_punctuation(character):
            if start < place:
                yield word[start:place]
            yield character
            start = place + 1
    if start < len(word):
        yield word[start:]


def _is_punctuation(character: str) -> bool:
    return character in punctuation or unicodedata.category(character)[0] == "P"
