"""The promise: how many false alarms in 30 days, for the whole instance, shared over its series.

Expected numbers add up whatever the dependence, so a share of the budget for each series is all it takes: sixty series
under one budget are found about a minute later than each under its own.
"""

from typing import Literal

import msgspec

MINUTES_IN_30_DAYS = 43_200.0


class Budget(msgspec.Struct, frozen=True):
    """False alarms per 30 days, of the whole instance or of each series."""

    false_alarms_per_30_days: float = 1.0
    of: Literal["instance", "series"] = "instance"

    def per_series(self, series: int) -> float:
        """What each of so many series may have.

        >>> Budget(1.0).per_series(4), Budget(1.0, "series").per_series(4)
        (0.25, 1.0)
        """
        shared = self.of == "instance" and series > 0
        return self.false_alarms_per_30_days / series if shared else self.false_alarms_per_30_days


def minutes_between(alarms_per_30_days: float) -> float:
    """The alarm line A of an e-SR detector: minutes between false alarms.

    >>> minutes_between(0.5)
    86400.0
    """
    return MINUTES_IN_30_DAYS / alarms_per_30_days


def chance_a_check(alarms_per_30_days: float) -> float:
    """The level of a test that is looked at once a minute, so that the expected false alarms hold.

    >>> round(1 / chance_a_check(1.0))
    43200
    """
    return alarms_per_30_days / MINUTES_IN_30_DAYS
