"""Tables as wide as their cells want, also where the terminal is narrower.

A name that is cut is another one's: twelve signals begin with `query_`, and each is what the next command has to be given. A terminal
wraps long lines by itself, and a pipe does not mind them.
"""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDEST = 1_000  # columns


def print_whole(out: Console, table: Table) -> None:
    """Print a table without cutting or folding any of its cells."""
    wanted = Measurement.get(out, out.options.update(max_width=WIDEST), table).maximum
    narrow, out.width = out.width, max(out.width, wanted)
    try:
        out.print(table, crop=False)
    finally:
        out.width = narrow
