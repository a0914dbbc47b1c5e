"""Where references are kept beside the one in use: every version under its id, and the ledger of what was done.

Beside `FILE`, the reference that a sidecar is set to (drift.reference_file), stand `FILE.ledger` and the folder
`FILE.versions`. An adoption is written into the ledger first and then becomes the file, whole or not at all; a kill in
between shows as a ledger that names another reference than the file holds, and is said.
"""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lanewatch.config.keys import Config
from lanewatch.drifting.inputs import DriftFault, reference_in
from lanewatch.monitors.drift.checked_file import set_aside
from lanewatch.monitors.drift.ledger import Entry, Ledger, append, read_ledger
from lanewatch.monitors.drift.reference import Reference, load_reference, save_reference
from lanewatch.monitors.drift.state_folder import REFERENCE


class Store(NamedTuple):
    """The file in use and what stands beside it."""

    in_use: Path

    @property
    def ledger_file(self) -> Path:
        """JSON lines, only appended to."""
        return self.in_use.with_name(f"{self.in_use.name}.ledger")

    @property
    def versions(self) -> Path:
        """A folder of references by id."""
        return self.in_use.with_name(f"{self.in_use.name}.versions")

    def ledger(self) -> Ledger:
        """What the ledger tells. Raises OSError."""
        return read_ledger(self.ledger_file)

    def write(self, entry: Entry) -> None:
        """Append an entry. Raises OSError, and DriftFault where the ledger is full."""
        try:
            append(self.ledger_file, entry)
        except ValueError as error:
            raise DriftFault(str(error)) from None

    def keep(self, reference: Reference) -> None:
        """Keep a version; one that is there and whole is the same, since its id tells what is in it. Raises OSError."""
        self.versions.mkdir(mode=0o700, exist_ok=True)
        path = self.versions / reference.id
        kept = load_reference(path, aside=False).reference
        if kept is None or kept.id != reference.id:
            save_reference(path, reference)

    def version(self, name: str) -> Reference:
        """A version by its id. Raises DriftFault, also where another reference stands under that id."""
        if not name.isalnum():
            raise DriftFault("an id of a reference is twelve hex digits")
        path = self.versions / name
        if not path.exists():
            raise DriftFault(
                f"no version {name} is kept in {self.versions}: lanewatch baseline log names those that were proposed"
            )
        found = reference_in(path)
        if found.id != name:
            raise DriftFault(f"{path} holds another reference, {found.id}: propose the one that was meant again")
        return found

    def current(self) -> Reference | None:
        """The reference in use; None where there is none yet. Raises DriftFault where it can't be read."""
        return reference_in(self.in_use) if self.in_use.exists() else None

    def current_or_aside(self) -> tuple[Reference | None, Path | None]:
        """The reference in use, or where the file is put that can't be read: to be replaced, and never deleted.

        Raises DriftFault where it can't be put aside either.
        """
        try:
            return self.current(), None
        except DriftFault:
            aside = set_aside(self.in_use)
            if aside is None:
                raise
            return None, aside

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for other processes that change the reference in use. Raises OSError."""
        with self.in_use.with_name(f".{self.in_use.name}.lock").open("ab") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield


def store_of(config: Config, reference: Path | None) -> Store:
    """The store beside the file that is named, or set. Raises DriftFault where there is neither."""
    drift = config.drift
    if reference is not None:
        path = reference
    elif drift.reference_file:
        path = Path(drift.reference_file)
    elif drift.state_folder:
        path = Path(drift.state_folder) / REFERENCE
    else:
        raise DriftFault(
            "beside which reference? `lanewatch baseline` needs to know the one in use: set drift.reference_file (or "
            "drift.state_folder) in the configuration, as the sidecar has it, or give --reference FILE"
        )
    if not path.absolute().parent.is_dir():
        raise DriftFault(f"{path.parent}: there is no such folder; make it first")
    return Store(path.absolute())
