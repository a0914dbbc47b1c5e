"""Efficiency and flow of a trace as facts: tokens, model turns, tool calls, time, cost, loops; no verdict.

Invariants: an amount says whether it is all there was; where it is not, it is a lower bound, and never 0 for unknown.
Tokens are those of the record's model calls, which are leaves: what an agent's or a wrapper's span sums up is no model
call, and duplicates are folded before. Lanes are not blended here: each amount stands by itself.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from lanewatch.adapters.identity import canonical, fold
from lanewatch.adapters.records import Dispatch, Evidence, Executed, Generation, ToolRequest, TraceRecord

NANOSECONDS = 10**9
MILLION = 10**6
MAX_NAMES = 200  # of one trace's tools that are counted by name
OTHERS = ""  # the others together
COUNTABLE = (Evidence.COMPLETE, Evidence.TRUNCATED, Evidence.REDACTED)  # content is hidden, and every call is seen


class Price(msgspec.Struct, frozen=True):
    """What a million tokens of a model cost, in dollars."""

    input: float
    output: float

    def dollars(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        return (input_tokens * self.input + output_tokens * self.output) / MILLION


class Amount(msgspec.Struct, frozen=True):
    """So much at least; `complete` where it is all."""

    value: float = 0
    complete: bool = True

    def __add__(self, other: "Amount") -> "Amount":
        """Both together."""
        return Amount(self.value + other.value, self.complete and other.complete)


class Step(msgspec.Struct, frozen=True):
    """One model call or one run of a tool. `tokens` and `dollars` are None for a tool, and where they are not known."""

    span_id: str
    tool: str | None  # None: a model call
    model: str | None
    seconds: float
    tokens: int | None = None
    dollars: float | None = None


class Efficiency(msgspec.Struct, frozen=True):
    """The facts of one trace, or of a session's traces together (then without steps)."""

    tokens: Amount = Amount()
    dollars: Amount = Amount()
    seconds: Amount = Amount()  # of a session, the sum of its traces: what a person took to type is not in it
    model_turns: Amount = Amount()
    tool_calls: Amount = Amount()
    repeated_calls: Amount = Amount()  # runs of what had run before with the same arguments and had succeeded
    idle_turns: Amount = Amount()  # model turns that asked only for what an earlier turn had asked for
    calls: dict[str, Amount] = {}  # by the tool's name as the span tells it, or OTHERS
    steps: tuple[Step, ...] = ()

    def __add__(self, other: "Efficiency") -> "Efficiency":
        """Both traces together."""
        calls = dict(self.calls)
        for name, amount in other.calls.items():
            kept = name if name in calls or len(calls) < MAX_NAMES else OTHERS
            calls[kept] = calls.get(kept, Amount()) + amount
        sums = {fact: getattr(self, fact) + getattr(other, fact) for fact in FACTS}
        return Efficiency(**sums, calls=calls)


FACTS = ("tokens", "dollars", "seconds", "model_turns", "tool_calls", "repeated_calls", "idle_turns")
NOTHING = Efficiency()


def efficiency(record: TraceRecord, prices: Mapping[str, Price] | None = None) -> Efficiency:
    """The facts of a trace. `prices` are by the model's name as spans tell it, exactly: a dated name may cost otherwise."""
    whole = record.complete and not record.unread and record.incomplete is None
    models = [_model_step(generation, prices or {}) for generation in record.generations]
    runs = [run for run in record.dispatches if run.executed is not Executed.NO]
    ran = [run.executed is Executed.YES for run in runs]
    calls: dict[str, Amount] = {}
    for run in runs:
        name = run.name if run.name in calls or len(calls) < MAX_NAMES else OTHERS
        calls[name] = calls.get(name, Amount()) + _run(run)
    countable = whole and record.evidence["dispatches"] in COUNTABLE
    seen = whole and record.shows("requests")
    return Efficiency(
        tokens=_sum([step.tokens for step in models], complete=whole),
        dollars=_sum([step.dollars for step in models], complete=whole),
        seconds=_lasted(record, complete=whole),
        model_turns=Amount(len(models), whole),
        tool_calls=Amount(sum(ran), countable and all(ran)),
        repeated_calls=_repeated(runs, complete=countable),
        idle_turns=Amount(_idle(record.requests), seen),
        calls=calls,
        steps=(*models, *(Step(run.span_id, run.name, None, _seconds(run)) for run in runs)),
    )


def _lasted(record: TraceRecord, *, complete: bool) -> Amount:
    """From the first to the last span; nothing for sure where a time is not told."""
    if not record.start_ns or record.end_ns < record.start_ns:
        return Amount(0, complete=False)
    return Amount((record.end_ns - record.start_ns) / NANOSECONDS, complete)


def _model_step(generation: Generation, prices: Mapping[str, Price]) -> Step:
    usage, price = generation.usage, prices.get(generation.model or "")
    known = usage.input is not None and usage.output is not None
    tokens = (usage.input or 0) + (usage.output or 0) if known else None
    dollars = None
    if known and price is not None:
        dollars = price.dollars(usage.input or 0, usage.output or 0)
    return Step(generation.span_id, None, generation.model, _seconds(generation), tokens, dollars)


def _seconds(step: Generation | Dispatch) -> float:
    return max(0, step.end_ns - step.start_ns) / NANOSECONDS


def _run(run: Dispatch) -> Amount:
    """One call where it is known to have run, else none for sure."""
    return Amount(1) if run.executed is Executed.YES else Amount(0, complete=False)


def _sum(amounts: list[Any], *, complete: bool) -> Amount:
    known = [amount for amount in amounts if amount is not None]
    return Amount(sum(known), complete and len(known) == len(amounts))


def _repeated(runs: list[Dispatch], *, complete: bool) -> Amount:
    known = [run for run in runs if run.executed is Executed.YES and run.arguments_state == "captured"]
    done: set[Any] = set()
    repeated = 0
    for run in known if len(known) > 1 else ():
        call = (fold(run.name), canonical(run.arguments))
        repeated += call in done
        if run.error is None:
            done.add(call)
    return Amount(repeated, complete and len(known) == len(runs))


def _idle(requests: tuple[ToolRequest, ...]) -> int:
    """Model turns without progress. What was asked for in the same turn twice is no repetition of an earlier turn."""
    turns: dict[int, list[Any]] = {}
    if len({request.turn for request in requests}) < 2:  # noqa: PLR2004 - the first turn repeats nothing
        return 0
    for request in requests:
        asked = request.arguments if request.arguments is not None else request.arguments_raw
        turns.setdefault(request.turn, []).append((fold(request.name), canonical(asked)))
    known: set[Any] = set()
    idle = 0
    for _, calls in sorted(turns.items()):
        idle += all(call in known for call in calls)
        known.update(calls)
    return idle
