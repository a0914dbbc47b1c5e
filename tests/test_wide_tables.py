"""Tables whose names must not be cut."""

import io

from lanewatch.wide_tables import print_whole
from rich.console import Console
from rich.table import Table


def test_no_cell_is_cut_or_folded_where_the_terminal_is_narrow() -> None:
    """`query_text_length` and `query_text_language` are alike up to their twelfth letter."""
    table = Table(box=None)
    table.add_column("signal")
    table.add_column("state")
    table.add_row("query_text_" + "x" * 60, "not watched " * 4)
    out = Console(width=40, file=io.StringIO())
    print_whole(out, table)
    written = out.file.getvalue()  # type: ignore[attr-defined]

    assert "query_text_" + "x" * 60 in written
    assert len(written.splitlines()) == 2
    assert out.width == 40
