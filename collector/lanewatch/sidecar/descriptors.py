"""How many files and connections the process may have open, and what each receiver gets of them.

Invariant: connections never use up the descriptors. A process that has none left can't answer its health page, and asyncio
logs each accept that fails: 23 MB in ten seconds were seen.
"""

import logging
import resource

logger = logging.getLogger(__name__)

# Of the pages' connections (64), of connections accepted or lingering beyond a limit, of threads' wakeups and of files.
RESERVED = 384
RECEIVERS = 2
FEWEST = 16  # connections of each receiver, however low the limit is


def raise_soft_limit() -> int:
    """Raise the soft limit of open files to the hard one; returns what then holds.

    The soft limit is 1,024 by custom, for programs that use select(); this one doesn't (systemd.exec(5), LimitNOFILE).
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # macOS refuses "unlimited"
            return _counted(soft)
    return _counted(hard)


def connections_each(wanted: int, limit: int) -> int:
    """How many of the connections that each receiver wants fit into a limit of open files; says so where not all do."""
    fit = max(FEWEST, (limit - RESERVED) // RECEIVERS)
    if wanted <= fit:
        return wanted
    logger.warning(
        "at most %d files may be open: each receiver takes %d connections, fewer than receivers.max_connections (%d). "
        "Raise the limit (ulimit -Hn, LimitNOFILE) or lower the setting.",
        limit,
        fit,
        wanted,
    )
    return fit


def _counted(limit: int) -> int:
    return 2**31 if limit == resource.RLIM_INFINITY else limit
