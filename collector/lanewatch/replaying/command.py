"""`lanewatch replay`: prints each path as soon as it is read, with a progress bar where somebody watches."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from lanewatch import parts
from lanewatch.config.keys import Config
from lanewatch.producing.evaluators import Evaluators
from lanewatch.replaying.lines import line_of
from lanewatch.replaying.playback import Replayed, replay
from lanewatch.replaying.report import print_report
from lanewatch.replaying.totals import Totals
from lanewatch.rules import rules_of
from lanewatch.shown_text import shown_line, write_json_line

MB = 10**6


def replay_paths(
    paths: list[Path],
    config: Config,
    *,
    jsonl: bool,
    divergent: bool = False,
    producers: tuple[str, ...] = (),
    artifacts: Path | None = None,
    outcomes: Path | None = None,
) -> bool:
    """Print every path; False where something could not be read. With `jsonl` nothing but lines goes to stdout.

    `divergent` leaves traces without a divergence out of the report. `producers` are asked for an artifact of each
    trace, beside those of the configuration; `artifacts` is a file of bodies as POST /v1/artifacts takes them, one a
    line, and `outcomes` one of POST /v1/outcomes. Raises UnknownProducerError, ProducerFailed (one can't be started) and RecordFault.
    """
    evaluators = Evaluators(
        (*parts.producer_names(config), *producers),
        parts.producer_limits(config),
        artifacts,
        rules_of(config).registry,
        outcomes,
    )
    with contextlib.closing(evaluators), _problems_told_once():
        evaluators.start()
        return _replay_paths(paths, config, evaluators, jsonl=jsonl, divergent=divergent)


def _replay_paths(paths: list[Path], config: Config, evaluators: Evaluators, *, jsonl: bool, divergent: bool) -> bool:
    errors = Console(stderr=True)
    out = Console(highlight=False, soft_wrap=False)
    registry = rules_of(config).registry
    totals = Totals()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as progress:
        for number, path in enumerate(paths, 1):
            with _shown_on(progress, f"{number} of {len(paths)}") as phases:
                replayed = replay(path, config, on_progress=phases.read, on_records=phases.made)
                replayed = evaluators.compare(replayed, on_compared=phases.compared)
            totals.add(replayed)
            if jsonl:
                _print_line(replayed, errors)
            else:
                print_report(replayed, out, registry, divergent=divergent)
    if not jsonl:
        totals.print(out)
    return not totals.problems


class _Phases(msgspec.Struct, frozen=True):
    """Three phases of one path: its bytes, the records of what they hold, and producers' artifacts of these."""

    progress: Progress
    task: TaskID
    place: str

    def read(self, done: int, total: int) -> None:
        """So many bytes of the path were read."""
        self._show("reading", done, total, f"{done / MB:.1f} of {total / MB:.1f} MB")

    def made(self, done: int, total: int) -> None:
        """So many traces became records."""
        self._show("records", done, total, f"{done:,} of {total:,} traces")

    def compared(self, done: int, total: int) -> None:
        """Producers were asked for so many traces."""
        self._show("artifacts", done, total, f"{done:,} of {total:,} traces")

    def _show(self, phase: str, done: int, total: int, told: str) -> None:
        self.progress.update(self.task, completed=done, total=total, told=told, description=f"{phase} {self.place}")


@contextlib.contextmanager
def _shown_on(progress: Progress, place: str) -> Iterator[_Phases]:
    task = progress.add_task(f"reading {place}", total=None, told="")
    try:
        yield _Phases(progress, task, place)
    finally:
        progress.remove_task(task)


def _print_line(replayed: Replayed, errors: Console) -> None:
    write_json_line(line_of(replayed))
    for problem in replayed.problems:
        errors.print(shown_line(f"not read: {problem}"), markup=False, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def _problems_told_once() -> Iterator[None]:
    """The intake logs each refusal's reason in a sidecar's words; here the file's problem tells it. Faults stay logged."""
    intake = logging.getLogger("lanewatch.collector.intake")
    intake.addFilter(_is_no_refusal)
    try:
        yield
    finally:
        intake.removeFilter(_is_no_refusal)


def _is_no_refusal(record: logging.LogRecord) -> bool:
    return not hasattr(record, "reason")
