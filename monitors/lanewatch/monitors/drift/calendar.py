"""The hour of the week of a tick, in the service's time zone: people's habits follow their clocks, not UTC.

Named zones need the system's tz database; where it lacks the zone, that is an error at the start, never UTC in silence.
"""

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lanewatch.monitors.drift.tick import HOURS_OF_WEEK, TICK_SECONDS


def hours_of_week(time_zone: str = "UTC") -> Callable[[int], int]:
    """A function from a tick to its hour of the week, 0 at Monday midnight.

    Raises ValueError for a zone that is not known here.

    >>> hours_of_week()(0), hours_of_week("UTC")(4 * 8640)
    (72, 0)
    """
    zone: tzinfo = UTC
    if time_zone != "UTC":
        try:
            zone = ZoneInfo(time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            msg = "the time zone is not known to this system: install its tz database, or use UTC"
            raise ValueError(msg) from error
    last: tuple[int, int] = (-1, 0)

    def cell_of(tick: int) -> int:
        nonlocal last
        # A quarter of an hour is the finest difference between zones.
        quarter = tick * TICK_SECONDS // 900
        if quarter != last[0]:
            local = datetime.fromtimestamp(tick * TICK_SECONDS, zone)
            last = quarter, (local.weekday() * 24 + local.hour) % HOURS_OF_WEEK
        return last[1]

    return cell_of
