"""`lanewatch baseline build`: a reference of recorded traffic, and what it can and can't do yet."""

import json
import sys
from pathlib import Path
from random import Random

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lanewatch.config.keys import Config
from lanewatch.drifting.inputs import (
    DriftFault,
    check_population,
    clock_time,
    reference_in,
    told_of,
    too_little,
    traffic_in,
    watched,
    window,
)
from lanewatch.drifting.recorded_traffic import Traffic
from lanewatch.monitors.drift.building import build_reference
from lanewatch.monitors.drift.promotion import (
    Ability,
    Population,
    abilities,
    alarmed_periods,
    population,
    unobserved,
    without,
)
from lanewatch.monitors.drift.reference import LEAST_OBSERVATIONS, Gap, Reference, save_reference
from lanewatch.monitors.lanes import Lane
from lanewatch.shown_text import shown
from lanewatch.wide_tables import print_whole

SEED = 0  # the samples that bins are fitted to: the same recordings give the same reference


class Built(msgspec.Struct, frozen=True):
    """What was built. `left_out` counts hours of a series that were alarmed, by service and signal."""

    reference: str
    file: str
    traces: int
    population: Population
    series: list[Ability]
    unobserved: dict[str, tuple[str, ...]]
    left_out: dict[str, dict[str, int]]
    told: list[str]


def build(
    paths: list[Path],
    out: Path,
    config: Config,
    *,
    now: int,
    since: str | None = None,
    until: str | None = None,
    left_out: tuple[str, ...] = (),
    against: Path | None = None,
    time_zone: str = "UTC",
    as_json: bool = False,
) -> None:
    """Write the reference and say what it is. `now` is seconds since the epoch. Raises DriftFault and OSError.

    With `against`, hours in which that reference would have raised alarms are left out, series by series.
    """
    wanted = window(since, until, left_out)
    old = None if against is None else reference_in(against)
    traffic = traffic_in(paths, config, wanted)
    try:
        made = build_reference(lambda: traffic.traces, Random(SEED), created=now, time_zone=time_zone)  # noqa: S311
    except ValueError as error:
        raise DriftFault(str(error)) from None
    hours: dict[str, dict[str, int]] = {}
    if old is not None:
        made, hours = _without_alarmed(made, old, traffic)
    found = abilities(made)
    if not any(one.watched for one in found):
        raise too_little(traffic)
    save_reference(out, made)
    built = Built(
        made.id,
        str(out),
        len(traffic.traces),
        population(made),
        found,
        unobserved(made),
        hours,
        told_of(traffic),
    )
    if as_json:
        sys.stdout.write(json.dumps(msgspec.to_builtins(built)) + "\n")
    else:
        _print(built, Console(highlight=False))


def _without_alarmed(made: Reference, old: Reference, traffic: Traffic) -> tuple[Reference, dict[str, dict[str, int]]]:
    check_population(old, traffic)
    run = watched(old, traffic)
    hours: dict[str, dict[str, int]] = {}
    for period in alarmed_periods(run.changes, run.last_tick):
        made, rows = without(made, [period])
        signals = hours.setdefault(period.service, {})
        signals[period.signal] = signals.get(period.signal, 0) + rows
    return made, hours


def _print(built: Built, out: Console) -> None:
    who = built.population
    out.print(
        Text.assemble(
            ("Reference ", "bold"),
            (built.reference, "bold cyan"),
            f" in {shown(built.file)}: {built.traces:,} traces, {clock_time(who.first)} to {clock_time(who.last)} UTC, "
            f"{who.days} day{'' if who.days == 1 else 's'}",
        )
    )
    for service, traces in who.services.items():
        mine = [one for one in built.series if one.service == service]
        out.print()
        out.print(Text.assemble((shown(service), "bold"), f": {traces:,} traces"))
        print_whole(out, _table(mine, _shared(built.series)))
        absent = built.unobserved.get(service, ())
        if absent:
            out.print(Text(f"No bins, so not watched: {', '.join(absent)} (too few values were seen, or none)", "dim"))
        for signal, rows in built.left_out.get(service, {}).items():
            out.print(Text(f"{signal}: {rows} hours in which it was alarmed are left out", "yellow"))
    for gap in Gap:
        number = sum(gap in one.gaps for one in built.series)
        if number:
            which = "all series" if gap in _shared(built.series) else f"{number} series"
            out.print(Text(f"{gap} ({which}): {gap.meaning}", "yellow"), soft_wrap=True)
    for line in built.told:
        out.print(Text(line, "yellow"))
    days = built.population.days
    if days < 28:  # noqa: PLR2004 - four of each hour of the week
        out.print(
            Text(f"{days} day{'' if days == 1 else 's'} of 28: with four of each hour of the week, build it anew.")
        )


def _shared(series: list[Ability]) -> frozenset[Gap]:
    """What none of the watched series can do yet: said once, below, and not in every row."""
    gaps = [frozenset(one.gaps) for one in series if one.watched]
    return frozenset.intersection(*gaps) if gaps else frozenset()


def _table(series: list[Ability], shared: frozenset[Gap]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("lane", "signal", "observations", "days", "not yet"):
        table.add_column(name, justify="right" if name in {"observations", "days"} else "left")
    # Lanes stand apart: nothing is added up over them.
    for lane in Lane:
        for one in series:
            if one.lane is lane:
                gaps = (
                    ", ".join(gap for gap in one.gaps if gap not in shared)
                    if one.watched
                    else f"not watched: fewer than {LEAST_OBSERVATIONS}"
                )
                style = "" if one.watched else "dim"
                table.add_row(lane, one.signal, f"{one.observations:,}", str(one.days), Text(gaps, style or "yellow"))
    return table
