"""Measures the support signals on the labelled pairs, prints the figures, and writes them into support-signals.md; `--check` only
compares.

A pair is flagged where the signal's value is below 1, cleared where it is 1, and not checked where it has none. Precision is
unsupported / flagged, recall of a kind is flagged / all of that kind, each with Wilson's 95 % interval.
"""

import asyncio
import sys
from collections import defaultdict
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from lanewatch.monitors.embedding import EmbedderUnavailableError, local_embedder
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.judge.support.embedding import EmbeddingEvaluator
from lanewatch.monitors.judge.support.evaluator import SIGNALS, support_of

PAIRS = Path(__file__).parent.parent / "tests" / "monitors" / "judge" / "support" / "pairs.txt"
PAGE = Path(__file__).parent / "support-signals.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
SUPPORTED = ("verbatim", "paraphrase", "inferred", "denied", "quoted")
UNSUPPORTED = ("number", "entity", "misquoted", "negation", "roles", "extrinsic")
EMBEDDING = "embedding_support"
Z = 1.959964


class Pair(NamedTuple):
    """A statement about a context, by kind."""

    kind: str
    context: str
    statement: str


def pairs() -> list[Pair]:
    """The labelled pairs."""
    found, context = [], ""
    for line in PAIRS.read_text().splitlines():
        kind, _, text = line.partition(": ")
        if kind == "context":
            context = text
        elif text and not line.startswith("#"):
            found.append(Pair(kind, context, text))
    return found


def values(name: str) -> list[tuple[Pair, float | None]] | None:
    """Each pair with the signal's value; None where the local model is not installed."""
    samples = [(pair, Sample("t", 0, "s", 0, answer=pair.statement, contexts=(pair.context,))) for pair in pairs()]
    if name != EMBEDDING:
        return [(pair, support_of(BY_NAME[name], sample).value) for pair, sample in samples]
    try:
        evaluator = EmbeddingEvaluator(local_embedder())
    except EmbedderUnavailableError:
        return None
    return [(pair, asyncio.run(evaluator.evaluate(BY_NAME[name], sample)).value) for pair, sample in samples]


def figures(found: list[tuple[Pair, float | None]]) -> tuple[str, list[str]]:
    """(the row of all pairs, the share of each kind that is flagged)."""
    flagged: dict[str, int] = defaultdict(int)
    checked: dict[str, int] = defaultdict(int)
    count: dict[str, int] = defaultdict(int)
    for pair, value in found:
        count[pair.kind] += 1
        checked[pair.kind] += value is not None
        flagged[pair.kind] += value is not None and value < 1
    right, wrong = sum(flagged[kind] for kind in UNSUPPORTED), sum(flagged[kind] for kind in SUPPORTED)
    there = sum(count[kind] for kind in UNSUPPORTED)
    row = (
        f"{sum(checked.values())} of {len(found)} | {right + wrong} | {_share(right, right + wrong)}"
        f" | {_share(right, there)} | {_auc(found)}"
    )
    return row, [f"{flagged[kind]}/{checked[kind]}/{count[kind]}" for kind in (*SUPPORTED, *UNSUPPORTED)]


def _auc(found: list[tuple[Pair, float | None]]) -> str:
    """How often a supported pair has the higher value, ties half; of the pairs that have one."""
    good = [value for pair, value in found if value is not None and pair.kind in SUPPORTED]
    bad = [value for pair, value in found if value is not None and pair.kind in UNSUPPORTED]
    if not good or not bad:
        return "-"
    wins = sum((one > other) + (one == other) / 2 for one in good for other in bad)
    return f"{wins / (len(good) * len(bad)):.2f}"


def _share(k: int, n: int) -> str:
    if not n:
        return "-"
    p, z = k / n, Z
    middle, half = (
        (p + z * z / (2 * n)) / (1 + z * z / n),
        z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n),
    )
    return f"{p:.2f} ({max(0.0, middle - half):.2f} to {min(1.0, middle + half):.2f})"


def tables() -> str | None:
    """Both tables, in Markdown; None where the local model is not installed."""
    kinds = (*SUPPORTED, *UNSUPPORTED)
    overall = [
        "| signal | checked | flagged | precision | recall | AUC where checked |",
        "|---|---|---|---|---|---|",
    ]
    by_kind = ["| signal | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for name in (*SIGNALS, EMBEDDING):
        found = values(name)
        if found is None:
            return None
        row, shares = figures(found)
        overall.append(f"| `{name}` | {row} |")
        by_kind.append(f"| `{name}` | " + " | ".join(shares) + " |")
    return "\n".join([*overall, "", "Flagged / checked / all, by kind:", "", *by_kind])


def main(arguments: list[str]) -> int:
    """Write the page's figures, or say whether they are those of the code."""
    measured = tables()
    if measured is None:
        sys.stderr.write("the local model is not installed: make local\n")
        return 2
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    written = f"{head}{BEGIN}\n{measured}\n{END}{tail}"
    if "--check" in arguments:
        return int(written != page)
    PAGE.write_text(written)
    sys.stdout.write(measured + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
