"""A drift report for a terminal: a table a lane, what moved, and evidence over time in a line of blocks."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lanewatch.drifting.inputs import clock_time
from lanewatch.drifting.report import AlarmTold, DriftReport, named, peak
from lanewatch.monitors.drift.alarm import Moved
from lanewatch.monitors.drift.recorded_run import SeriesRun
from lanewatch.monitors.drift.signals import BY_NAME, Kind
from lanewatch.shown_text import counted, shown
from lanewatch.wide_tables import print_whole

BLOCKS = " ▁▂▃▄▅▆▇█"  # the full one is an alarm
WIDTH = 24
DETECTORS = {"esr": "its e-SR detector", "g": "its G test", "t2": "its T2 test"}


def print_report(report: DriftReport) -> None:
    """Print all of it."""
    out = Console(highlight=False)
    its = report.reference_of
    of = "the first half of the recording" if report.itself else f"reference {report.reference}"
    out.print(
        Text.assemble(
            ("Drift ", "bold"),
            f"of {report.traces:,} traces, {clock_time(report.first)} to {clock_time(report.last)} UTC,\n",
            f"against {of}: {clock_time(its.first)} to {clock_time(its.last)} UTC, "
            f"{its.days} day{'' if its.days == 1 else 's'}",
        )
    )
    budget = report.budget
    shared = "in all" if budget.of == "instance" else "a series"
    out.print(Text(f"Budget: {counted(budget.false_alarms_per_30_days, 'false alarm')} in 30 days {shared}", "dim"))
    for line in report.told:
        out.print(Text(shown(line, 500), "yellow"))
    for gap, number in report.gaps().items():
        out.print(Text(f"{gap} ({number} series): {gap.meaning}", "yellow"))
    for lane, series in report.lanes.items():
        raised = sum(one.reading.alarms > 0 for one in series)
        out.print()
        head = f"{raised} of {len(series)} series alarmed" if raised else f"{len(series)} series, no alarm"
        out.print(Text.assemble((lane.capitalize(), "bold"), f": {head}"))
        print_whole(out, _table(series))
    if report.alarms:
        out.print()
        out.print(Text("Alarms", "bold"))
    for alarm in report.alarms:
        out.print(_alarm(alarm), soft_wrap=True)
    if report.unwatched:
        names = ", ".join(f"{one.signal} ({one.observations})" for one in report.unwatched)
        out.print()
        out.print(Text(f"Not watched, with fewer observations than it takes: {names}", "dim"))


def _table(series: tuple[SeriesRun, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("service", "signal", "state", "n", "size of the change", "evidence over time", "largest"):
        table.add_column(name, justify="right" if name == "n" else "left", no_wrap=name == "evidence over time")
    for one in series:
        reading = one.reading
        state = (
            Text("alarm", "bold red") if reading.alarm else Text(reading.state, "" if reading.state == "ok" else "dim")
        )
        if reading.alarms and not reading.alarm:
            state = Text("cleared", "yellow")
        n = f"{one.observations:,.0f}" if one.observations else "-"
        table.add_row(
            shown(named(reading.service), 30), reading.signal, state, n, size(one), blocks(one), f"{peak(one):.2g}"
        )
    return table


def size(one: SeriesRun) -> str:
    """How large the change over the whole recording is: PSI beyond what chance gives, or the rate then and now."""
    if (effect := one.shares) is not None:
        return f"PSI {effect.psi:.3f} (chance {effect.psi - effect.psi_excess:.3f})"
    if (rate := one.rate) is not None:
        return f"{percent(one.then[1])} -> {percent(rate.rate)} ({percent(rate.lower)} to {percent(rate.upper)})"
    vectors = one.reading.vectors
    return f"PSI {vectors[-1].psi:.3f} of its components" if vectors else "-"


def percent(share: float) -> str:
    """A share as it is read."""
    value = 100 * share
    digits = f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2g}"  # noqa: PLR2004
    return f"{digits} %"


def blocks(one: SeriesRun) -> str:
    """The largest evidence of any detector over time, up to the alarm line."""
    columns = list(zip(*(track.ratios for track in one.tracks), strict=True))
    if not columns:
        return ""
    count = min(WIDTH, len(columns))
    told = []
    for k in range(count):
        part = columns[k * len(columns) // count : (k + 1) * len(columns) // count]
        ratios = [ratio for column in part for ratio in column if ratio is not None]
        told.append(_block(max(ratios)) if ratios else " ")
    return "".join(told)


def moved_text(signal: str, moved: Moved) -> str:
    """What moved: a bin's share, or a vector's component by so many standard deviations."""
    name = shown(moved.name, 40)
    if BY_NAME[signal].kind is Kind.VECTOR:
        return f"{name}: {moved.found - moved.expected:+.2f} sd"
    return f"{name}: {percent(moved.expected)} -> {percent(moved.found)}"


def _block(ratio: float) -> str:
    return BLOCKS[-1] if ratio >= 1 else BLOCKS[1 + int(max(ratio, 0.0) * (len(BLOCKS) - 2))]


def _alarm(alarm: AlarmTold) -> Text:
    line = Text.assemble(
        (f"{alarm.signal}", "bold red"),
        f" of {shown(named(alarm.service), 30)} ({alarm.lane}): changed about {clock_time(alarm.changed)}, ",
        f"found {clock_time(alarm.raised)} by {DETECTORS.get(alarm.detector, alarm.detector)}",
    )
    line.append("" if alarm.direction == "any" else f", {alarm.direction}")
    line.append(", still so at the end" if alarm.cleared is None else f", back since {clock_time(alarm.cleared)}")
    moved = ", ".join(moved_text(alarm.signal, one) for one in alarm.moved)
    return line.append(f"\n    {moved}" if moved else "")
