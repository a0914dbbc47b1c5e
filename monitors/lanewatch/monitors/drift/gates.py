"""Gates: while one is shut, the signals behind it give no alarm and no all-clear; their state is UNSURE.

A number that was made by a judge whose canaries drift, or read from traces that began to hide things, may change for
that reason alone. What comes while a gate is shut is no evidence: it is not saved up either. Three kinds are shut by Lanewatch
itself: `evidence_gate`, while an `incomplete_` rate stands in alarm, `judge_gate`, while canaries say that a judge has
changed, and `clock_gate`, while no tick can end. Signals that a judge makes are named `score_METRIC`.
"""

from collections.abc import Iterable

import msgspec

from lanewatch.monitors.drift.signals import BY_NAME
from lanewatch.monitors.drift.tick import HOUR_TICKS

EVIDENCE = "evidence_"
JUDGE = "judge_canaries"
SCORE = "score_"
CLOCK = "clock_went_back"


class Gate(msgspec.Struct, frozen=True):
    """What a shut gate holds back: signals of one service (or of all, None), by name (or all, None)."""

    service: str | None = None
    signals: frozenset[str] | None = None

    def holds(self, service: str, signal: str) -> bool:
        """Whether a series is behind the gate."""
        mine = self.service is None or self.service == service
        return mine and (self.signals is None or signal in self.signals)


class Gates:
    """The gates that are shut, by name.

    >>> gates = Gates()
    >>> gates.shut("judge_canaries", Gate(signals=frozenset({"faithfulness"})))
    >>> gates.before("shop", "faithfulness"), gates.before("shop", "refusal")
    (('judge_canaries',), ())
    """

    def __init__(self) -> None:
        """All are open."""
        self._shut: dict[str, Gate] = {}

    def shut(self, name: str, gate: Gate) -> None:
        """Shut a gate."""
        self._shut[name] = gate

    def open(self, name: str) -> None:
        """Open a gate; one that is open stays so."""
        self._shut.pop(name, None)

    def before(self, service: str, signal: str) -> tuple[str, ...]:
        """The shut gates that a series is behind."""
        return tuple(name for name, gate in self._shut.items() if gate.holds(service, signal))


def judge_gate(metrics: Iterable[str]) -> tuple[str, Gate]:
    """(name, gate) for the scores of a judge whose canaries have shifted on these metrics, of all services.

    >>> judge_gate(["faithfulness"])[1].holds("shop", "score_faithfulness")
    True
    """
    return JUDGE, Gate(signals=frozenset(f"{SCORE}{metric}" for metric in metrics))


def clock_gate(now: int, open_tick: int) -> Gate | None:
    """All signals, where the clock (as a tick) lies more than an hour before the tick that is open.

    It was set back, so that tick stays open until the clock is there again: nothing is told till then, maybe for days.

    >>> clock_gate(1000, 1001), clock_gate(1000, 2000)
    (None, Gate(service=None, signals=None))
    """
    return Gate() if now < open_tick - HOUR_TICKS else None


def evidence_gate(service: str, kind: str) -> tuple[str, Gate]:
    """(name, gate) for traces of a service that began to hide one kind of record."""
    behind = frozenset(name for name, signal in BY_NAME.items() if signal.needs == kind)
    return f"{EVIDENCE}{kind}:{service}", Gate(service, behind)
