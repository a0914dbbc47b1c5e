"""`lanewatch judge check`: one round of canaries against the configured endpoint, what was sent, what came back, cost and verdict.

A metric is `ok` where its judge ends the anchors as a sound one would, `shifted` where it no longer ends them as in the reference that
the sidecar keeps in judge.store, `failed` where too few could be judged or too many end astray.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lanewatch.config.keys import Config
from lanewatch.judging.parts import worker_settings
from lanewatch.judging.rounds import Rounds, Sent, judge_round
from lanewatch.monitors.judge.active import active_metrics, missing, remedy
from lanewatch.monitors.judge.breaker import CAUSES, REMEDIES
from lanewatch.monitors.judge.canaries.items import Canary, CanaryFaults, bands_of, canaries_of, load_canaries
from lanewatch.monitors.judge.canaries.rounds import Round, Soundness, soundness
from lanewatch.monitors.judge.canaries.shift import Shift, shifts
from lanewatch.monitors.judge.canaries.watch import WatchState, set_name
from lanewatch.monitors.judge.metrics import BY_NAME, METRICS
from lanewatch.monitors.judge.results import Reason
from lanewatch.monitors.judge.settings import WorkerSettings
from lanewatch.monitors.judge.store_facts import CANARIES, read_fact
from lanewatch.monitors.judge.store_file import NAME, StoreFault, open_store
from lanewatch.shown_text import counted, shown

LEAST_SOUND = 0.7  # of the anchors that a judge was asked; a signal without a model must end all of them as expected
LEAST_JUDGED = 0.75  # of the anchors that must have an end at all
NOT_BOOKED = "in no budget but that of this round: there is no judge.store to book it in"
SHOWN = 8  # anchors astray that are named a metric
# What ended an anchor for the endpoint's sake, or ours: it says nothing of the judge's opinion.
FAILURES = frozenset(
    {
        Reason.AUTH, Reason.RATE_LIMITED, Reason.TIMEOUT, Reason.UNREACHABLE, Reason.SERVER_ERROR, Reason.BAD_REQUEST,
        Reason.JUDGE_INVALID, Reason.JUDGE_REFUSED, Reason.JUDGE_TRUNCATED, Reason.CIRCUIT_OPEN, Reason.WORKER_FAILED,
        Reason.MONEY, Reason.TOKENS, Reason.NOT_INSTALLED, Reason.NO_ENDPOINT, Reason.UNSTABLE, Reason.STORE_FAILED,
    }
)  # fmt: skip


class CheckFault(Exception):  # noqa: N818 - it tells a person what is wrong
    """What was asked can't be checked; `str()` says what to do."""


class Verdict(StrEnum):
    """What a round says of a metric's judge."""

    OK = "ok"
    SHIFTED = "shifted"
    FAILED = "failed"


class Checked(msgspec.Struct, frozen=True):
    """One metric's round, judged."""

    metric: str
    verdict: Verdict
    why: str
    found: Round
    sound: Soundness
    failures: dict[str, int]
    shifts: tuple[Shift, ...] | None


def check(config: Config, named: Sequence[str], *, as_json: bool) -> bool:
    """Do it and print it; whether every metric is ok. Raises CheckFault."""
    settings = worker_settings(config, config.judge.store)
    metrics = chosen(settings, named)
    canaries = canaries_for(settings.canaries)
    console = Console(highlight=False, soft_wrap=True)
    if not as_json:
        console.print(escape(_opening(settings, metrics, canaries)))
    found = with_progress(metrics, canaries, lambda advance: judge_round(settings, metrics, canaries, advance))
    state = _reference(settings, canaries)
    checked = [_checked(metric, found, canaries, state) for metric in metrics]
    if as_json:
        console.print_json(data=_json(settings, found, checked, known=state is not None))
    else:
        _print(console, found, checked, state)
    return all(one.verdict is Verdict.OK for one in checked)


