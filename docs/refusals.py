"""Measures the rules about answers' words on the labelled sets, prints the figures, and writes refusals.md from them;
`--check` only compares.

A figure is right / told (precision) or right / there (recall), with Wilson's 95 % interval (Wilson 1927, eq. 4 without
correction). A text of another kind that is told anything at all counts against the precision of what it was told.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from lanewatch.adapters.dispositions.texts import Found, judge
from lanewatch.adapters.records import Disposition

LABELLED = Path(__file__).parent.parent / "tests" / "adapters" / "dispositions" / "labelled"
PAGE = Path(__file__).parent / "refusals.md"
HALVES = ("tuning", "test")
MISLEADING = "misleading"  # answers in the words of refusals and abstentions; no rule was changed for one
# What a kind of text should be told to be; of any other kind nothing should be told.
GOLD = {
    "refused": Disposition.REFUSED,
    "abstained": Disposition.ABSTAINED,
    "answered": Disposition.ANSWERED,
    "quoted": Disposition.ANSWERED,
}
TOLD = (Disposition.REFUSED, Disposition.ABSTAINED, Disposition.ANSWERED)
LANGUAGES = ("en", "de", "fr", "es", "ja", "zh")
KINDS = ("refused", "abstained", "answered", "quoted", "clarifies", "partial", "failed")
Z = 1.959964


class Labelled(NamedTuple):
    """A text, what it is, and what the rules tell of it."""

    kind: str
    language: str
    style: str
    text: str
    found: Found | None

    @property
    def told(self) -> Disposition:
        """What the rules tell."""
        return Disposition.UNDETERMINED if self.found is None else self.found.disposition

    @property
    def right(self) -> bool:
        """Whether what is told is so."""
        return GOLD.get(self.kind) is self.told


def labelled(half: str) -> list[Labelled]:
    """A half of the set, judged."""
    rows = (line.split("\t") for line in (LABELLED / f"{half}.tsv").read_text().splitlines()[1:])
    return [
        Labelled(kind, language, style, text := json.loads(written), judge(text))
        for kind, language, style, written in rows
    ]


def interval(right: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion; (0, 1) of nothing."""
    if not of:
        return 0.0, 1.0
    share, spread = right / of, Z * Z / of
    middle, half = share + spread / 2, sqrt(spread * (share * (1 - share) + spread / 4))
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


def figure(right: int, of: int) -> str:
    """`42/45 = 0.93 (0.82-0.98)`."""
    if not of:
        return "-"
    low, high = interval(right, of)
    return f"{right}/{of} = {right / of:.2f} ({low:.2f}-{high:.2f})"


def precision(rows: list[Labelled], told: Disposition) -> tuple[int, int]:
    """How many of those that were told to be this are."""
    given = [row for row in rows if row.told is told]
    return sum(row.right for row in given), len(given)


def recall(rows: list[Labelled], told: Disposition) -> tuple[int, int]:
    """How many of those that are this were told to be."""
    there = [row for row in rows if GOLD.get(row.kind) is told]
    return sum(row.right for row in there), len(there)


def by_disposition(halves: dict[str, list[Labelled]]) -> Iterator[str]:
    """Precision and recall of each disposition."""
    yield from ("| half | disposition | precision | recall |", "|---|---|---|---|")
    for half, rows in halves.items():
        for told in TOLD:
            yield f"| {half} | `{told}` | {figure(*precision(rows, told))} | {figure(*recall(rows, told))} |"


def by_language(halves: dict[str, list[Labelled]]) -> Iterator[str]:
    """The same of refusals and abstentions by language."""
    head = "| half | language | precision of `refused` | recall | precision of `abstained` | recall |"
    yield from (head, "|---|---|---|---|---|---|")
    for half, rows in halves.items():
        for language in LANGUAGES:
            of = [row for row in rows if row.language == language]
            cells = (figure(*read(of, told)) for told in TOLD[:2] for read in (precision, recall))
            yield f"| {half} | {language} | {' | '.join(cells)} |"


def by_rule(halves: dict[str, list[Labelled]]) -> Iterator[str]:
    """How often each rule told something, and how often that was right."""
    rules = sorted({row.found.rule for rows in halves.values() for row in rows if row.found is not None})
    yield from (f"| rule | {' | '.join(halves)} |", "|---|" + "---|" * len(halves))
    for rule in rules:
        cells = []
        for rows in halves.values():
            given = [row.right for row in rows if row.found is not None and row.found.rule == rule]
            cells.append(figure(sum(given), len(given)))
        yield f"| `{rule}` | {' | '.join(cells)} |"


def by_kind(halves: dict[str, list[Labelled]]) -> Iterator[str]:
    """What each kind of text was told to be."""
    yield from (f"| half | what it is | {' | '.join(Disposition)} |", "|---|---|" + "---|" * len(Disposition))
    for half, rows in halves.items():
        for kind in KINDS:
            told = Counter(row.told for row in rows if row.kind == kind)
            yield f"| {half} | {kind} | {' | '.join(str(told[one]) for one in Disposition)} |"


def misled(_: dict[str, list[Labelled]]) -> Iterator[str]:
    """What was told of answers that are built to mislead."""
    rows = labelled(MISLEADING)
    told = Counter(row.told for row in rows)
    yield from (f"| texts | {' | '.join(Disposition)} |", "|---|" + "---|" * len(Disposition))
    yield f"| {len(rows)} answers | {' | '.join(figure(told[one], len(rows)) for one in Disposition)} |"


TABLES: dict[str, Callable[[dict[str, list[Labelled]]], Iterator[str]]] = {
    "dispositions": by_disposition,
    "languages": by_language,
    "kinds": by_kind,
    "misled": misled,
    "rules": by_rule,
}


def built(text: str) -> str:
    """The page, with its tables made anew."""
    halves = {half: labelled(half) for half in HALVES}
    for name, rows in TABLES.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        head, rest = text.split(begin, 1)
        table = "\n".join(rows(halves))
        text = f"{head}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}"
    return text


def main() -> int:
    """Exit status 1 where `--check` finds a difference."""
    text = PAGE.read_text()
    new = built(text)
    if "--check" in sys.argv:
        return int(new != text)
    PAGE.write_text(new)
    sys.stdout.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
