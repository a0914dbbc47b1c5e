"""`lanewatch replay`: prints each path as soon as it is read, with a progress bar where somebody watches."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from lanewatch import parts
from lanewatch.config_keys import Config
from lanewatch.evaluators import Evaluators
from lanewatch.replay import Replayed, replay
from lanewatch.replay_lines import line_of
from lanewatch.report import print_report


def replay_paths(
    paths: list[Path],
    config: Config,
    *,
    jsonl: bool,
    producers: tuple[str, ...] = (),
    artifacts: Path | None = None,
) -> bool:
    """Print every path; False where something could not be read. With `jsonl` nothing but lines goes to stdout.

    `producers` are asked for an artifact of each trace, beside those of the configuration; `artifacts` is a file of
    bodies as POST /v1/artifacts takes them, one a line. Raises UnknownProducerError, RecordFault.
    """
    evaluators = Evaluators((*parts.producer_names(config), *producers), parts.producer_limits(config), artifacts)
    with contextlib.closing(evaluators):
        return _replay_paths(paths, config, evaluators, jsonl=jsonl)


def _replay_paths(paths: list[Path], config: Config, evaluators: Evaluators, *, jsonl: bool) -> bool:
    errors = Console(stderr=True)
    out = Console(highlight=False, soft_wrap=False)
    readable = True
    with Progress(
        TextColumn("reading {task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as progress:
        for number, path in enumerate(paths, 1):
            task = progress.add_task(f"{number} of {len(paths)}", total=None)
            replayed = evaluators.compare(replay(path, config, on_progress=_shown_on(progress, task)))
            progress.remove_task(task)
            readable &= not replayed.problems
            _print(replayed, out, errors, jsonl=jsonl)
    return readable


def _shown_on(progress: Progress, task: TaskID) -> Callable[[int, int], None]:
    return lambda read, total: progress.update(task, completed=read, total=total)


def _print(replayed: Replayed, out: Console, errors: Console, *, jsonl: bool) -> None:
    if not jsonl:
        print_report(replayed, out)
        return
    sys.stdout.buffer.write(line_of(replayed) + b"\n")
    sys.stdout.buffer.flush()
    for problem in replayed.problems:
        errors.print(f"not read: {problem}", markup=False, highlight=False, soft_wrap=True)
