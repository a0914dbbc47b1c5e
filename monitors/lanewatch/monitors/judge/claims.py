"""What an answer claims, sentence by sentence: the unit that is held against contexts, by rules and by models alike.

Deterministic, and positions are kept: `text[claim.start:claim.end]` of the plain text is the claim. Left out is what claims
nothing: questions, headings, lead-ins that end with a colon, code blocks, courtesies. What can't be told apart is kept whole:
a claim too long is less wrong than half a claim.
"""

import re
from itertools import pairwise

import msgspec

from lanewatch.monitors.judge.plain_text import plain_text, word_set

MAX_CLAIMS = 200  # of one answer; what follows is not split, and the last one says so by its length
MAX_SENTENCES = 5000  # of one context, likewise
LONGEST_WORD = 40  # characters in front of a full stop that are looked at

_FENCE = re.compile(r"^(```|~~~).*?(?:^\1[^\S\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"[^\S\n]*(?:[-*+\u2022\u2023\u25e6\u00b7]|\(?\d{1,3}[.)]|\(?[a-z][)])[^\S\n]+")
_RULE = re.compile(r"[-=*_|:\s]+")
_HEADING = re.compile(r"#{1,6}\s|\*\*[^*\n]+\*\*:?\s*\Z")
_MARKS = re.compile(r"(?:\s*\[\d{1,3}(?:\s*[,-]\s*\d{1,3})*\])+")  # citations: [1], [2, 3], [4-6]
_END = re.compile(
    r"[.!?\u2026]+[\"'\u201d\u00bb)\]*_]*(?:\[\d{1,3}(?:\s*[,-]\s*\d{1,3})*\])*(?=\s)"
    r"|[\u3002\uff61\u0964\u06d4][\"'\u201d\u300d\u300f)]*"
    r"|[!?](?=[\u3040-\u30ff\u4e00-\u9fff])"
    r"|\u061f(?=\s)"
    r"|;(?=\s)"
)
_LAST_WORD = re.compile(r"[^\s\"'(\[\u201c\u00ab]*\Z")
_NEXT = re.compile(r"\s*[\"'\u201c\u00ab\u201e(\[*_]*(\S)")
_SUBSTANCE = re.compile(r"[^\W_]")
_ASKS = re.compile(r"[?\u061f][\"'\u201d\u00bb)*_\s]*\Z")
# Never the end of a sentence.
_INNER = word_set(
    "mr mrs ms dr prof rev gen col lt sgt capt hon st mt vs e.g i.e cf viz approx ca no nos nr fig figs eq sec ch vol pp p"
    " al ed eds z.b d.h u.a o.\u00e4 i.d.r bzw ggf inkl evtl vgl abs hr fr s str tel mme mlle m p.ex c.-\u00e0-d env art sr"
    " sra srta dra ud uds p.ej p\u00e1g n\u00fam sig dott ecc av ing sgg jan feb mar apr jun jul aug sep sept oct nov dec"
    " okt dez dept est max min resp incl excl"
)
# Ends a sentence where the next word begins like one.
_OUTER = word_set("etc inc ltd co corp llc plc gmbh jr sr a.m p.m u.s u.k u.n e.u usw b.c a.d ph.d no")
_MEASURES = word_set("m s h g l t d min sec hr ft v w a k c f")
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_NUMBERED = re.compile(r"\(?\d{1,3}[.)]")
_ORDINAL_BEFORE = re.compile(
    r"\s*(?:januar|februar|m\u00e4rz|april|mai|juni|juli|august|september|oktober|november|dezember|quartal|jahrhundert)\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"(?:sure|certainly|of course|absolutely|great question|good question|you're welcome|thank you|thanks)\b[\w\s,]{0,40}[.!]?\Z"
    r"|(?:please |do )?(?:let me know|feel free|don't hesitate|i hope (?:this|that)|hope (?:this|that)|happy to help"
    r"|i'm happy to|i'd be happy to|is there anything)\b"
    r"|here (?:is|are|'s) (?:the|a|an|your|what|some)\b[^.]*\b(?:answer|summary|overview|list|steps|details|information)\b"
    r"[^.]{0,40}\Z",
    re.IGNORECASE,
)


class Claim(msgspec.Struct, frozen=True):
    """A sentence, or a part of one that a semicolon ends. Positions are of `plain_text` of what was split."""

    text: str
    start: int
    end: int


def claims(text: str) -> tuple[Claim, ...]:
    """The claims of an answer, in order. Empty where it claims nothing.

    >>> [claim.text for claim in claims("Dr. Ito paid 3.5 EUR. Is that right? 1. It was sent on Monday.")]
    ['Dr. Ito paid 3.5 EUR.', 'It was sent on Monday.']
    """
    return tuple(claim for claim in sentences(text, MAX_CLAIMS) if _claims(claim.text))


def sentences(text: str, most: int = MAX_SENTENCES) -> tuple[Claim, ...]:
    """All sentences of a text, whatever they do; what follows the first `most` - 1 is one."""
    plain = plain_text(text)
    bare = _FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), plain)
    found = [_trimmed(bare, start, end) for begin, stop in _blocks(bare) for start, end in _split(bare, begin, stop)]
    kept = [one for one in found if _SUBSTANCE.search(one.text) and not _NUMBERED.fullmatch(one.text)]
    if len(kept) > most:
        start, end = kept[most - 1].start, kept[-1].end
        kept[most - 1 :] = [Claim(bare[start:end], start, end)]
    return tuple(kept)


