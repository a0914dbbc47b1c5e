"""What the doctor reads off a sidecar's page of drift: how far its reference is, what stands, and what survives a restart."""

from collections.abc import Iterator, Sequence

import msgspec

from lanewatch.config.keys import Config
from lanewatch.doctor.check import Check, Status
from lanewatch.monitors.drift.gates import CLOCK, JUDGE
from lanewatch.monitors.rates import Sample
from lanewatch.pages.client import Answer, decoded
from lanewatch.pages.samples import total
from lanewatch.shown_text import counted

OK = 200
STALE_STATE = 10  # times drift.snapshot_seconds


def drift(config: Config, answer: Answer, samples: Sequence[Sample], now: float) -> Iterator[Check]:
    """Every check that the page and the counters of drift allow; `now` in seconds since the epoch."""
    if answer.status != OK:
        status = Status.NOTE if not config.drift.enabled else Status.UNKNOWN
        yield Check("drift", status, "it is not watched", "set drift.enabled = true, and start anew")
        return
    try:
        seen = decoded(answer.body, _Drift)
    except msgspec.DecodeError:
        yield Check("drift", Status.UNKNOWN, "its page can't be read", "is the sidecar of the same version?")
        return
    yield _phase(seen)
    if total(samples, "lanewatch_drift_errors"):
        yield Check("drift errors", Status.WRONG, "drift failed on some traces", "report it, with the log's line")
    yield from _alarms(seen)
    yield _state(config, seen, now)


class _Learning(msgspec.Struct):
    fitted: int
    fit_traces: int
    counted_seconds: float
    learning_seconds: float


class _Storage(msgspec.Struct):
    written: int = 0
    failed: int = 0
    set_aside: int = 0
    since: float = 0.0


class _Series(msgspec.Struct):
    service: str
    lane: str
    signal: str
    state: str
    because: list[str] = []


class _Drift(msgspec.Struct):
    phase: str
    because: str
    reference: str
    false_alarms_per_30_days: float
    budget_of: str
    storage: _Storage
    series: list[_Series]
    learning: _Learning | None = None


def _phase(seen: _Drift) -> Check:
    if seen.phase == "no_reference":
        told = f"nothing is watched: the reference that is set is {seen.because}"
        return Check(
            "drift", Status.WRONG, told, "make one with `lanewatch baseline build`, or set drift.reference_file to none"
        )
    if seen.learning is not None:
        learning = seen.learning
        if learning.fitted < learning.fit_traces:
            told = f"no baseline yet: it learns what is usual, {learning.fitted} of {learning.fit_traces} traces that bins are fitted to"
        else:
            days = (learning.counted_seconds / 86_400, learning.learning_seconds / 86_400)
            told = f"no baseline yet: it learns what is usual, {days[0]:.1f} of {days[1]:.1f} days are counted"
        return Check(
            "drift", Status.NOTE, told, "wait, or give it a reference of recorded traffic: `lanewatch baseline build`"
        )
    promised = f"{counted(seen.false_alarms_per_30_days, 'false alarm')} in 30 days at most"
    of = "all together" if seen.budget_of == "instance" else "each"
    watched = f"{counted(len(seen.series), 'signal')} {'is' if len(seen.series) == 1 else 'are'} watched"
    return Check("drift", Status.OK, f"{watched} against {seen.reference}; {promised}, {of}")


def _alarms(seen: _Drift) -> Iterator[Check]:
    for series in seen.series:
        if series.state == "alarm":
            found = f"{series.signal} of {series.service} has drifted ({series.lane} lane)"
            remedy = (
                f"see lanewatch_alarm_moved; once dealt with: lanewatch drift ack {series.service!r} {series.signal}"
            )
            yield Check("drift alarm", Status.NOTE, found, remedy)
    for because in dict.fromkeys(reason for series in seen.series for reason in series.because):
        held = sum(because in series.because for series in seen.series)
        if because == "no_observations":
            remedy = "nothing to observe since it started or for a day; docs/drift.md says what each signal needs"
        elif because == CLOCK:
            remedy = "the clock was set back: nothing is told until it is there again, or drift.state_folder is emptied and it starts anew"
        elif because == JUDGE:
            remedy = "canaries say that the judge has changed: docs/canaries.md"
        else:
            remedy = "traces began to hide what these signals need: see the alarms of incomplete_..."
        yield Check("drift unsure", Status.NOTE, f"nothing can be said of {counted(held, 'signal')}: {because}", remedy)


def _state(config: Config, seen: _Drift, now: float) -> Check:
    storage = seen.storage
    # It may run with other settings than these.
    if not (config.drift.state_folder or storage.written or storage.failed):
        return Check(
            "drift state",
            Status.NOTE,
            "nothing survives a restart: what was learnt, evidence, standing alarms",
            "set drift.state_folder to a folder that stays",
        )
    if storage.failed:
        remedy = "is drift.state_folder there, writable by its user, not full, and no other sidecar's as well?"
        return Check("drift state", Status.WRONG, f"{counted(storage.failed, 'writing')} failed", remedy)
    if storage.set_aside:
        remedy = "they stay beside as NAME.damaged-N: look at the disk, and delete them"
        return Check(
            "drift state",
            Status.NOTE,
            f"{counted(storage.set_aside, 'damaged file')} {'was' if storage.set_aside == 1 else 'were'} set aside",
            remedy,
        )
    age = now - storage.since
    if storage.since and age > STALE_STATE * config.drift.snapshot_seconds:
        return Check("drift state", Status.WRONG, f"it was written {age:.0f} s ago", "see the log: the disk may hang")
    return Check("drift state", Status.OK, "it is written" if storage.since else "nothing had to be written yet")
