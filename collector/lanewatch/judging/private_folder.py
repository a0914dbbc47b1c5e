"""The folder of a store that nobody named: made with the process and deleted with it, or by the next one where it was killed."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from lanewatch.monitors.judge.store_file import Lock, StoreFault, faults

LOCK = "sidecar.lock"  # in every folder of a store, held by the sidecar whose it is
PREFIX = "lanewatch-judge-"


def make_private_folder() -> str:
    """A new folder, after those were deleted whose sidecar is gone. Raises StoreFault where none can be written: in a container
    whose root is read-only.
    """
    with faults():
        sweep_private_folders()
        return tempfile.mkdtemp(prefix=PREFIX)


def sweep_private_folders(folder: Path | None = None) -> int:
    """Delete private folders whose sidecar was killed, since they hold content; how many. Those of others are left alone."""
    swept = 0
    for path in (folder or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, StoreFault):
            if path.is_symlink() or path.stat().st_uid != os.getuid() or not (path / LOCK).exists():
                continue
            lock = Lock(path / LOCK)
            if lock.take():
                shutil.rmtree(path, ignore_errors=True)
                lock.release()
                swept += 1
    return swept