def chosen(settings: WorkerSettings, named: Sequence[str]) -> list[str]:
    """The metrics that are checked: those named, else all that are judged here. Raises CheckFault."""
    unknown = [name for name in named if name not in BY_NAME]
    if unknown:
        raise CheckFault(f"there is no metric {shown(unknown[0])}; metrics are {', '.join(BY_NAME)}")
    for name in named:
        why = missing(BY_NAME[name], settings)
        if why is not None:
            raise CheckFault(f"{name} can't be had here: {remedy(BY_NAME[name], why)}")
    if named:
        return [metric.name for metric in METRICS if metric.name in named]
    # Canaries bring their own topics, so that what needs topics can be checked without any.
    with_topics = msgspec.structs.replace(settings, topics=settings.topics or ("any",))
    return [metric.name for metric, why in active_metrics(with_topics).items() if why is None]


def canaries_for(own: str) -> tuple[Canary, ...]:
    """The shipped anchors and those of the user's file. Raises CheckFault with every fault of it."""
    try:
        return load_canaries(Path(own) if own else None)
    except CanaryFaults as faulty:
        raise CheckFault(
            "judge.canaries has faults:\n  " + "\n  ".join(shown(fault) for fault in faulty.faults)
        ) from None


def with_progress(
    metrics: Iterable[str], canaries: Sequence[Canary], work: Callable[[Callable[[str], None]], Rounds]
) -> Rounds:
    """Show on a terminal how far it is; `work` is given what it is to tell of each anchor."""
    errors = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as progress:
        tasks = {m: progress.add_task(m, total=len(canaries_of(m, canaries))) for m in metrics}
        return work(lambda metric: progress.advance(tasks[metric]))


def _checked(metric: str, found: Rounds, canaries: Sequence[Canary], state: WatchState | None) -> Checked:
    round_ = found.rounds[metric]
    sound = soundness(round_, metric, canaries)
    failures = Counter(reason for reason in round_.missing.values() if reason in FAILURES)
    anchor = None if state is None or metric not in state.metrics else state.metrics[metric].anchor
    kinds = {canary.id: canary.kind.value for canary in canaries}
    moved = None if anchor is None else shifts(anchor.ends(), round_.ends(), kinds, bands_of(metric, canaries))
    judged = sound.n - failures.total()
    least = LEAST_SOUND if BY_NAME[metric].paid else 1.0
    shifted = [one for one in moved or () if one.is_shifted]
    if judged < LEAST_JUDGED * sound.n:
        verdict, why = Verdict.FAILED, f"{counted(failures.total(), 'anchor')} of {sound.n} could not be judged"
    elif shifted:
        why = ", ".join(f"{one.group} {one.mean:+.2f} ({one.low:+.2f} to {one.high:+.2f})" for one in shifted)
        verdict = Verdict.SHIFTED
    elif sound.n_sound < least * judged:
        verdict, why = Verdict.FAILED, f"only {sound.n_sound} of {judged} anchors end as a sound judge ends them"
    else:
        verdict, why = Verdict.OK, f"{sound.n_sound} of {judged} anchors end as a sound judge ends them"
    return Checked(metric, verdict, why, round_, sound, dict(failures), moved)


def _reference(settings: WorkerSettings, canaries: Sequence[Canary]) -> WatchState | None:
    """What the sidecar keeps of its rounds; None where there is nothing to compare with."""
    if not settings.store or not (Path(settings.store) / NAME).is_file():
        return None
    db: sqlite3.Connection | None = None
    try:
        db = open_store(Path(settings.store), settings.limits.max_bytes, mend=False)
        kept = read_fact(db, CANARIES)
        state = None if kept is None else msgspec.json.decode(kept, type=WatchState)
    except (StoreFault, msgspec.DecodeError):
        return None
    finally:
        if db is not None:
            db.close()
    return state if state is not None and state.canaries == set_name(canaries) else None


