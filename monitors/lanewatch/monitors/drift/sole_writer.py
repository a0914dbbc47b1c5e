"""A folder's files as one process left them: what another wrote in between is seen, and not written over.

Two processes with one folder would each take up the other's evidence after a restart. Of two, the one that writes first goes on
writing; the other is refused at each turn, and writes again once the file stays as it found it: the first has gone. So one that
still ends while its successor runs costs the successor one turn. Seen by inode, size and time, as every writing makes a new inode.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

Signature = tuple[int, int, int]


class SharedFolderError(OSError):
    """Another process writes there."""


class SoleWriter:
    """Knows what stood in the folder when it was made, and what it wrote since."""

    def __init__(self, folder: Path, names: Iterable[str], say: Callable[[str], None] = lambda _name: None) -> None:
        """To be made before the files are read: what is written meanwhile is seen. `say` is told the first refused file."""
        self._folder, self._say, self._said = folder, say, False
        self._known = {name: signature(folder / name) for name in names}

    def write(self, name: str, write: Callable[[], None]) -> None:
        """Do it. Raises SharedFolderError where the file was changed by another since; and what `write` raises."""
        path = self._folder / name
        found = signature(path)
        if found is not None and found != self._known[name]:
            self._known[name] = found
            if not self._said:
                self._said = True
                self._say(name)
            raise SharedFolderError
        write()
        self._known[name] = signature(path)


def signature(path: Path) -> Signature | None:
    """What tells a file from the one that is renamed into its place; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
