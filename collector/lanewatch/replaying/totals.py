"""What a replay found in all of its paths together: divergences by boundary, kind, tool and owner."""

from collections import Counter

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from lanewatch.replaying.playback import Replayed
from lanewatch.shown_text import shown

SHOWN_ROWS = 50  # the most frequent; what is beyond is told as a number


class Totals:
    """Adds up paths."""

    def __init__(self) -> None:
        self.paths = self.traces = self.diverging = self.problems = 0
        self._divergences: Counter[tuple[str, str, str, str]] = Counter()

    def add(self, replayed: Replayed) -> None:
        """Count one path."""
        self.paths += 1
        self.traces += len(replayed.observations)
        self.problems += len(replayed.problems)
        for seen in replayed.observations:
            self.diverging += bool(seen.divergences)
            self._divergences.update((d.boundary, d.kind, d.tool, d.owner) for d in seen.divergences)

    def print(self, console: Console) -> None:
        """The table, where anything diverged; and the sum, where there were several paths."""
        rows = sorted(self._divergences.items(), key=lambda row: (-row[1], row[0]))
        if rows:
            table = Table(
                "count",
                "boundary",
                "kind",
                Column("tool", overflow="fold"),
                "owner",
                box=SIMPLE_HEAD,
                title="divergences",
            )
            table.title_justify = "left"
            table.columns[0].justify = "right"
            for (boundary, kind, tool, owner), count in rows[:SHOWN_ROWS]:
                table.add_row(f"{count:,}", boundary, kind, Text(shown(tool)), Text(shown(owner)))
            console.print(table)
        if len(rows) > SHOWN_ROWS:
            rest = sum(count for _, count in rows[SHOWN_ROWS:])
            console.print(Text(f"  and {len(rows) - SHOWN_ROWS} further rows of {rest:,} divergences"))
        if self.paths > 1:
            problems = f", {self.problems} problem{'s' * (self.problems != 1)}" * bool(self.problems)
            text = f"all {self.paths} paths: {self.traces:,} traces, {self.diverging:,} with a divergence{problems}"
            console.print(Text(text, "bold"))
