"""Panels drawn from what Prometheus answered, each in an area of a figure.

Draws what Grafana would, as far as it tells something: values, names, units, colours, thresholds; nothing interactive.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from dashboards.canvas import FAINT, INK, RULE, SMALL, Panel, Series, cut, fixed_colours, say_nothing, steps_of, unit_of
from dashboards.drawing_rows import ranking, side_by_side, table
from dashboards.shown import PALETTE, by_threshold, colour, written

MANY, LINES, LETTER = 6, 2, 5.9  # series beyond which zeros are not named; lines of a legend; pixels a letter


def draw(panel: Panel, series: Sequence[Series], area: Axes, time_shown: tuple[float, float]) -> None:
    """Draw a panel; what goes over time has all of the time shown, in days. Raises LookupError for a kind that is not known."""
    DRAWN[panel["type"]](panel, series, area)
    if panel["type"] == "timeseries" and series:
        area.set_xlim(*time_shown)


def _stat(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    """Tiles side by side, each in the colour of its value."""
    if not series:
        say_nothing(panel, area)
        return
    area.axis("off")
    area.set_xlim(0, 1)
    area.set_ylim(0, 1)
    words = {
        v: o["text"] for m in panel["fieldConfig"]["defaults"].get("mappings", ()) for v, o in m["options"].items()
    }
    shown = sorted(series, key=lambda one: one.name)[:4]
    width = 1 / len(shown)
    for place, one in enumerate(shown):
        fill = by_threshold(one.last, steps_of(panel))
        box = FancyBboxPatch(
            (place * width + 0.004, 0.0), width - 0.008, 1.0, boxstyle="round,pad=0,rounding_size=0.012", fc=fill, ec="none",
            mutation_aspect=3,
        )  # fmt: skip
        area.add_patch(box)
        text = words.get(f"{one.last:g}", written(one.last, unit_of(panel)))
        several = len(shown) > 1
        middle = (place + 0.5) * width
        area.text(
            middle,
            0.42 if several else 0.5,
            text,
            ha="center",
            va="center",
            color="white",
            weight="bold",
            fontsize=15 if several else 19,
        )
        if several:
            area.text(
                middle, 0.84, cut(one.name, int(46 * width)), ha="center", va="center", color="white", fontsize=SMALL
            )


def _over_time(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    if not series:
        say_nothing(panel, area)
        return
    custom = panel["fieldConfig"]["defaults"].get("custom", {})
    fixed = fixed_colours(panel)
    ordered = [one for one in series if one.values]
    colours = {one.name: fixed.get(one.name, PALETTE[place % len(PALETTE)]) for place, one in enumerate(ordered)}
    if custom.get("stacking", {}).get("mode") == "normal":
        _stack(ordered, colours, area)
    else:
        _lines(panel, ordered, colours, area)
    for step in steps_of(panel)[1:] if "thresholdsStyle" in custom else ():
        area.axhline(step["value"], color=colour(step["color"]), linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    _axes(panel, area)
    shown = [one for one in ordered if one.name not in ("low", "high")]
    _legend(shown, colours, area)


def _stack(series: Sequence[Series], colours: Mapping[str, str], area: Axes) -> None:
    times = sorted({at for one in series for at in one.times})
    table = [dict(zip(one.times, one.values, strict=True)) for one in series]
    heights = [[found.get(at, 0.0) for at in times] for found in table]
    area.stackplot(times, heights, colors=[colours[one.name] for one in series], alpha=0.62, linewidth=0)
    top = [sum(column) for column in zip(*heights, strict=True)]
    area.set_ylim(0, max(top) * 1.12 or 1)


def _lines(panel: Panel, series: Sequence[Series], colours: Mapping[str, str], area: Axes) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    bounds = {one.name: one for one in series if one.name in ("low", "high")}
    if len(bounds) == 2:  # noqa: PLR2004 - an interval has two ends
        low, high = bounds["low"], bounds["high"]
        area.fill_between(
            low.times, low.values, high.values[: len(low.values)], color=colour("blue"), alpha=0.18, linewidth=0
        )
    for one in series:
        if one.name not in bounds:
            area.plot(one.times, one.values, color=colours[one.name], linewidth=1.4)
    values = [value for one in series for value in one.values]
    low_end, high_end = defaults.get("min"), defaults.get("max")
    reach = max(values) * 1.12 if max(values) > 0 else 1
    if defaults.get("custom", {}).get("scaleDistribution", {}).get("type") == "log":
        area.set_yscale("log")
        return
    area.set_ylim(min(values) if low_end is None else low_end, reach if high_end is None else high_end * 1.03)


def _axes(panel: Panel, area: Axes) -> None:
    unit = unit_of(panel)
    powers = area.get_yscale() == "log"
    area.yaxis.set_major_locator(LogLocator(numticks=5) if powers else MaxNLocator(4))
    area.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0e}" if powers else written(value, unit)))
    area.minorticks_off()
    area.xaxis.set_major_locator(MaxNLocator(5, prune="both"))
    area.xaxis.set_major_formatter(FuncFormatter(_clock))
    area.tick_params(labelsize=SMALL, colors=FAINT, length=0)
    area.grid(visible=True, color=RULE, linewidth=0.7)
    area.margins(x=0)
    for side in area.spines.values():
        side.set_visible(False)
    area.set_axisbelow(True)


def _clock(days: float, _: int | None = None) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(days * 86400))


def _legend(series: Sequence[Series], colours: Mapping[str, str], area: Axes) -> None:
    """Names below, from left to right in two lines; those that are 0 all the time are only counted where there are many."""
    names = list(dict.fromkeys(one.name for one in series))
    moving = list(dict.fromkeys(one.name for one in series if any(one.values)))
    if len(names) > MANY:
        names = moving
    still = len({one.name for one in series}) - len(names)
    place = area.get_window_extent()
    left, line = 0.0, 0
    for number, name in enumerate([*names, *([f"{still} more at 0"] if still else [])]):
        text = cut(name)
        wide = 20 + len(text) * LETTER
        if left and left + wide > place.width:
            left, line = 0.0, line + 1
        if line == LINES:
            area.annotate("…", (0, 0), (left - 4, -48), "axes fraction", "offset pixels", fontsize=SMALL, color=FAINT)
            return
        at = (left, -34 - 14 * line)
        if number < len(names):
            area.annotate("■", (0, 0), at, "axes fraction", "offset pixels", fontsize=SMALL, color=colours[name])
        area.annotate(text, (0, 0), (at[0] + 11, at[1]), "axes fraction", "offset pixels", fontsize=SMALL, color=INK)
        left += wide


DRAWN: dict[str, Callable[[Panel, Sequence[Series], Axes], None]] = {
    "stat": _stat,
    "timeseries": _over_time,
    "bargauge": ranking,
    "table": table,
    "barchart": side_by_side,
}
