"""Numbers read off a question without any model: enough to find a new cohort, a template, typos, another language.

With nine of them and its length, a new cohort of 20 % of the questions is found in 17 minutes at 0.2 questions a second
(a sentence embedding takes 8). A reference keeps no text: a bitmap of hashed words and a table of hashed trigrams.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from lanewatch.monitors.drift.distances import Floats

Places: TypeAlias = NDArray[np.uint16]
Surprisals: TypeAlias = NDArray[np.int32]

MAX_CHARACTERS = 4096  # of a question that are read
WORD_BITS = 1 << 19  # 64 kB: with 20,000 words known, 4 % of unknown ones pass for known
TRIGRAMS = 4096  # a power of two
FINENESS = 1 << 20  # a question must not change its bin by being read with others
_DIGITS, _UPPER = bytes(range(48, 58)), bytes(range(65, 91))
_NO_DIGITS = bytes(sorted(set(range(256)) - set(_DIGITS)))
_NO_UPPER = bytes(sorted(set(range(256)) - set(_UPPER)))
# Han, kana, hangul, and their common extensions.
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f]")
_WORD = re.compile(r"\w+")
# Digits, capital letters, characters beyond ASCII (by their first byte: the others are 10xxxxxx), question marks.
_KINDS = tuple(np.isin(np.arange(256), list(kind)) for kind in (_DIGITS, _UPPER, range(0xC0, 256), b"?"))

# name, meaning, and whether it depends on what the reference's text model was fitted on
TEXT_FEATURES = (
    ("words", "Words of the question.", False),
    ("digit_share", "Share of digits among its characters.", False),
    ("non_ascii_share", "Share of characters beyond ASCII.", False),
    ("cjk_share", "Share of Chinese, Japanese and Korean characters.", False),
    ("upper_share", "Share of capital letters A to Z.", False),
    ("question_marks", "Question marks.", False),
    ("word_length", "Mean length of its words.", False),
    ("unknown_word_share", "Share of words that the reference did not have.", True),
    ("surprisal", "Mean surprisal of its letter trigrams under the reference, in bits.", True),
)


class TextModel(msgspec.Struct, frozen=True):
    """What a reference knows of its questions: a bit for each hashed word, and counts of hashed letter trigrams."""

    words: bytes
    trigrams: list[int]

    def surprisals(self) -> Surprisals:
        """-log2 of each trigram's smoothed share, in 2^-20 bits: whole numbers, whose sums are exact in any order."""
        counts = np.array(self.trigrams, float) + 0.5
        return np.asarray(np.rint(-np.log2(counts / counts.sum()) * FINENESS), np.int32)


class ReadText(NamedTuple):
    """A question as it is read: what needs no model, and hashed places of its words and trigrams."""

    plain: tuple[float, ...]
    words: tuple[int, ...]
    trigrams: Places


def read_text(question: str) -> ReadText:
    """The plain features, in the order of TEXT_FEATURES. An empty question has no shares: NaN.

    >>> [round(x, 2) for x in read_text("Why 42?").plain]
    [2, 0.29, 0.0, 0.0, 0.14, 1, 2.5]
    """
    text = question[:MAX_CHARACTERS]
    length = len(text)
    lowered = text.lower()
    raw = text.encode("utf-8", "surrogatepass")
    words = _WORD.findall(lowered)
    nan = float("nan")
    ascii_only = len(raw) == length
    plain = (
        len(words),
        len(raw.translate(None, _NO_DIGITS)) / length if length else nan,
        0.0 if ascii_only else sum(map(_beyond_ascii, text)) / length,
        0.0 if ascii_only else len(_CJK.findall(text)) / length,
        len(raw.translate(None, _NO_UPPER)) / length if length else nan,
        text.count("?"),
        sum(map(len, words)) / len(words) if words else nan,
    )
    places = tuple([crc32(word.encode("utf-8", "surrogatepass")) % WORD_BITS for word in words])
    b = np.frombuffer(lowered.encode("utf-8", "surrogatepass"), np.uint8)
    return ReadText(plain, places, _trigrams(b))


