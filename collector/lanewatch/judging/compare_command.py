"""`lanewatch judge compare A B`: two judges on the same frozen set, how far they agree, and every case in which they do not.

A judge is a model's name (at judge.base_url, or judge.second_model at its own address), or a file that `lanewatch judge check
--format json` wrote. Figures are of the anchors that both scored; what one of them did not score is counted, never guessed.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape

from lanewatch.config.keys import Config
from lanewatch.judging.check_command import CheckFault, canaries_for, chosen, with_progress
from lanewatch.judging.parts import worker_settings
from lanewatch.judging.rounds import judge_round
from lanewatch.monitors.judge.agreement import HALF, kappa, rank_correlation
from lanewatch.monitors.judge.canaries.items import Canary, CanaryFaults, canaries_of, read_canaries
from lanewatch.monitors.judge.canaries.rounds import Round
from lanewatch.monitors.judge.estimates import Interval
from lanewatch.monitors.judge.families import families_of, same_family
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.settings import EndpointSettings, WorkerSettings
from lanewatch.shown_text import counted, shown

MAX_FILE_BYTES = 32 * 2**20
APART = 0.25  # of two scores that are listed as a disagreement though both say yes, or no
MOST_TOLD = 5  # faults of a file
TIE = 0.005  # two scores that are printed alike are equal


_SCORE = re.compile(rb'("(?:[^"\\]|\\.)*")\s*:\s*([^\s,}]+)')  # of an object that holds numbers alone


class Side(msgspec.Struct, frozen=True):
    """A judge: what it is called, its model, and its rounds by metric."""

    name: str
    model: str
    rounds: dict[str, Round]


class Case(msgspec.Struct, frozen=True):
    """An anchor that both scored, differently."""

    item: str
    kind: str
    first: float
    second: float
    sound: str  # who is within the anchor's band: first, second, both, neither


class Compared(msgspec.Struct, frozen=True):
    """Two judges by one metric. Intervals are of 95 %; None where nothing can be said."""

    metric: str
    n: int
    only_first: int  # scored by the first judge alone
    only_second: int
    ties: int
    difference: float | None  # mean of second - first
    kappa: Interval | None
    correlation: Interval | None
    cases: tuple[Case, ...]


class _WrittenMetric(msgspec.Struct):
    scores: dict[str, float] = {}
    missing: dict[str, str] = {}


class _Written(msgspec.Struct):
    metrics: dict[str, _WrittenMetric]
    model: str | None = None


class _PlacedMetric(msgspec.Struct):
    scores: msgspec.Raw = msgspec.Raw(b"{}")


class _Placed(msgspec.Struct):
    """What is written, as it stands there: for the lines of faults."""

    metrics: dict[str, _PlacedMetric]


def compare(
    config: Config, first: str, second: str, frozen: Path | None, named: Sequence[str], *, as_json: bool
) -> bool:
    """Do it and print it; False where there is a metric of which neither, or one, scored anything. Raises CheckFault."""
    settings = worker_settings(config, "")
    canaries = canaries_for(settings.canaries) if frozen is None else _set(frozen)
    sides = [_side(name, settings, canaries, named) for name in (first, second)]
    metrics = [metric for metric in BY_NAME if all(metric in side.rounds for side in sides)]
    if not metrics:
        raise CheckFault("the two have no metric in common")
    compared = [compared_by(metric, sides[0].rounds[metric], sides[1].rounds[metric], canaries) for metric in metrics]
    console = Console(highlight=False, soft_wrap=True)
    if as_json:
        console.print_json(msgspec.json.encode(_json(sides, compared)).decode())  # null where a figure is not finite
    else:
        _print(console, sides, compared)
    return all(one.n for one in compared)


def compared_by(metric: str, first: Round, second: Round, canaries: Sequence[Canary]) -> Compared:
    """Two rounds of the same anchors; disagreements first where they are largest."""
    known = {canary.id: canary for canary in canaries_of(metric, canaries)}
    both = sorted(first.scores.keys() & second.scores.keys())
    pairs = [(first.scores[item], second.scores[item]) for item in both]
    cases = [
        Case(
            item,
            known[item].kind.value if item in known else "",
            one,
            other,
            _sound(known.get(item), metric, one, other),
        )
        for item, (one, other) in zip(both, pairs, strict=True)
        if abs(one - other) >= APART or (one >= HALF) is not (other >= HALF)
    ]
    return Compared(
        metric,
        len(both),
        len(first.scores.keys() - second.scores.keys()),
        len(second.scores.keys() - first.scores.keys()),
        sum(abs(one - other) <= TIE for one, other in pairs),
        fmean(other - one for one, other in pairs) if pairs else None,
        kappa(pairs),
        rank_correlation(pairs),
        tuple(sorted(cases, key=lambda case: (-abs(case.first - case.second), case.item))),
    )


def _sound(canary: Canary | None, metric: str, first: float, second: float) -> str:
    if canary is None:
        return ""
    expected = canary.expect[metric]
    sound = (expected.holds(first, ""), expected.holds(second, ""))
    return {(True, True): "both", (True, False): "first", (False, True): "second", (False, False): "neither"}[sound]


def _side(name: str, settings: WorkerSettings, canaries: Sequence[Canary], named: Sequence[str]) -> Side:
    path = Path(name)
    if path.suffix == ".json" or path.is_file():
        return _written(path, named)
    if not settings.endpoint:
        raise CheckFault(
            f"{shown(name)} is no file, and judge.base_url and judge.model are not set: nobody can be asked"
        )
    asked = _endpoint(name, settings)
    settings = msgspec.structs.replace(settings, endpoint=asked)
    metrics = [metric for metric in chosen(settings, named) if BY_NAME[metric].paid]
    if not metrics:
        raise CheckFault("none of these metrics asks a model: there are no two judges to compare")
    found = with_progress(metrics, canaries, lambda advance: judge_round(settings, metrics, canaries, advance))
    return Side(name, name, found.rounds)


def _endpoint(model: str, settings: WorkerSettings) -> EndpointSettings:
    """Where a model is asked: the second judge at its own address, any other one at judge.base_url."""
    if settings.second and model == settings.second.model != settings.endpoint.model:
        return settings.second
    return msgspec.structs.replace(settings.endpoint, model=model)


def _written(path: Path, named: Sequence[str]) -> Side:
    content = _content(path)
    try:
        written = msgspec.json.decode(content, type=_Written)
    except msgspec.DecodeError:
        raise CheckFault(f"{shown(path.name)} is not what `lanewatch judge check --format json` writes") from None
    if faults := list(islice(_out_of_range(content, named), MOST_TOLD)):
        raise CheckFault(f"{shown(path.name)} has scores that no judge gives:\n  " + "\n  ".join(faults))
    rounds = {
        metric: Round(path.name, 0.0, one.scores, one.missing)
        for metric, one in written.metrics.items()
        if metric in BY_NAME and (not named or metric in named)
    }
    return Side(path.name, written.model or "", rounds)


def _out_of_range(content: bytes, named: Sequence[str]) -> Iterator[str]:
    """The scores outside their metric's range, by line: one of them makes a mean of any size, of which nobody sees why."""
    after = 0
    for name, one in msgspec.json.decode(content, type=_Placed).metrics.items():
        scores = bytes(one.scores)
        start = content.find(scores, after)
        metric = BY_NAME.get(name)
        if start < 0 or metric is None or (named and name not in named):
            continue
        after = start + len(scores)
        for found in _SCORE.finditer(scores):
            score = float(found[2])
            if not metric.low <= score <= metric.high:
                line = content.count(b"\n", 0, start + found.start()) + 1
                item = shown(msgspec.json.decode(found[1], type=str))
                yield f"line {line}: {name} of {item} is {score:g}, which is not from {metric.low:g} to {metric.high:g}"


