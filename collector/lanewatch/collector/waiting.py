"""Where skeletons wait whose trace is not open: most never matter, since their trace has nothing of an agent in it.

Invariants:

- Two generations: a skeleton is forgotten between one and two periods after it came, without ever being looked at again.
- Never more than the limit, give or take one request. Beyond it the older generation goes early, which is counted: a
  forgotten skeleton shows as a missing parent in its trace, nothing else.
- A skeleton that nobody wants is not read. Children end, and are exported, before their parents; so the ancestors of an agent's spans come
  after these as a rule, and find their trace open.
"""

from collections.abc import Mapping

from lanewatch.collector.skeleton_groups import Skeleton, Unread, read_skeleton


class WaitingSkeletons:
    """Skeletons by trace id, in two generations."""

    def __init__(self, limit: int, period_seconds: float) -> None:
        self._generation_limit = limit // 2
        self._period = period_seconds
        self._recent: dict[bytes, list[Unread]] = {}
        self._older: dict[bytes, list[Unread]] = {}
        self._n_recent = 0
        self._n_older = 0
        self._rotated_at = float("-inf")

    def __len__(self) -> int:
        return self._n_recent + self._n_older

    def extend(self, groups: Mapping[bytes, list[Unread]]) -> int:
        """Keep these, by trace id, for a while; returns how many had to be forgotten early for them."""
        recent = self._recent
        for trace_id, group in groups.items():
            known = recent.get(trace_id)
            if known is None:
                recent[trace_id] = group.copy()
            else:
                known.extend(group)
            self._n_recent += len(group)
        if self._n_recent <= self._generation_limit:
            return 0
        forgotten = self._n_older
        self._shift()
        return forgotten

    def take(self, trace_id: bytes) -> list[Skeleton]:
        """Remove and return what waits for this trace."""
        if not (self._n_recent or self._n_older):
            return []
        older, recent = self._older.pop(trace_id, []), self._recent.pop(trace_id, [])
        self._n_older -= len(older)
        self._n_recent -= len(recent)
        return [read_skeleton(unread) for unread in older + recent]

    def rotate(self, now: float) -> None:
        """Forget the older generation once a period is over, and both when two have passed."""
        passed = now - self._rotated_at
        if passed < self._period:
            return
        self._shift()
        if passed >= 2 * self._period:
            self._shift()
        self._rotated_at = now

    def _shift(self) -> None:
        self._older, self._recent = self._recent, {}
        self._n_older, self._n_recent = self._n_recent, 0
