"""`lanewatch drift report`: the sidecar's drift monitor on recorded traffic, told as text, JSON or a page.

Lanes stand apart in all three. Nothing of a trace is in it but counts of bins; bins of categories are named as metrics
name them.
"""

import sys
from pathlib import Path
from random import Random

import msgspec

from lanewatch.config.keys import Config
from lanewatch.drifting.inputs import (
    DriftFault,
    check_population,
    reference_in,
    told_of,
    too_little,
    traffic_in,
    watched,
    window,
)
from lanewatch.drifting.recorded_traffic import Traffic
from lanewatch.monitors.drift.alarm import Moved
from lanewatch.monitors.drift.budget import Budget
from lanewatch.monitors.drift.building import build_reference
from lanewatch.monitors.drift.observer import UNKNOWN_SERVICE, Told
from lanewatch.monitors.drift.promotion import Ability, Population, abilities, population
from lanewatch.monitors.drift.recorded_run import RecordedRun, SeriesRun
from lanewatch.monitors.drift.reference import Gap, Reference
from lanewatch.monitors.drift.signals import BY_NAME
from lanewatch.monitors.drift.tick import TICK_SECONDS
from lanewatch.monitors.lanes import Lane

NANOSECONDS = 1_000_000_000
LEAST_TRACES = 100
SEED = 0


class AlarmTold(msgspec.Struct, frozen=True):
    """An alarm that was raised, with times in seconds since the epoch; `cleared` None: it stands at the end."""

    lane: Lane
    service: str
    signal: str
    detector: str
    direction: str
    changed: int
    raised: int
    cleared: int | None
    moved: tuple[Moved, ...]


class DriftReport(msgspec.Struct, frozen=True):
    """All that a report shows. `itself` says that the reference is the first half of the recording."""

    reference: str
    reference_source: str
    reference_of: Population
    itself: bool
    time_zone: str
    traces: int
    services: dict[str, int]
    first: int
    last: int
    stretch_seconds: int
    budget: Budget
    alarms: tuple[AlarmTold, ...]
    lanes: dict[Lane, tuple[SeriesRun, ...]]
    unwatched: tuple[Ability, ...]
    told: tuple[str, ...]
    counted: Told

    def gaps(self) -> dict[Gap, int]:
        """What the reference can't do yet, and for how many series."""
        every = [gap for series in self.lanes.values() for one in series for gap in one.reading.reference.gaps]
        return {gap: every.count(gap) for gap in Gap if gap in every}


def make_report(
    paths: list[Path],
    config: Config,
    *,
    baseline: Path | None = None,
    since: str | None = None,
    until: str | None = None,
) -> DriftReport:
    """Watch the recordings against a reference, or their second half against their first. Raises DriftFault."""
    wanted = window(since, until)
    reference = None if baseline is None else reference_in(baseline)
    traffic = traffic_in(paths, config, wanted)
    told = told_of(traffic)
    if reference is None:
        reference, traffic = _halves(traffic, config.drift.time_zone)
    else:
        check_population(reference, traffic)
        told += _doubts(reference, traffic)
    found = abilities(reference)
    if not any(one.watched for one in found):
        raise too_little(traffic)
    budget = Budget(config.drift.false_alarms_per_30_days, config.drift.budget_of)
    run = watched(reference, traffic, budget)
    told += _not_counted(run.told)
    lanes = {lane: _ranked([one for one in run.series if one.reading.lane is lane]) for lane in Lane}
    return DriftReport(
        reference.id,
        reference.source,
        population(reference),
        baseline is None,
        reference.time_zone,
        len(traffic.traces),
        traffic.services,
        run.first_tick * TICK_SECONDS,
        (run.last_tick + 1) * TICK_SECONDS,
        run.ticks_a_stretch * TICK_SECONDS,
        budget,
        tuple(_alarms(run)),
        {lane: series for lane, series in lanes.items() if series},
        tuple(one for one in found if not one.watched),
        tuple(told),
        run.told,
    )