def _opening(settings: WorkerSettings, metrics: Sequence[str], canaries: Sequence[Canary]) -> str:
    asking = [metric for metric in metrics if BY_NAME[metric].paid]
    n = sum(len(canaries_of(metric, canaries)) for metric in asking or metrics)
    if not asking:
        why = (
            ""
            if settings.endpoint
            else "No endpoint is configured (judge.base_url and judge.model): only what needs no model is checked. "
        )
        return f"{why}{counted(n, 'anchor')} of {counted(len(metrics), 'metric')}, nothing leaves this machine."
    return (
        f"{counted(n, 'anchor')} of {counted(len(asking), 'metric')} go to {settings.endpoint.model} at "
        f"{settings.endpoint.base_url}. They are Lanewatch's own texts{' and those of judge.canaries' if settings.canaries else ''}."
    )


def _print(console: Console, found: Rounds, checked: Sequence[Checked], state: WatchState | None) -> None:
    def say(text: str) -> None:
        console.print(escape(text))

    for evaluator, why in found.unloaded.items():
        say(f"The evaluator {evaluator} could not be loaded: {shown(why)}")
    for one in checked:
        say(f"{one.verdict.upper():8} {one.metric}: {one.why}")
        if one.found.models:
            names = ", ".join(map(shown, one.found.models))
            prints = ", ".join(map(shown, one.found.fingerprints)) or "none told"
            say(f"         judged by {names}; fingerprint: {prints}")
        for reason, n in one.failures.items():
            cause = CAUSES.get(Reason(reason))
            say(f"         {n} not judged: {reason}{f' ({REMEDIES[cause]})' if cause is not None else ''}")
        astray = [item for item in one.sound.astray if one.found.missing.get(item) not in FAILURES]
        for item in astray[:SHOWN]:
            say(f"         astray: {shown(item)} {_ended(one.found, item)}")
        if len(astray) > SHOWN:
            say(f"         and {len(astray) - SHOWN} more")
    if any(BY_NAME[one.metric].paid for one in checked):
        say(_sent(found.sent))
        booked = "booked in judge.store: the sidecar's judge counts it from its next start on"
        say(f"It is {booked if found.is_booked else NOT_BOOKED}.")
    if state is None:
        say(
            "There is no reference to tell a shift by: the sidecar keeps one in judge.store, after its first round of the "
            "same anchors. Held against the anchors' bands alone."
        )


def _ended(found: Round, item: str) -> str:
    if item in found.scores:
        return f"scored {found.scores[item]:.2f}"
    return f"ended as {found.missing.get(item, 'not judged')}"


def _sent(sent: Sent) -> str:
    priced = f"{sent.dollars:.4f} dollars" if not sent.unpriced else (
        f"at least {sent.dollars:.4f} dollars: the price of {counted(sent.unpriced, 'call')} is not known (set prices.MODEL)"
    )  # fmt: skip
    return (
        f"Sent {counted(sent.calls, 'request')}, {sent.sent_bytes:,} bytes, {sent.input_tokens:,} tokens; came back "
        f"{sent.received_bytes:,} bytes, {sent.output_tokens:,} tokens; {sent.failed} failed; {priced}."
    )


def _json(settings: WorkerSettings, found: Rounds, checked: Sequence[Checked], *, known: bool) -> dict[str, Any]:
    return {
        "model": settings.endpoint.model or None,
        "base_url": settings.endpoint.base_url or None,
        "has_reference": known,
        "unloaded": found.unloaded,
        "sent": msgspec.to_builtins(found.sent),
        "booked": found.is_booked,
        "metrics": {
            one.metric: {
                "verdict": one.verdict.value,
                "why": one.why,
                "anchors": one.sound.n,
                "sound": one.sound.n_sound,
                "astray": list(one.sound.astray),
                "failures": one.failures,
                "models": list(one.found.models),
                "fingerprints": list(one.found.fingerprints),
                "shifts": None if one.shifts is None else msgspec.to_builtins(one.shifts),
                "scores": one.found.scores,
                "missing": one.found.missing,
                "cost": msgspec.to_builtins(one.found.cost),
                "unpriced": one.found.n_unpriced,
            }
            for one in checked
        },
    }
