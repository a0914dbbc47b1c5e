"""What could not be read of a recording, in words that fit a file; what repeats is one line, with how often and where first."""

from pathlib import Path

import msgspec

from lanewatch.collector.outcomes import RefusalReason, Refused
from lanewatch.collector.recorded import Batch, Unreadable
from lanewatch.collector.spans import RejectReason, Signal

REFUSED = {
    RefusalReason.UNDECODABLE: "this is no OTLP export request. Check that the file is whole, and that the name of a "
    ".pb file begins with `logs` where it holds logs, and with anything else where it holds traces.",
    RefusalReason.MEMORY_LIMIT: "there was not enough memory to read it. Split it, or read it on a larger machine.",
    RefusalReason.INTERNAL: "a fault of Lanewatch's own. Please report it, with the log line that names the place.",
}


class _Seen(msgspec.Struct):
    line: int
    places: int = 0
    items: int = 0


class Problems:
    """Gathers problems; equal ones of one file are one."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Path, str, str], _Seen] = {}

    def unreadable(self, found: Unreadable) -> None:
        """A file, or a line of it, that is no recording."""
        self._add(found.path, f"{found.reason}. {found.remedy}.", found.line)

    def refused(self, batch: Batch, refused: Refused) -> None:
        """A request that could not be taken in."""
        self._add(batch.path, REFUSED.get(refused.reason, f"{refused}."), batch.line)

    def rejected(self, batch: Batch, reason: RejectReason, n_items: int) -> None:
        """Spans or log records of a request that were left out."""
        items = "spans" if batch.signal is Signal.TRACES else "log records"
        words = f"{items} were left out ({reason}: {reason.meaning}); the rest was read."
        self._add(batch.path, words, batch.line, n_items)

    def lines(self) -> list[str]:
        """One sentence each, in the order in which they were met first."""
        return [_line(path, text, seen) for (path, text, _), seen in self._seen.items()]

    def _add(self, path: Path, text: str, line: int, n_items: int = 0) -> None:
        # Problems of a file and of its lines are told apart, and so are those with items and those without.
        kind = f"{bool(line)}{bool(n_items)}"
        seen = self._seen.setdefault((path, text, kind), _Seen(line))
        seen.places += 1
        seen.items += n_items


def _line(path: Path, text: str, seen: _Seen) -> str:
    place = f"{path}, line {seen.line}" if seen.line else str(path)
    told = f"{seen.items:,} {text}" if seen.items else text
    if seen.places == 1:
        return f"{place}: {told}"
    return f"{place}, and {seen.places - 1:,} more of the same: {told}"