def report(
    paths: list[Path],
    config: Config,
    form: str,
    *,
    baseline: Path | None = None,
    since: str | None = None,
    until: str | None = None,
) -> bool:
    """Print the report as `text`, `json` or `html`; False where something could not be read. Raises DriftFault."""
    made = make_report(paths, config, baseline=baseline, since=since, until=until)
    if form == "json":
        sys.stdout.buffer.write(msgspec.json.encode(made) + b"\n")
    elif form == "html":
        from lanewatch.drifting.report_html import page  # noqa: PLC0415

        sys.stdout.buffer.write(page(made).encode())
    else:
        from lanewatch.drifting.report_text import print_report  # noqa: PLC0415

        print_report(made)
    sys.stdout.flush()
    return not any(line.startswith("not read: ") for line in made.told)


def _halves(traffic: Traffic, time_zone: str) -> tuple[Reference, Traffic]:
    """A reference of the first half of the traces, and the second half."""
    n = len(traffic.traces)
    if n < 2 * LEAST_TRACES:
        raise too_little(traffic)
    first, second = traffic.between(0, n // 2), traffic.between(n // 2, n)
    made = build_reference(lambda: first.traces, Random(SEED), created=0, time_zone=time_zone, source="first half")  # noqa: S311
    if not any(one.watched for one in abilities(made)):
        raise too_little(first)
    if not set(made.layout.services) & set(second.services):
        raise DriftFault(
            "another population: no service of the first half of the recording is in the second half. Give a reference: "
            "--baseline FILE"
        )
    return made, second


def _doubts(reference: Reference, traffic: Traffic) -> list[str]:
    """Why the reference may be the wrong one."""
    its, said = population(reference), []
    first, last = traffic.first_ns / NANOSECONDS, traffic.last_ns / NANOSECONDS
    if its.first < last and first < its.last:
        said.append("the traffic is in part what the reference was made of, so it can hardly differ from it")
    others = {name: n for name, n in traffic.services.items() if name not in reference.layout.services}
    if others:
        said.append(
            f"{sum(others.values()):,} traces are of {len(others)} service{'' if len(others) == 1 else 's'} that the "
            "reference does not have, and are not watched"
        )
    gone = [name for name in reference.layout.services if name not in traffic.services]
    if gone:
        said.append(f"{len(gone)} service{'' if len(gone) == 1 else 's'} of the reference had no traffic")
    return said


def _not_counted(told: Told) -> list[str]:
    said = []
    if told.sampling_unknown:
        said.append(
            f"the sampling of {told.sampling_unknown:,} traces is unknown: each counts as one. Where sampling changed, "
            "that alone may look like drift (tracestate ot=th)"
        )
    if told.weight_capped:
        said.append(f"{told.weight_capped:,} sampling weights were beyond 1000 and held there")
    return said


def _ranked(series: list[SeriesRun]) -> tuple[SeriesRun, ...]:
    """Of one lane: alarms first, then by the largest evidence."""

    def key(one: SeriesRun) -> tuple[bool, float, str, str]:
        return one.reading.alarms == 0, -peak(one), one.reading.service, one.reading.signal

    return tuple(sorted(series, key=key))


def peak(one: SeriesRun) -> float:
    """The largest evidence over its line at any time."""
    return max((ratio for track in one.tracks for ratio in track.ratios if ratio is not None), default=0.0)


def _alarms(run: RecordedRun) -> list[AlarmTold]:
    alarms: list[AlarmTold] = []
    for change in run.changes:
        alarm = change.alarm
        if change.event == "raised":
            alarms.append(
                AlarmTold(
                    BY_NAME[change.signal].lane,
                    change.service,
                    change.signal,
                    alarm.detector,
                    alarm.direction,
                    alarm.changed * TICK_SECONDS,
                    change.tick * TICK_SECONDS,
                    None,
                    tuple(alarm.moved),
                )
            )
        else:
            key = (change.service, change.signal)
            place = max(k for k, one in enumerate(alarms) if (one.service, one.signal) == key)
            alarms[place] = msgspec.structs.replace(alarms[place], cleared=change.tick * TICK_SECONDS)
    return alarms


def named(service: str) -> str:
    """A service as it is shown."""
    return "(no service.name)" if service == UNKNOWN_SERVICE else service
