"""How much one trace may cost to read: steps are counted, not seconds, so that the same trace always ends the same way.

Reading grows with the trace, and what is compared is bounded for each item; the budget is for what remains, so that one
trace made to be slow can't hold up all others for minutes.
"""

WORK_LIMIT = 3_000_000  # steps of about a microsecond; 20,000 spans, the most that a trace may have, take about a tenth


class OverBudgetError(Exception):
    """Reading a trace took more steps than it may."""


class Work:
    """A budget of steps: comparisons of two items, and items that are looked at again."""

    __slots__ = ("left",)

    def __init__(self, limit: int = WORK_LIMIT) -> None:
        """`limit` steps may be spent."""
        self.left = limit

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises OverBudgetError where none are left."""
        self.left -= steps
        if self.left < 0:
            raise OverBudgetError
