"""`lanewatch report`: rates with intervals, per service, lanes side by side and never added up.

They come from a running sidecar's counters, or from recordings by the very same counters.
"""

import sys
from math import inf
from pathlib import Path

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from lanewatch.collector.spans import Trace
from lanewatch.config.keys import Config
from lanewatch.handoffs.desk import HandoffDesk
from lanewatch.monitors.exposition import Count, Exposition
from lanewatch.monitors.rates import RATES, Sample, ServiceRates, passed, service_rates
from lanewatch.monitors.readings import Revisions
from lanewatch.monitors.verdicts import Status
from lanewatch.observation import Observation
from lanewatch.observation_readings import observation_readings
from lanewatch.pages.client import PageClient
from lanewatch.pages.samples import samples_of
from lanewatch.replaying.playback import observe_path
from lanewatch.rules import rules_of
from lanewatch.shown_text import shown, shown_line

OWN = "lanewatch_"
WIDEST = 1000  # characters of a table
COUNTED = {"lanewatch_lane_status"} | {of.metric for row in RATES for of in (row.events, row.trials, row.unknown)}
SECOND = (Status.INCOMPLETE, Status.UNSUPPORTED, Status.NOT_APPLICABLE)


class ReportFault(ValueError):  # noqa: N818 - wrong input, told to a person
    """There is nothing to report; `str()` says why and what to do."""


def report(paths: list[Path], url: str | None, config: Config, *, as_json: bool) -> bool:
    """Print the rates; False where a path could not be read. Raises ReportFault, PageAddressError, PagesUnreachableError."""
    problems: tuple[str, ...] = ()
    if paths:
        samples, problems = _recorded(paths, config)
    else:
        samples = _running(PageClient(url, config))
    for problem in problems:
        print(f"lanewatch: not read: {shown_line(problem)}", file=sys.stderr)  # noqa: T201 - a command's own output
    services = service_rates(samples)
    if not services:
        raise ReportFault("no trace was read yet: nothing can be said")
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode({"confidence": 0.95, "services": services}) + b"\n")
        sys.stdout.flush()
    else:
        console = Console(highlight=False)
        for service in services:
            _print(service, console)
    return not problems


def _running(client: PageClient) -> list[Sample]:
    answer = client.get("/metrics")
    if answer.status != 200:  # noqa: PLR2004 - OK
        raise ReportFault(f"{client.address}/metrics answers {answer.status}: is it a Lanewatch sidecar?")
    try:
        samples = [sample for sample in samples_of(answer.body.decode()) if sample[0].startswith(OWN)]
    except ValueError:
        samples = []
    if not samples or not all(0 <= value < inf for metric, _, value in samples if metric in COUNTED):
        raise ReportFault(f"{client.address}/metrics has no counters of Lanewatch's: is it a Lanewatch sidecar?")
    return samples


def _recorded(paths: list[Path], config: Config) -> tuple[list[Sample], tuple[str, ...]]:
    """The same samples, counted from recordings."""
    exposition = Exposition(max_services=config.metrics.max_services, max_tools=config.metrics.max_tools)
    revisions: Revisions[Count] = Revisions(config.assembler.closed_traces_remembered)
    desk = HandoffDesk(config, rules_of(config))
    problems: list[str] = []

    def count(_trace: Trace, seen: Observation) -> None:
        counts = exposition.bounded(observation_readings(seen, desk))
        change = revisions.difference(seen.record.trace_id, counts)
        exposition.count(change.added, "", change.withdrawn)

    for path in paths:
        told, _ = observe_path(path, config, count)
        problems += told
    return list(samples_of(exposition.text(openmetrics=False).decode())), tuple(problems)


def _print(service: ServiceRates, console: Console) -> None:
    console.print(Text(f"\nservice {shown(service.service)}", "bold cyan"))
    lanes = _table("lane", "pass", "fail", "passed", "95 % interval", "incomplete", "unsupported", "n/a")
    for lane, statuses in service.lanes.items():
        good, judged, interval = passed(statuses)
        share = ("-", "none judged") if interval is None else (f"{good / judged:.1%}", _interval(*interval))
        counted = (f"{statuses[status]:.0f}" for status in SECOND)
        lanes.add_row(lane, f"{good:.0f}", f"{statuses[Status.FAIL]:.0f}", *share, *counted)
    _print_whole(lanes, console)
    rates = _table("rate", "lane", "events", "rate", "95 % interval", "not told")
    for rate in service.rates:
        told = ("no trial", "") if rate.rate is None else (f"{rate.rate:.1%}", _interval(rate.low or 0, rate.high or 0))
        rates.add_row(rate.name, rate.lane, f"{rate.events:.0f} of {rate.trials:.0f}", *told, f"{rate.unknown:.0f}")
    _print_whole(rates, console)


def _print_whole(table: Table, console: Console) -> None:
    """A count that a column cuts off is another count: where the terminal is too narrow, lines run on."""
    given = console.width
    console.width = max(given, Measurement.get(console, console.options.update(max_width=WIDEST), table).maximum)
    console.print(table)
    console.width = given


def _table(*headers: str) -> Table:
    """Columns that a terminal of 80 characters holds up to some hundred traces, and that stay on their line."""
    return Table(*(Column(header, no_wrap=True) for header in headers), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _interval(low: float, high: float) -> str:
    return f"{low:.1%} to {high:.1%}"
