"""Simulates the drift monitors: false alarms when nothing changes, delays when something does.

    python -m tests.simulation.simulate_drift [--jobs 2] [--seed 1] [--scale 1.0] [--only NAME ...] [--write FILE]

Seeded; minutes on two cores. Exits 1 where a figure misses its bound. `--write docs/drift-simulation.md` keeps the
summary.
"""

import argparse
import math
import platform
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from lanewatch.monitors.drift.quantiles import chi2_quantile

from tests.simulation.scenarios import BUDGET, SCENARIOS, Found, Quiet

SLACK = 1.3  # delays may be so much longer than the figures to reach
BOUND = 1.5  # budgets that the upper 95 % bound of the false alarms may be
HEAD = """# What the drift monitors do in simulation
Written by `make simulate`; not by hand. Every series has a budget of one false alarm in 30 days; references are
estimated from 28 days of traffic with the same nuisances, unless said. Delays are from the change to the alarm, in ticks
of ten seconds.
"""


def upper_bound(events: int, confidence: float = 0.95) -> float:
    """The upper bound of a Poisson mean of which so many events were seen (Garwood 1936).

    >>> round(upper_bound(0), 2)
    3.0
    """
    return chi2_quantile(1 - confidence, 2 * (events + 1)) / 2


def run(job: tuple[str, float, int]) -> tuple[str, Quiet | Found, float]:
    """One scenario, with the seconds it took."""
    name, scale, seed = job
    start = time.perf_counter()
    return name, SCENARIOS[name](scale, seed), time.perf_counter() - start


def quiet_row(result: Quiet) -> tuple[str, bool]:
    """A row of the summary, and whether it holds its bound."""
    months = result.series * result.days / 30
    rate, bound = result.false_alarms / months, upper_bound(result.false_alarms) / months
    holds = bound <= BOUND * BUDGET or (rate <= BUDGET < bound and months < upper_bound(0) / BOUND)
    return (
        f"| {result.name} | {months:.0f} | {result.false_alarms} | {rate:.2f} | {bound:.2f} | {_word(holds)} |",
        holds,
    )


def found_row(result: Found) -> tuple[str, bool]:
    """A row of the summary, and whether the median is near enough to its figure."""
    minutes = np.nan_to_num(np.array(result.minutes), nan=math.inf)
    middle, late = (float(np.quantile(minutes, q, method="inverted_cdf")) for q in (0.5, 0.9))
    if math.isnan(result.target):
        return f"| {result.name} | {len(minutes)} | {_minutes(middle)} | {_minutes(late)} | | | |", True
    holds = middle <= SLACK * result.target
    cells = (result.name, len(minutes), *map(_minutes, (middle, late, result.target)), f"{middle / result.target:.2f}")
    return f"| {' | '.join(map(str, cells))} | {_word(holds)} |", holds


def summary(results: dict[str, Quiet | Found]) -> tuple[str, bool]:
    """The tables, and whether everything holds."""
    quiet = [quiet_row(result) for result in results.values() if isinstance(result, Quiet)]
    found = [found_row(result) for result in results.values() if isinstance(result, Found)]
    lines = [
        "## Nothing changes",
        f"Bound: the upper 95 % bound is at most {BOUND} budgets.",
        "",
        "| scenario | series x months | false alarms | per 30 days | upper 95 % | |",
        "|---|---|---|---|---|---|",
        *(row for row, _ in quiet),
        "",
        "## Something changes",
        f"Bound: the median is at most {SLACK} times the figure to reach.",
        "",
        "| change | runs | median | 90 % | to reach | ratio | |",
        "|---|---|---|---|---|---|---|",
        *(row for row, _ in found),
        "",
    ]
    return "\n".join(lines), all(holds for _, holds in (*quiet, *found))


def origin(args: argparse.Namespace, took: str) -> str:
    """The command that gives these figures again, and what it ran with."""
    only = f" --only {' '.join(args.only)}" if args.only else ""
    command = (
        f"python -m tests.simulation.simulate_drift --jobs {args.jobs} --seed {args.seed} --scale {args.scale:g}{only}"
    )
    return f"Command: `{command}`; numpy {np.__version__}, Python {platform.python_version()}; {took}."


def main() -> int:
    """Run the scenarios, print the summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="of the effort; 0.1 is a tenth")
    parser.add_argument("--only", nargs="*", choices=list(SCENARIOS), metavar="NAME", help=", ".join(SCENARIOS))
    parser.add_argument("--write", type=Path, help="a file to keep the summary in")
    args = parser.parse_args()
    names = args.only or list(SCENARIOS)
    started = time.perf_counter()
    results: dict[str, Quiet | Found] = {}
    with get_context("spawn").Pool(args.jobs) as pool:
        for name, result, seconds in pool.imap_unordered(run, [(name, args.scale, args.seed) for name in names]):
            results[name] = result
            row, _ = quiet_row(result) if isinstance(result, Quiet) else found_row(result)
            sys.stderr.write(f"{name} ({seconds:.0f} s): {row}\n")
    text, holds = summary({name: results[name] for name in names})
    took = f"{(time.perf_counter() - started) / 60:.0f} minutes with {args.jobs} processes"
    document = f"{HEAD}{origin(args, took)}\n\n{text}"
    sys.stdout.write(document)
    if args.write is not None:
        args.write.write_text(document)
    return 0 if holds else 1


def _word(holds: bool) -> str:
    return "holds" if holds else "MISSED"


def _minutes(value: float) -> str:
    if value < 2:
        return f"{value * 60:.0f} s"
    return f"{value:.0f} min" if math.isfinite(value) else "never"


if __name__ == "__main__":
    sys.exit(main())
