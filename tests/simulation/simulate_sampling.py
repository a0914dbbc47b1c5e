"""Simulates the judge's sampling: what is estimated from the few traces that are judged, beside the truth of all of them.

    python -m tests.simulation.simulate_sampling [--traces 200000] [--days 40] [--seed 1] [--write FILE]

Seeded; minutes on one core. Exits 1 where an estimate is off. `--write docs/sampling-simulation.md` keeps the summary.
"""

import argparse
import math
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from lanewatch.monitors.judge.estimates import mean, n_eff, total, total_error, traffic_error
from lanewatch.monitors.judge.settings import Rates

from tests.simulation.sampled_traffic import (
    METRICS,
    POOR,
    SERVICES,
    Estimated,
    SeenTrace,
    Traffic,
    judged,
    recorded,
    traffic,
)

RATES = Rates()  # the defaults: 5 % of usual traces, all that are risky, 60 a minute
MANY = 10  # a day of each many is a tenth of the large one
HEAD = """# What sampled scores say of all traffic, in simulation
Written by `make simulate`; not by hand. A day of recorded conversations under new trace ids, with a rhythm and an incident in
which a guard refuses a tenth of the day's traffic within a quarter of an hour, goes through the sidecar's own desk: strata, draw,
cap, ledger. What a judge would say of each trace is drawn beforehand, so the truth over all of them is known. `z` is how
many standard errors an estimate is off; `naive` is what the judged traces give without their weights.
"""


class Compared(msgspec.Struct, frozen=True):
    """An estimate beside the truth of all traces that could be judged."""

    what: str
    service: str
    metric: str
    truth: float
    estimate: float
    error: float
    naive: float
    n: int
    worth: float

    @property
    def z(self) -> float:
        """How many standard errors it is off."""
        return _off(self.estimate, self.truth, self.error)

    @property
    def naive_z(self) -> float:
        """The same of the estimate without weights."""
        return _off(self.naive, self.truth, self.error)


class Days(msgspec.Struct, frozen=True):
    """Many days: of how many estimates the truth is within 2 standard errors, and how far off they are on the whole."""

    estimates: int
    within: int
    worst: float  # of all series, by how many of its own standard errors the mean of z over the days is from 0

    def holds(self) -> bool:
        """As often within as 95 % allow by chance, and none off to one side."""
        short = 0.95 * self.estimates - self.within
        return short <= 3 * math.sqrt(self.estimates * 0.95 * 0.05) and self.worst < 4


def compare(given: Traffic, found: Estimated) -> Iterator[Compared]:
    """The mean, the rate of poor scores, and the sum, of each service by each metric."""
    scores = found.ledger.scores()
    for place, service in enumerate(SERVICES):
        for column, metric in enumerate(METRICS):
            every = given.scores[(given.services == place) & given.asked[:, column], column]
            sums, poor = scores[service, metric].sums, found.poor[service, metric]
            plain = np.array(found.plain[service, metric])
            rows = (
                ("mean", every.mean(), mean(sums), traffic_error(sums), plain.mean()),
                ("poor", (every < POOR).mean(), mean(poor), traffic_error(poor), (plain < POOR).mean()),
                ("sum", every.sum(), total(sums), total_error(sums), plain.mean() * len(every)),
            )
            for what, truth, estimate, error, naive in rows:
                yield Compared(
                    what, service, metric, float(truth), estimate or 0.0, error, float(naive), sums.n, n_eff(sums)
                )


def day(n: int, seed: int, pool: list[SeenTrace], rates: Rates = RATES) -> tuple[list[Compared], Estimated]:
    """One day of so many traces."""
    given = traffic(n, seed, pool)
    found = judged(given, pool, rates)
    return list(compare(given, found)), found


def days(count: int, n: int, seed: int, pool: list[SeenTrace]) -> Days:
    """Many days, each of its own traffic."""
    z = np.array([[one.z for one in day(n, seed + 1 + number, pool)[0]] for number in range(count)])
    worst = np.abs(z.mean(axis=0)) / (z.std(axis=0, ddof=1) / math.sqrt(count))
    return Days(z.size, int((np.abs(z) <= 2).sum()), float(worst.max()))


def table(rows: list[Compared]) -> Iterator[str]:
    """The estimates of one day."""
    yield "| what | service | metric | all traffic | estimated | z | naive | z | judged | n_eff |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for one in rows:
        digits = 0 if one.what == "sum" else 4
        yield (
            f"| {one.what} | {one.service} | {one.metric} | {one.truth:.{digits}f} | {one.estimate:.{digits}f} | {one.z:+.1f} | "
            f"{one.naive:.{digits}f} | {one.naive_z:+.1f} | {one.n} | {one.worth:.0f} |"
        )


def one_day(rows: list[Compared]) -> Iterator[str]:
    """How many estimates of one day are where they should be."""
    within, naive = (sum(abs(z) <= 2 for z in column) for column in zip(*((r.z, r.naive_z) for r in rows), strict=True))
    yield f"{within} of {len(rows)} estimates are within 2 standard errors of the truth; without weights {naive} are."


def ended(found: Estimated) -> Iterator[str]:
    """What became of the traces."""
    outcomes = found.ledger.evaluations()[METRICS[-1]].ended
    told = ", ".join(f"{how} ({why or 'a score'}) {n:,}" for (how, why), n in outcomes.items() if n)
    yield f"How the traces ended by `{METRICS[-1]}`: {told}."


def many_days(many: Days) -> Iterator[str]:
    """Whether estimates are as sure as they say, and off to no side."""
    yield f"{many.within} of {many.estimates} estimates ({many.within / many.estimates:.1%}) are within 2 standard errors."
    yield f"The mean of z over the days is, of no series, more than {many.worst:.1f} of its own standard errors from 0."
    yield "Unbiased, and as sure as they say." if many.holds() else "BIASED, or surer than they may be."


def main() -> int:
    """Exit status 1 where an estimate is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=200_000)
    parser.add_argument("--days", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    pool = recorded()
    rows, found = day(given.traces, given.seed, pool)
    many = days(given.days, given.traces // MANY, given.seed, pool)
    command = (
        f"python -m tests.simulation.simulate_sampling --traces {given.traces} --days {given.days} --seed {given.seed}"
    )
    lines = [
        *(HEAD.rstrip(), f"Command: `{command}`; numpy {np.__version__}, Python {platform.python_version()}.", ""),
        *(f"## One day of {given.traces:,} traces", *one_day(rows), "", *table(rows), "", *ended(found), ""),
        *(f"## {given.days} days of {given.traces // MANY:,} traces", *many_days(many)),
    ]
    text = "\n".join(lines) + "\n"
    print(text)  # noqa: T201 - a command
    if given.write is not None:
        given.write.write_text(text)
    return int(not many.holds() or any(abs(one.z) > 3 for one in rows))


def _off(estimate: float, truth: float, error: float) -> float:
    return (estimate - truth) / error if error > 0 else 0.0 if math.isclose(estimate, truth) else math.inf


if __name__ == "__main__":
    sys.exit(main())
