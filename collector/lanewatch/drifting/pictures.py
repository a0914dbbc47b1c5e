"""Pictures of a drift report as inline SVG: bins then and now, a rate with its interval, evidence over time.

Each picture has a title and a description for who can't see it; nothing is told by colour alone. Colours are those of
the page's style (`then`, `now`, ...), so that light and dark are the page's choice.
"""

import math
from collections.abc import Iterable
from html import escape

from lanewatch.drifting.inputs import clock_time
from lanewatch.drifting.report import AlarmTold
from lanewatch.drifting.report_text import percent
from lanewatch.monitors.drift.effects import RateEffects
from lanewatch.monitors.drift.recorded_run import Track

WIDTH = 560
ROW = 26  # of a bin: two bars
LABEL = 150
LABEL_LETTERS = 22
LOWEST, HIGHEST = 1e-3, 1e2  # of the evidence over its line that is drawn
PLOT_TOP, PLOT_HEIGHT, PLOT_LEFT = 14, 130, 64
GRID = (1e-2, 1e-1, 1.0, 1e1)
DETECTORS = {"esr": "e-SR", "g": "G", "t2": "T²"}


def bins_picture(title: str, names: tuple[str, ...], then: tuple[float, ...], now: tuple[float, ...]) -> str:
    """Two bars a bin: the share that the reference lets expect, and the one that was found."""
    widest = max([*then, *now, 1e-9])
    scale = (WIDTH - LABEL - 104) / widest
    rows = []
    for k, (name, expected, found) in enumerate(zip(names, then, now, strict=True)):
        top = k * ROW + 4
        short = name if len(name) <= LABEL_LETTERS else f"{name[: LABEL_LETTERS - 1]}…"
        rows.append(
            f'<text x="{LABEL - 8}" y="{top + 13}" text-anchor="end">{escape(short)}</text>'
            f'<rect class="then" x="{LABEL}" y="{top}" width="{max(expected * scale, 0.5):.1f}" height="8"/>'
            f'<rect class="now" x="{LABEL}" y="{top + 9}" width="{max(found * scale, 0.5):.1f}" height="8"/>'
            f'<text class="small" x="{LABEL + max(expected, found) * scale + 6:.1f}" y="{top + 13}">'
            f"{percent(expected)} → {percent(found)}</text>"
        )
    told = "; ".join(
        f"{name}: {percent(a)} then, {percent(b)} now" for name, a, b in zip(names, then, now, strict=True)
    )
    return _svg(title, told, WIDTH, len(names) * ROW + 8, rows)


def rate_picture(title: str, then: float, effect: RateEffects) -> str:
    """The rate of the reference and the one that was found, with its 95 % interval."""
    widest = max(then, effect.upper, 1e-9)
    scale = (WIDTH - LABEL - 90) / widest
    low, high = LABEL + effect.lower * scale, LABEL + effect.upper * scale
    rows = [
        f'<text x="{LABEL - 8}" y="17" text-anchor="end">then</text>',
        f'<rect class="then" x="{LABEL}" y="6" width="{max(then * scale, 0.5):.1f}" height="14"/>',
        f'<text class="small" x="{LABEL + then * scale + 6:.1f}" y="17">{percent(then)}</text>',
        f'<text x="{LABEL - 8}" y="43" text-anchor="end">now</text>',
        f'<rect class="now" x="{LABEL}" y="32" width="{max(effect.rate * scale, 0.5):.1f}" height="14"/>',
        f'<path class="interval" d="M{low:.1f} 39H{high:.1f}M{low:.1f} 34v10M{high:.1f} 34v10"/>',
        f'<text class="small" x="{high + 6:.1f}" y="43">{percent(effect.rate)}</text>',
    ]
    told = f"{percent(then)} then; {percent(effect.rate)} now, 95 % interval {percent(effect.lower)} to {percent(effect.upper)}"
    return _svg(title, told, WIDTH, 54, rows)


def evidence_picture(
    title: str, tracks: tuple[Track, ...], first: int, stretch: int, alarms: Iterable[AlarmTold]
) -> str:
    """Each detector's evidence over its line, on a logarithmic scale, with the alarm line and when it was passed."""
    points = max((len(track.ratios) for track in tracks), default=0)
    plot = WIDTH - PLOT_LEFT - 10
    step = plot / max(points - 1, 1)
    end = first + points * stretch
    rows = []
    for alarm in alarms:
        left = _x(alarm.raised, first, end, plot)
        right = _x(alarm.cleared if alarm.cleared is not None else end, first, end, plot)
        rows.append(
            f'<rect class="standing" x="{left:.1f}" y="{PLOT_TOP}" width="{max(right - left, 1):.1f}" '
            f'height="{PLOT_HEIGHT}"/>'
        )
        changed = _x(alarm.changed, first, end, plot)
        rows.append(f'<path class="changed" d="M{changed:.1f} {PLOT_TOP}v{PLOT_HEIGHT}"/>')
    for value in GRID:
        y = _y(value)
        line = "line" if value == 1 else "grid"
        name = "alarm line" if value == 1 else f"{value:g}"
        rows.append(f'<path class="{line}" d="M{PLOT_LEFT} {y:.1f}H{WIDTH - 10}"/>')
        rows.append(f'<text class="small" x="{PLOT_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{name}</text>')
    for k, track in enumerate(tracks):
        rows.append(f'<path class="track t{k % 3}" d="{_path(track.ratios, step)}"/>')
    bottom = PLOT_TOP + PLOT_HEIGHT
    rows.append(f'<path class="axis" d="M{PLOT_LEFT} {bottom}H{WIDTH - 10}"/>')
    rows.append(f'<text class="small" x="{PLOT_LEFT}" y="{bottom + 16}">{clock_time(first)}</text>')
    rows.append(
        f'<text class="small" x="{WIDTH - 10}" y="{bottom + 16}" text-anchor="end">{clock_time(end)} UTC</text>'
    )
    for k, track in enumerate(tracks):
        left = PLOT_LEFT + k * 150
        rows.append(f'<path class="track t{k % 3}" d="M{left} {bottom + 30}h26"/>')
        rows.append(f'<text class="small" x="{left + 32}" y="{bottom + 34}">{escape(track_name(track))}</text>')
    peaks = ", ".join(
        f"{track_name(track)} at most {max((r for r in track.ratios if r is not None), default=0):.2g} of its line"
        for track in tracks
    )
    return _svg(title, peaks, WIDTH, bottom + 42, rows)


def track_name(track: Track) -> str:
    """A detector as it is named."""
    name = DETECTORS.get(track.detector, track.detector)
    return name if track.direction == "any" else f"{name}, {track.direction}"


def _path(ratios: tuple[float | None, ...], step: float) -> str:
    """A line that is broken where nothing was counted."""
    parts, move = [], True
    for k, ratio in enumerate(ratios):
        if ratio is None:
            move = True
            continue
        parts.append(f"{'M' if move else 'L'}{PLOT_LEFT + k * step:.1f} {_y(ratio):.1f}")
        move = False
    return "".join(parts)


def _x(at: int, first: int, end: int, plot: float) -> float:
    return PLOT_LEFT + plot * min(max((at - first) / max(end - first, 1), 0.0), 1.0)


def _y(ratio: float) -> float:
    height = math.log(min(max(ratio, LOWEST), HIGHEST) / LOWEST) / math.log(HIGHEST / LOWEST)
    return PLOT_TOP + PLOT_HEIGHT * (1 - height)


def _svg(title: str, told: str, width: int, height: int, rows: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f"<title>{escape(title)}</title><desc>{escape(told)}</desc>{''.join(rows)}</svg>"
    )
