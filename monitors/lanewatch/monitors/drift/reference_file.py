"""The file of the reference in use, watched by a running sidecar: what was adopted is taken up without a restart.

Looked at every few seconds by its inode, size and time. A changed one is read, and its monitor built, on a thread of its own:
four weeks of thirty series take a second or two, in which traces go on being read. What can't be used changes nothing.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from lanewatch.monitors.drift.checked_file import Trouble
from lanewatch.monitors.drift.monitor import DriftMonitor
from lanewatch.monitors.drift.reference import Reference, load_reference
from lanewatch.monitors.drift.sole_writer import signature

LOOK_SECONDS = 5.0


class ReferenceFile:
    """One thread looks; it is given a monitor once there is one."""

    def __init__(self, path: Path, build: Callable[[Reference], DriftMonitor]) -> None:
        """What is there now counts as known."""
        self.path = path
        self.trouble: Trouble | None = None  # why the last change could not be used
        self._build = build
        self._known = signature(path)
        self._thread: threading.Thread | None = None
        self._made: DriftMonitor | None = None

    def look(self, in_use: str) -> DriftMonitor | None:
        """The monitor of another reference than `in_use` that the file holds now, once it is built."""
        if self._thread is None:
            found = signature(self.path)
            if found is not None and found != self._known:
                self._known = found
                self._thread = threading.Thread(target=self._read, name="lanewatch-drift-reference", daemon=True)
                self._thread.start()
            return None
        if self._thread.is_alive():
            return None
        self._thread = None
        made, self._made = self._made, None
        return made if made is not None and made.reference_id != in_use else None

    def skip(self) -> None:
        """What is there now is in use already."""
        self._known = signature(self.path)

    def join(self) -> None:
        """Wait for what is being built."""
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        loaded = load_reference(self.path, aside=False)
        self.trouble = loaded.trouble
        if loaded.reference is not None:
            try:
                self._made = self._build(loaded.reference)
            except Exception:  # noqa: BLE001 - whatever is in it, what is in use goes on
                self.trouble = Trouble.DAMAGED
