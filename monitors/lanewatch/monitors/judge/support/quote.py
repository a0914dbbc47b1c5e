"""Quote support: the share of the answer's quotations that stand in some context, word for word.

Exact but for what typography changes: white space, forms of quotation marks and dashes, the case of the first letter, a mark
of punctuation that a quotation takes in at its end. An ellipsis leaves words out, in order; square brackets stand for a word
that was changed, and say so. One or two quoted words are a term or irony, and no quotation.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from lanewatch.monitors.judge.claims import Claim
from lanewatch.monitors.judge.languages import in_another_language
from lanewatch.monitors.judge.plain_text import one_quote, plain_text
from lanewatch.monitors.judge.support.checked import Item, Unread

LEAST_WORDS = 3  # as Ragas' QuotedSpansAlignment has it
LEAST_IDEOGRAPHS = 6
MAX_GAP = 2000  # characters that an ellipsis may leave out
MAX_CHANGED = 60  # that square brackets may stand for
MAX_BEGINNINGS = 200  # places where a quotation may begin that are tried

_QUOTES = re.compile(
    r"\u201c([^\u201c\u201d]{2,1000})\u201d|\u201e([^\u201e\u201c\u201d]{2,1000})[\u201c\u201d]|\u00ab([^\u00ab\u00bb]{2,1000})\u00bb"
    r"|\u00bb([^\u00ab\u00bb]{2,1000})\u00ab|\u300c([^\u300c\u300d]{2,1000})\u300d|\u300e([^\u300e\u300f]{2,1000})\u300f"
    r"|(?<![\w\"])\"([^\"\n]{2,1000})\"(?!\w)"
)
_BLOCK = re.compile(r"(?:^[^\S\n]*>[^\n]*(?:\n|\Z))+", re.MULTILINE)
_GAP = re.compile(r"\s*(?:\[\s*(?:\.{3}|\u2026)\s*\]|\(\s*(?:\.{3}|\u2026)\s*\)|\.{3,4}|\u2026)\s*")
_LEFT_OUT = re.compile(rf"{_GAP.pattern}|\[[^\]\n]{{1,40}}\]")
_LETTER = r"[^\W\u3040-\u30ff\u4e00-\u9fff]"  # ideographs have no word ends
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def quote_items(answer: str, contexts: Sequence[str], question: str | None, told: Sequence[Claim]) -> list[Item]:
    """The quotations of the answer, each with whether some context has it. One of the question's is no claim.

    Raises Unread where answer and contexts are in two languages: a translated quotation can't be exact.
    """
    del told  # a quotation is checked wherever it stands
    plain = plain_text(answer)
    found = list(quotations(plain))
    if found and in_another_language(plain, contexts):
        raise Unread
    there, asked = [_searched(context) for context in contexts], _searched(question or "")
    items = []
    for text, start, end in found:
        supported = any(_stands(text, context) for context in there)
        if supported or not _stands(text, asked):
            items.append(Item(text, start, end, supported))
    return items


def quotations(plain: str) -> Iterator[tuple[str, int, int]]:
    """(what is quoted, start, end) of a plain text, in order."""
    blocks = [(match.start(), match.end()) for match in _BLOCK.finditer(plain)]
    for start, end in blocks:
        text = re.sub(r"^[^\S\n]*> ?", "", plain[start:end], flags=re.MULTILINE).strip().strip('"\u201c\u201d')
        if _is_quotation(text):
            yield text, start, end
    for match in _QUOTES.finditer(plain):
        text = next(group for group in match.groups() if group is not None)
        if _is_quotation(text) and not any(start <= match.start() < end for start, end in blocks):
            yield text, match.start(), match.end()


def _is_quotation(text: str) -> bool:
    kept = _LEFT_OUT.sub(" ", " ".join(text.split()))
    return len(_WORD.findall(kept)) >= LEAST_WORDS or len(_IDEOGRAPH.findall(kept)) >= LEAST_IDEOGRAPHS


def _searched(text: str) -> str:
    return " ".join(one_quote(plain_text(text)).split())


def _stands(quoted: str, text: str) -> bool:
    """Whether the pieces between ellipses and brackets stand in the text, in order and not too far apart."""
    if not text:
        return False
    (_, first), *rest = _pieces(_searched(quoted))
    for begin in islice(first.finditer(text), MAX_BEGINNINGS):
        at = begin.end()
        for reach, piece in rest:
            found = piece.search(text, at, min(len(text), at + reach))
            if found is None:
                break
            at = found.end()
        else:
            return True
    return False


def _pieces(quoted: str) -> list[tuple[int, re.Pattern[str]]]:
    """(characters within which it must end, after the one before it; what it looks like) of each unchanged piece."""
    pieces: list[tuple[int, re.Pattern[str]]] = []
    at, reach = 0, 0
    for gap in [*_LEFT_OUT.finditer(quoted), None]:
        stop = gap.start() if gap else len(quoted)
        written = quoted[at:stop].rstrip(" .,;:!?'\"").strip(" \"'")
        if _WORD.search(written):
            # "[R]efunds" and "refund[s]": beside a bracket a piece may begin or end inside a word.
            inside = (at > 0 and quoted[at].isalnum(), gap is not None and quoted[stop - 1].isalnum())
            pieces.append((reach + len(written), _piece(written, opens=not pieces, inside=inside)))
            reach = 0
        if gap is not None:
            at = gap.end()
            reach += MAX_GAP if _GAP.fullmatch(gap.group()) else MAX_CHANGED
    return pieces


def _piece(written: str, *, opens: bool, inside: tuple[bool, bool]) -> re.Pattern[str]:
    pattern = re.escape(written)
    if opens and written[0].isalpha():
        pattern = f"[{re.escape(written[0].upper())}{re.escape(written[0].lower())}]" + pattern[1:]
    before = "" if inside[0] or not re.match(_LETTER, written) else rf"(?<!{_LETTER})"
    after = "" if inside[1] or not re.match(_LETTER, written[-1]) else rf"(?!{_LETTER})"
    return re.compile(before + pattern + after)
