"""Real short texts that every machine has: first paragraphs of the standard library's docstrings, and sentences of
another field.

The docstrings differ a little between Python versions.
"""

import ast
import random
import sysconfig
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# The new cohort: the same kind of sentence from another field, put together from these.
DOES = (
    "Align",
    "Assemble",
    "Annotate",
    "Cluster",
    "Count",
    "Filter",
    "Index",
    "Merge",
    "Normalize",
    "Simulate",
    "Trim",
)
WHAT = (
    "paired-end reads", "single-cell transcripts", "somatic variants", "protein structures", "k-mers", "peptide spectra",
    "gene expression matrices", "methylation calls", "phylogenetic trees", "metagenomic contigs", "copy-number segments",
    "splice junctions", "microbial genomes", "haplotypes", "chromatin peaks", "plasmid sequences", "tumour biopsies",
)  # fmt: skip
HOW = (
    "against a reference genome", "from FASTQ files", "with a hidden Markov model", "by sequence homology", "in a BAM file",
    "using nanopore signal", "across cell types", "for each chromosome", "by Hi-C contact maps", "with Bayesian priors",
    "from mass spectrometry runs", "before differential expression", "given a VCF of known alleles", "per tissue sample",
)  # fmt: skip
# A cohort that shares style and most words: the docstrings of a few modules that the reference does not see.
NEAR = ("turtle.py", "_pydecimal.py", "statistics.py", "fractions.py", "random.py", "colorsys.py")
# Optional parts of the library, which not every machine has.
LEFT_OUT = ("test", "tests", "site-packages", "idlelib", "lib2to3", "turtledemo", "tkinter", "ensurepip", "distutils")
SHORTEST, LONGEST = 15, 300


class Texts(NamedTuple):
    """Texts to fit on, to calibrate with, to live on; of a new cohort, and of one that is hard to tell apart."""

    fit: list[str]
    calibration: list[str]
    live: list[str]
    cohort: list[str]
    near: list[str]


def texts(seed: int = 0) -> Texts:
    """The corpus, in three equal parts and the cohorts; what is said twice counts once."""
    known: set[str] = set()
    near: set[str] = set()
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if not set(parts) & set(LEFT_OUT):
            (near if parts[0] in NEAR else known).update(_paragraphs(path))
    shuffled = sorted(known)
    random.Random(seed).shuffle(shuffled)
    third = len(shuffled) // 3
    cohort = [f"{does} {what} {how}." for does in DOES for what in WHAT for how in HOW]
    return Texts(shuffled[:third], shuffled[third : 2 * third], shuffled[2 * third :], cohort, sorted(near - known))


def _paragraphs(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
    except (SyntaxError, ValueError):
        return []
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    found = [ast.get_docstring(node) for node in _blocks(tree) if isinstance(node, documented)]
    first = [" ".join(text.split("\n\n")[0].split()) for text in found if text]
    return [text for text in first if SHORTEST < len(text) < LONGEST]


def _blocks(tree: ast.Module) -> Iterator[ast.AST]:
    """What holds statements, in the order of `ast.walk`, which takes ten times as long over expressions."""
    waiting: deque[ast.AST] = deque([tree])
    while waiting:
        node = waiting.popleft()
        for field in ("body", "handlers", "orelse", "finalbody", "cases"):
            below = getattr(node, field, [])
            waiting.extend(child for child in below if hasattr(child, "body") or hasattr(child, "cases"))
        yield node