def _set(path: Path) -> tuple[Canary, ...]:
    content = _content(path)
    try:
        return read_canaries(content, path.name)
    except CanaryFaults as faulty:
        raise CheckFault("the set has faults:\n  " + "\n  ".join(shown(fault) for fault in faulty.faults)) from None


def _content(path: Path) -> bytes:
    """Of a file of either kind, whole. Raises CheckFault where it can't be read or is too large."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CheckFault(f"{shown(path.name)}: {error.strerror or 'it can not be read'}") from None
    if len(content) > MAX_FILE_BYTES:
        raise CheckFault(f"{shown(path.name)} is larger than {MAX_FILE_BYTES} bytes")
    return content


def _print(console: Console, sides: Sequence[Side], compared: Sequence[Compared]) -> None:
    def say(text: str) -> None:
        console.print(escape(text))

    for place, side in zip(("first", "second"), sides, strict=True):
        family = ", ".join(sorted(families_of(side.model))) or "not known"
        say(f"{place}: {shown(side.name)} ({shown(side.model or 'model not told')}, family: {family})")
    if same_family(sides[0].model, sides[1].model):
        say("Both are of one family: they may share what they get wrong, and agreement tells less.")
    for one in compared:
        say("")
        say(
            f"{one.metric}: {counted(one.n, 'anchor')} scored by both, {one.only_first} by the first alone, "
            f"{one.only_second} by the second alone"
        )
        if one.difference is None:
            continue
        say(f"  second - first: {one.difference:+.3f} on average; {counted(one.ties, 'tie')}")
        say(f"  kappa of yes and no: {_told(one.kappa)}; rank correlation: {_told(one.correlation)}")
        for case in one.cases:
            within = f", within its band: {case.sound}" if case.sound else ""
            say(f"  {shown(case.item)} ({case.kind}): {case.first:.2f} and {case.second:.2f}{within}")
        if not one.cases:
            say(f"  no case in which one says yes and the other no, or they are {APART} apart")


def _told(interval: Interval | None) -> str:
    if interval is None:
        return "can't be told (too few, or one never varies)"
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _json(sides: Sequence[Side], compared: Sequence[Compared]) -> dict[str, Any]:
    return {
        "judges": [
            {"name": side.name, "model": side.model or None, "families": sorted(families_of(side.model))}
            for side in sides
        ],
        "same_family": same_family(sides[0].model, sides[1].model),
        "metrics": {one.metric: msgspec.to_builtins(one) for one in compared},
    }