def fitted_features(read: ReadText, words_known: bytes, surprisals: Surprisals) -> tuple[float, float]:
    """(share of unknown words, mean surprisal in bits) under a model; NaN where the question has none.

    >>> nothing = TextModel(bytes(WORD_BITS // 8), [0] * TRIGRAMS)
    >>> fitted_features(read_text("Why 42?"), nothing.words, nothing.surprisals())
    (1.0, 12.0)
    """
    known = sum([words_known[place >> 3] >> (place & 7) & 1 for place in read.words])  # a generator takes twice as long
    return (
        1 - known / len(read.words) if read.words else float("nan"),
        float(surprisals[read.trigrams].sum()) / FINENESS / len(read.trigrams) if len(read.trigrams) else float("nan"),
    )


def feature_columns(questions: Sequence[str], words_known: bytes, surprisals: Surprisals) -> list[Floats]:
    """A column of each of TEXT_FEATURES: what `read_text` and `fitted_features` give one by one, in a third of the time."""
    texts = [question[:MAX_CHARACTERS] for question in questions]
    lowered = [text.lower() for text in texts]
    words = [_WORD.findall(text) for text in lowered]
    n_words = np.array([len(found) for found in words], float)
    letters = np.array([len("".join(found)) for found in words], float)
    lengths = np.array([len(text) for text in texts], float)
    cjk = [0 if text.isascii() else len(_CJK.findall(text)) for text in texts]
    raw, starts = _joined(texts)
    digits, upper, beyond, marks = (np.add.reduceat(kind[raw], starts, dtype=float) for kind in _KINDS)
    hashed = [crc32(word.encode("utf-8", "surrogatepass")) for found in words for word in found]
    places = np.array(hashed, np.uint32) & np.uint32(WORD_BITS - 1)
    bits = np.frombuffer(words_known, np.uint8)[places >> np.uint32(3)] >> (places & np.uint32(7)).astype(np.uint8)
    owners = np.repeat(np.arange(len(texts)), n_words.astype(int))
    known = np.bincount(owners, weights=bits & np.uint8(1), minlength=len(texts)).astype(float)
    n_trigrams, surprisal = _summed(lowered, surprisals)
    return [
        n_words,
        _share(digits, lengths),
        _share(beyond, lengths, nothing=0.0),
        _share(np.array(cjk, float), lengths, nothing=0.0),
        _share(upper, lengths),
        marks,
        _share(letters, n_words),
        1 - _share(known, n_words),
        _share(surprisal, n_trigrams),
    ]


def _joined(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """All bytes, each text ended by a line feed, and where each begins."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(part) + 1 for part in encoded])
    return np.frombuffer(b"\n".join(encoded) + b"\n", np.uint8), np.concatenate([[0], ends[:-1]])


def _summed(lowered: Sequence[str], surprisals: Surprisals) -> tuple[Floats, Floats]:
    """(number of trigrams, sum of their surprisals) of each text."""
    b, starts = _joined(lowered)
    ends = np.append(starts[1:], len(b))
    bits = np.zeros(len(b), np.int32)
    if len(b) >= 3:  # noqa: PLR2004
        bits[:-2] = surprisals[_trigrams(b)]
    for back in (1, 2, 3):  # a trigram ends within its text
        bits[np.maximum(ends - back, starts)] = 0
    return np.maximum(ends - starts - 3, 0).astype(float), np.add.reduceat(bits, starts, dtype=np.int64) / FINENESS


def _trigrams(raw: NDArray[np.uint8]) -> Places:
    b = raw.astype(np.uint16)
    return (b[:-2] * 961 + b[1:-1] * 31 + b[2:]) & np.uint16(TRIGRAMS - 1)


def _share(part: Floats, of: Floats, nothing: float = float("nan")) -> Floats:
    return np.asarray(np.divide(part, of, out=np.full(len(part), nothing), where=of > 0))


class TextFitting:
    """Learns a text model, question by question; models of replicas add up."""

    def __init__(self) -> None:
        """A model that knows nothing."""
        self._words = bytearray(WORD_BITS // 8)
        self._trigrams = np.zeros(TRIGRAMS, np.int64)
        self.questions = 0

    def add(self, read: ReadText) -> None:
        """Learn a question's words and trigrams."""
        for place in read.words:
            self._words[place >> 3] |= 1 << (place & 7)
        self._trigrams += np.bincount(read.trigrams, minlength=TRIGRAMS)
        self.questions += 1

    def model(self) -> TextModel:
        """What was learnt."""
        return TextModel(bytes(self._words), self._trigrams.tolist())


def _beyond_ascii(character: str) -> bool:
    return character > "\x7f"
