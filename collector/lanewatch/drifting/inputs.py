"""What the drift commands are given - references, recordings, times - and what is said where they can't be used."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from lanewatch.config.keys import Config
from lanewatch.drifting.recorded_traffic import Traffic, read_traffic
from lanewatch.monitors.drift.budget import Budget
from lanewatch.monitors.drift.calendar import hours_of_week
from lanewatch.monitors.drift.checked_file import Trouble
from lanewatch.monitors.drift.recorded_run import RecordedRun, run_recorded
from lanewatch.monitors.drift.reference import LEAST_OBSERVATIONS, VERSION, Reference, load_reference
from lanewatch.shown_text import shown

NANOSECONDS = 1_000_000_000
MAX_SHOWN_SERVICES = 5
STEP = 50  # traces between two looks at the progress

REMEDIES: dict[Trouble, str] = {
    Trouble.MISSING: "there is no such file. Make one: lanewatch baseline build RECORDING... --out FILE",
    Trouble.TOO_LARGE: "it is larger than a reference may be (256 MiB), so it is none that Lanewatch wrote",
    Trouble.DAMAGED: "its checksum does not fit, or it is no reference at all. Take a copy that is whole, or build it anew: "
    "lanewatch baseline build RECORDING... --out FILE",
    Trouble.OTHER_KIND: "Lanewatch wrote it, but it is no reference. References are what lanewatch baseline build writes",
    Trouble.OTHER_VERSION: f"it has another version than {VERSION}, the one that this Lanewatch reads. Use the Lanewatch that "
    "wrote it, or build it anew from its recordings: lanewatch baseline build RECORDING... --out FILE",
    Trouble.UNREADABLE: "it is no regular file, or the system does not let it be read: look at its permissions",
}


class DriftFault(Exception):  # noqa: N818 - wrong input, told to a person
    """What keeps a command from being done. `str()` says what is wrong, and the remedy."""


class Window(msgspec.Struct, frozen=True):
    """Which of the recorded traces are wanted, by their end in nanoseconds: from, to (not included), and gaps in it."""

    first_ns: int = 0
    last_ns: int = 1 << 63
    left_out: tuple[tuple[int, int], ...] = ()

    def holds(self, end_ns: int) -> bool:
        """Whether a trace that ended then is wanted."""
        inside = self.first_ns <= end_ns < self.last_ns
        return inside and not any(first <= end_ns < last for first, last in self.left_out)


def window(since: str | None, until: str | None, left_out: tuple[str, ...] = ()) -> Window:
    """The window of ISO 8601 times; each of `left_out` is FROM/TO. Raises DriftFault."""
    gaps = []
    for one in left_out:
        first, slash, last = one.partition("/")
        if not slash:
            raise DriftFault(f"{shown(one)} is no period: write FROM/TO, as in 2026-11-03T10:00/2026-11-03T12:00")
        gaps.append((_nanoseconds(first), _nanoseconds(last)))
    first_ns = 0 if since is None else _nanoseconds(since)
    last_ns = 1 << 63 if until is None else _nanoseconds(until)
    if any(first >= last for first, last in [*gaps, (first_ns, last_ns)]):
        raise DriftFault("a period ends after it begins: FROM must be before TO")
    return Window(first_ns, last_ns, tuple(gaps))


def reference_in(path: Path) -> Reference:
    """A reference, read and left where it is, whose time zone is known here. Raises DriftFault."""
    loaded = load_reference(path, aside=False)
    if loaded.reference is None:
        trouble = loaded.trouble or Trouble.DAMAGED
        raise DriftFault(f"{path}: {REMEDIES[trouble]}")
    try:
        hours_of_week(loaded.reference.time_zone)
    except ValueError as error:
        raise DriftFault(f"{path}: {error}") from None
    return loaded.reference


def traffic_in(paths: list[Path], config: Config, wanted: Window | None = None) -> Traffic:
    """Recorded traces, with a progress bar where somebody watches. Raises DriftFault where there is none to use."""
    with _shown() as progress:
        reading = progress.add_task("reading", total=None)

        def on_progress(read: int, total: int) -> None:
            progress.update(reading, completed=read, total=total)

        traffic = read_traffic(paths, config, keep=(wanted or Window()).holds, on_progress=on_progress)
    if traffic.traces:
        return traffic
    if traffic.without_time:
        raise DriftFault(
            f"no event times: {traffic.without_time} traces have spans without start and end. Drift is a change over "
            "time, so the recording must keep startTimeUnixNano and endTimeUnixNano; a processor or a hand-made file "
            "has left them out"
        )
    if traffic.outside:
        raise DriftFault(f"none of the {traffic.outside} traces ended in the window that was asked for")
    told = f" {traffic.problems[0]}" if traffic.problems else ""
    raise DriftFault(f"no traces to read.{told} PATH is recorded OTLP, as for lanewatch replay")


def watched(
    reference: Reference, traffic: Traffic, budget: Budget | None = None, *, what: str = "watching"
) -> RecordedRun:
    """Run the monitor over the traffic, with a progress bar where somebody watches: a day takes about a minute."""
    total = len(traffic.traces)
    with _shown() as progress:
        task = progress.add_task(what, total=total)

        def on_progress(done: int) -> None:
            if done % STEP == 0 or done == total:
                progress.update(task, completed=done)

        return run_recorded(
            reference,
            traffic.traces,
            first_ns=traffic.first_ns,
            last_ns=traffic.last_ns,
            budget=budget,
            on_progress=on_progress,
        )


def check_population(reference: Reference, traffic: Traffic) -> None:
    """Raises DriftFault where no service of the traffic is one of the reference."""
    known = set(reference.layout.services)
    if not known & set(traffic.services):
        raise DriftFault(
            f"another population: the reference is of {_named(sorted(known))}, the traffic of "
            f"{_named(list(traffic.services))}. What was usual for one service says nothing of another: name the "
            "services alike (service.name), or build a reference of this traffic"
        )


def too_little(traffic: Traffic) -> DriftFault:
    """Not one series can be watched."""
    most = max(traffic.services.values(), default=0)
    return DriftFault(
        f"too little data: the service seen most has {most} traces, and a series needs {LEAST_OBSERVATIONS} observations "
        "to be watched. Record longer, and give all files at once; less would alarm on chance"
    )


def told_of(traffic: Traffic) -> list[str]:
    """What of a recording was not used, a sentence each."""
    said = (
        (traffic.without_time, "traces have no event times and were left out"),
        (traffic.far_off, "traces lie more than 400 days off the others and were left out"),
        (traffic.outside, "traces ended outside of the window"),
        (traffic.beyond_limit, "traces were beyond what one run can hold: give fewer files at once"),
    )
    return [f"{n:,} {what}" for n, what in said if n] + [f"not read: {problem}" for problem in traffic.problems]


def clock_time(seconds: float) -> str:
    """A time in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


@contextlib.contextmanager
def _shown() -> Iterator[Progress]:
    errors = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as progress:
        yield progress


def _nanoseconds(text: str) -> int:
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise DriftFault(
            f"{shown(text)} is no time: write it as 2026-11-03T10:00, in UTC, or with its offset"
        ) from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return int(time.timestamp()) * NANOSECONDS


def _named(services: list[str]) -> str:
    more = len(services) - MAX_SHOWN_SERVICES
    told = ", ".join(shown(one) for one in services[:MAX_SHOWN_SERVICES])
    return (told + (f" and {more} more" if more > 0 else "")) or "no service"
