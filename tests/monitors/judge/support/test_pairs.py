"""The support signals on labelled minimal edits: each must find its own kind of fault, and pass what is copied."""

import runpy
from collections import Counter
from pathlib import Path

import pytest

from tests.contracts.source_tree import ROOT

SCRIPT = runpy.run_path(str(ROOT / "docs" / "support_signals.py"))
OWN = {
    "number_support": "number",
    "entity_support": "entity",
    "quote_support": "misquoted",
    "lexical_support": "extrinsic",
}
COPIED = ("verbatim", "quoted")


def test_the_set_has_every_kind_of_every_context() -> None:
    """At least 120 pairs, and as many of each kind of error."""
    kinds = Counter(pair.kind for pair in SCRIPT["pairs"]())

    assert kinds.total() >= 120
    assert set(kinds) == {*SCRIPT["SUPPORTED"], *SCRIPT["UNSUPPORTED"]}
    assert len({kinds[kind] for kind in SCRIPT["UNSUPPORTED"]}) == 1


@pytest.mark.parametrize(("name", "kind"), OWN.items())
def test_each_signal_finds_its_own_kind_of_fault_and_passes_a_copy(name: str, kind: str) -> None:
    """All of them on this set; a miss is a step back."""
    values = SCRIPT["values"](name)

    assert all(value is not None and value < 1 for pair, value in values if pair.kind == kind)
    assert all(value in {None, 1.0} for pair, value in values if pair.kind in COPIED)


def test_the_page_says_what_the_code_does() -> None:
    """The figures in docs/support-signals.md are those of this code (`python docs/support_signals.py` writes them)."""
    status = SCRIPT["main"](["--check"])
    if status == 2:
        pytest.skip("the local model is not installed")

    assert status == 0


def test_the_page_is_where_the_script_says() -> None:
    """The script writes beside itself."""
    assert Path(SCRIPT["PAGE"]) == ROOT / "docs" / "support-signals.md"
