"""The clock of a replay: recorded requests carry no time of arrival, so time is what their own timestamps say.

The rule:

- Now is the newest end time (a log record's time) that a request has brought, and never goes back.
- What lies more than a day from where the clock stands is left out: a timestamp of the year 2554 must not close every
  trace. The first request stands in for the clock by its median.
- A request that lies more than a day off as a whole doesn't move the clock. Once two in a row agree within a day, the
  recording has gone on at another time, or began at a false one: from there on the clock runs by their time. It doesn't
  jump, in either direction, so that no trace closes by it; those of before close as the clock runs on.
"""

from statistics import median_low

from lanewatch.collector.spans import Decoded

_DAY_NS = 24 * 3600 * 10**9


class EventClock:
    """Gives `Assembler.add` its `now`, in seconds; about Unix time as long as no timestamp is off by a day."""

    def __init__(self) -> None:
        self._now_ns = 0
        self._newest: int | None = None  # the timestamp at which the clock reads `_now_ns`
        self._strange: int | None = None  # the newest time of the request before, where all of it was off

    def event_time(self, decoded: Decoded) -> float:
        """Move the clock on by what this request brings; returns the time now."""
        times = _times_ns(decoded)
        if times:
            self._see(times)
        return self._now_ns / 1e9

    def _see(self, times: list[int]) -> None:
        if self._newest is None:
            self._newest = self._now_ns = _newest_near(times, median_low(times))
            return
        near = [time for time in times if abs(time - self._newest) <= _DAY_NS]
        if near:
            self._strange = None
            self._now_ns += max(0, max(near) - self._newest)
            self._newest = max(self._newest, *near)
            return
        newest = _newest_near(times, median_low(times))
        if self._strange is not None and abs(newest - self._strange) <= _DAY_NS:
            self._newest, self._strange = max(newest, self._strange), None
        else:
            self._strange = newest


def _newest_near(times: list[int], middle: int) -> int:
    return max(time for time in times if time - middle <= _DAY_NS)


def _times_ns(decoded: Decoded) -> list[int]:
    """End times; a span that has none counts by its start, and 0 is no time."""
    spans = [span.end_ns or span.start_ns for span in decoded.spans]
    skeletons = [skeleton.end_ns or skeleton.start_ns for skeleton in decoded.skeletons]
    logs = [log.time_ns for log in decoded.logs]
    return [time for time in spans + skeletons + logs if time > 0]
