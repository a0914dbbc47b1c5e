"""Runs the product's detectors over simulated days: references from a period, false alarms, delays."""

from collections.abc import Iterable
from typing import Protocol

import numpy as np
from lanewatch.monitors.drift.dispersion import homogeneity
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.hours import Hours
from lanewatch.monitors.drift.rate_reference import RateBounds, rate_bounds
from lanewatch.monitors.drift.share_reference import ShareReference, share_reference
from lanewatch.monitors.drift.tick import Tick

from tests.simulation.traffic import HOURS_A_WEEK, TICKS_AN_HOUR, Day

MINUTES_A_TICK = 1 / 6
EPISODE_TICKS = 6 * TICKS_AN_HOUR


class Detector(Protocol):
    """What runs here."""

    def update(self, tick: Tick) -> Floats:
        """Evidence over its alarm line."""
        ...

    def restart(self, where: np.ndarray | None = None) -> None:
        """Begin anew after an alarm."""
        ...


def hours_of(days: Iterable[Day]) -> list[Hours]:
    """The hourly table of each series of a reference period."""
    rows = []
    for day in days:
        weights = list(day.counts)
        by_weight = np.stack([day.counts[w] for w in weights])  # weights, ticks, series, bins
        raw = by_weight.sum(axis=0)
        hourly = by_weight.reshape(len(weights), 24, TICKS_AN_HOUR, *raw.shape[1:]).sum(axis=2)
        w = np.array(weights)[:, None, None, None]
        minutes = raw.reshape(24, 60, 6, *raw.shape[1:]).sum(axis=2)
        tens = minutes.reshape(24, 6, 10, *raw.shape[1:]).sum(axis=2)
        scales = [
            [[tuple(homogeneity(windows[h, :, s])) for windows in (minutes, tens)] for s in range(raw.shape[1])]
            for h in range(24)
        ]
        first_hour = day.first_tick // TICKS_AN_HOUR
        rows.append(
            (
                first_hour + np.arange(24),
                hourly.sum(axis=0),
                (w * hourly).sum(axis=0),
                (w * w * hourly).sum(axis=0),
                np.array(scales),
            )
        )
    hours = np.concatenate([row[0] for row in rows])
    tables = [np.concatenate([row[k] for row in rows]) for k in range(1, 5)]
    return [Hours(hours, hours % HOURS_A_WEEK, *(table[:, s] for table in tables)) for s in range(tables[0].shape[1])]


def stacked_rates(tables: list[Hours]) -> RateBounds:
    """The bounds of many series as one."""
    each = [rate_bounds(table) for table in tables]
    return RateBounds(
        *(np.stack([getattr(bounds, name) for bounds in each], axis=1) for name in ("upper", "lower", "mean")),
        *(
            np.stack([getattr(bounds, name) for bounds in each])
            for name in ("tau", "phi", "mean_weights", "effective_n")
        ),
    )


def stacked_shares(tables: list[Hours], ordered: int) -> ShareReference:
    """The references of many series as one."""
    each = [share_reference(table, ordered) for table in tables]
    return ShareReference(
        np.stack([reference.shares for reference in each], axis=1),
        np.stack([reference.inverse_n for reference in each], axis=1),
        np.stack([reference.phi for reference in each]),
        np.stack([reference.mean_weights for reference in each]),
        ordered,
    )


def ticks_of(days: Iterable[Day]) -> Iterable[Tick]:
    """Every tick of the days."""
    for day in days:
        length = len(next(iter(day.counts.values())))
        for k in range(length):
            index = day.first_tick + k
            counts = {w: c[k] for w, c in day.counts.items() if len(day.counts) == 1 or c[k].any()}
            yield Tick(index, index // TICKS_AN_HOUR % HOURS_A_WEEK, MINUTES_A_TICK, counts)


def false_alarms(detectors: list[Detector], days: Iterable[Day]) -> int:
    """Episodes of alarms over all series: alarms of a series within six hours of each other are one.

    The product latches an alarm until it is over; here a detector begins anew at once, so that more is counted, not less.
    """
    episodes, last = 0, None
    for tick in ticks_of(days):
        fired = [detector.update(tick) >= 1 for detector in detectors]
        if last is None:
            last = np.full(fired[0].shape, -EPISODE_TICKS - 1)
        for detector, alarmed in zip(detectors, fired, strict=True):
            if alarmed.any():
                detector.restart(alarmed)
        alarmed = np.any(fired, axis=0)
        if alarmed.any():
            episodes += int((alarmed & (tick.index - last > EPISODE_TICKS)).sum())
            last[alarmed] = tick.index
    return episodes


def delays(detectors: list[Detector], days: Iterable[Day], change: int) -> Floats:
    """Minutes from the change to the first alarm after it, of each series; NaN where none came.

    A series that fires before is begun anew. The change may fall anywhere in its tick: half of one is added.
    """
    found: Floats | None = None
    for tick in ticks_of(days):
        alarmed = np.any([detector.update(tick) >= 1 for detector in detectors], axis=0)
        if found is None:
            found = np.full(alarmed.shape, np.nan)
        if tick.index < change:
            if alarmed.any():
                for detector in detectors:
                    detector.restart(alarmed)
        else:
            new = alarmed & np.isnan(found)
            found[new] = (tick.index + 1 - change) * MINUTES_A_TICK
            if not np.isnan(found).any():
                break
    assert found is not None
    return found