def _claims(sentence: str) -> bool:
    bare = _MARKS.sub("", sentence).strip()
    if _ASKS.search(bare) or _HEADING.match(bare) or bare.endswith(":") or _COURTESY.match(bare):
        return False
    return _SUBSTANCE.search(bare) is not None


def _blocks(text: str) -> list[tuple[int, int]]:
    """Paragraphs, list items, headings and rows of tables: no sentence runs over their ends."""
    blocks: list[tuple[int, int]] = []
    open_at: int | None = None
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        bare = line.strip()
        item = _ITEM.match(line)
        alone = bare.startswith(("#", "|")) or _HEADING.fullmatch(bare) is not None
        if open_at is not None and (not bare or item or alone or _RULE.fullmatch(bare)):
            blocks.append((open_at, start))
            open_at = None
        if "|" in bare and _RULE.fullmatch(bare) and blocks and text[blocks[-1][0] : start].lstrip().startswith("|"):
            blocks.pop()  # the row above names the columns of a table
        if not bare or _RULE.fullmatch(bare):
            continue
        if alone:
            blocks.append((start, at))
        elif open_at is None:
            open_at = start + (item.end() if item else 0)
    if open_at is not None:
        blocks.append((open_at, at))
    return blocks


def _split(text: str, begin: int, stop: int) -> list[tuple[int, int]]:
    """The sentences of a block."""
    cuts = [begin]
    block = text[begin:stop]
    cuts += [begin + found.end() for found in _END.finditer(block) if _ends(block, found)]
    if cuts[-1] != stop:
        cuts.append(stop)
    return list(pairwise(cuts))


def _ends(block: str, found: re.Match[str]) -> bool:
    """Whether a sentence ends at this mark."""
    mark = found.group()[0]
    following = _NEXT.match(block, found.end())
    if mark not in ".!?\u2026" or following is None:
        return True
    if following.group(1).islower():
        return False  # "e.g. this", "Yahoo! is", "3. oder 4."
    if mark != ".":
        return True
    last = _LAST_WORD.search(block, max(0, found.start() - LONGEST_WORD), found.start())
    word = last.group() if last else ""
    folded = word.casefold()
    if folded in _OUTER:
        # "No. 5" and "etc. The": a figure goes on, a capital begins anew.
        return not following.group(1).isdecimal()
    if folded in _INNER or _INITIAL.fullmatch(word):
        # "11,000 m. All" ends, as a measure; "M. Dupont" does not.
        return folded in _MEASURES and last is not None and block[: last.start()].rstrip()[-1:].isdecimal()
    if word.isdecimal() and len(word) <= 3:  # noqa: PLR2004 - a number in front of an item, a day in German
        opens = last is not None and not block[: last.start()].strip()
        return not opens and _ORDINAL_BEFORE.match(block, found.end()) is None
    return True


def _trimmed(text: str, start: int, end: int) -> Claim:
    """A sentence without the space around it and the mark of a list in front."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    end -= len(part) - len(part.rstrip())
    item = _ITEM.match(text, start, end)
    if item:
        start = item.end()
    bare = text[start:end].rstrip(";")
    return Claim(bare, start, start + len(bare))
