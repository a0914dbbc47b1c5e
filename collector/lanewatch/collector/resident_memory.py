"""How much memory of a process is resident, as Linux tells it."""

import resource
from pathlib import Path


def resident_of(process: int | None = None) -> int | None:
    """Bytes that a process (its id; None is this one) has in memory; None where it is gone or the system does not tell."""
    try:
        pages = int(Path(f"/proc/{process or 'self'}/statm").read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * resource.getpagesize()
