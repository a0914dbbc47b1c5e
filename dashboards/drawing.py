"""Panels drawn from what Prometheus answered, each in an area of a figure.

Draws what Grafana would, as far as it tells something: values, names, units, colours, thresholds; nothing interactive.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator
from matplotlib.transforms import Bbox

from dashboards.shown import PALETTE, by_threshold, colour, named, written

Panel: TypeAlias = Mapping[str, Any]
INK, FAINT, RULE = "#1f2430", "#6b7280", "#e5e7eb"
SMALL, MIDDLE = 7.5, 8.5
MOST_BARS, MOST_ROWS, LONGEST = 9, 12, 40
MANY, LINES, LETTER = 6, 2, 5.9  # series beyond which zeros are not named; lines of a legend; pixels a letter


class Series(msgspec.Struct, frozen=True):
    """What an expression gave of one label set: times in days since the epoch, and values; one of each where it was instant."""

    ref: str
    labels: dict[str, str]
    legend: str
    times: list[float]
    values: list[float]

    @property
    def name(self) -> str:
        """As the legend has it."""
        return named(self.legend, self.labels)

    @property
    def last(self) -> float:
        """The latest value."""
        return self.values[-1]


def draw(panel: Panel, series: Sequence[Series], area: Axes, time_shown: tuple[float, float]) -> None:
    """Draw a panel; what goes over time has all of the time shown, in days. Raises LookupError for a kind that is not known."""
    DRAWN[panel["type"]](panel, series, area)
    if panel["type"] == "timeseries" and series:
        area.set_xlim(*time_shown)


def _unit(panel: Panel) -> str:
    return str(panel["fieldConfig"]["defaults"].get("unit", "short"))


def _steps(panel: Panel) -> list[Any]:
    return list(panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", ()))


def _nothing(panel: Panel, area: Axes) -> None:
    text = panel["fieldConfig"]["defaults"].get("noValue", "No data")
    area.axis("off")
    area.text(0.5, 0.5, text, ha="center", va="center", color=FAINT, fontsize=11, transform=area.transAxes)


def _stat(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    """Tiles side by side, each in the colour of its value."""
    if not series:
        _nothing(panel, area)
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
        fill = by_threshold(one.last, _steps(panel))
        box = FancyBboxPatch(
            (place * width + 0.004, 0.0), width - 0.008, 1.0, boxstyle="round,pad=0,rounding_size=0.012", fc=fill, ec="none",
            mutation_aspect=3,
        )  # fmt: skip
        area.add_patch(box)
        text = words.get(f"{one.last:g}", written(one.last, _unit(panel)))
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
                middle, 0.84, _cut(one.name, int(46 * width)), ha="center", va="center", color="white", fontsize=SMALL
            )


def _over_time(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    if not series:
        _nothing(panel, area)
        return
    custom = panel["fieldConfig"]["defaults"].get("custom", {})
    fixed = _fixed(panel)
    ordered = [one for one in series if one.values]
    colours = {one.name: fixed.get(one.name, PALETTE[place % len(PALETTE)]) for place, one in enumerate(ordered)}
    if custom.get("stacking", {}).get("mode") == "normal":
        _stack(ordered, colours, area)
    else:
        _lines(panel, ordered, colours, area)
    for step in _steps(panel)[1:] if "thresholdsStyle" in custom else ():
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
    unit = _unit(panel)
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
        text = _cut(name)
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


def _ranking(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    """Bars from the top down, with their names above them."""
    if not series:
        _nothing(panel, area)
        return
    unit, steps = _unit(panel), _steps(panel)
    shown = list(series)[:MOST_BARS]
    least = panel["fieldConfig"]["defaults"].get("min", 0)
    longest = panel["fieldConfig"]["defaults"].get("max") or max((one.last for one in shown), default=1) or 1
    area.axis("off")
    area.set_xlim(0, 1)
    slots = max(len(shown), 3)
    area.set_ylim(slots, 0)
    for place, one in enumerate(shown):
        share = max(min((one.last - least) / (longest - least), 1), 0)
        fill = by_threshold(one.last, steps)
        area.barh(place + 0.62, 0.80, height=0.42, color="#f0f1f3", align="center")
        area.barh(place + 0.62, 0.80 * share, height=0.42, color=fill, align="center")
        area.text(0, place + 0.22, _cut(one.name, 60), ha="left", va="center", fontsize=SMALL, color=INK)
        area.text(
            0.82,
            place + 0.62,
            written(one.last, unit),
            ha="left",
            va="center",
            fontsize=MIDDLE,
            color=fill,
            weight="bold",
        )


def _table(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    """Rows of the same labels are one; columns as the panel's transformations name them."""
    if not series:
        _nothing(panel, area)
        return
    organize = next(one["options"] for one in panel["transformations"] if one["id"] == "organize")
    renamed, hidden = organize["renameByName"], organize["excludeByName"]
    several = len(panel["targets"]) > 1
    labels = sorted({name for one in series for name in one.labels if name != "__name__"}, key=_column)
    headings: list[str] = []
    found: list[dict[str, str]] = []
    for target in panel["targets"]:
        heading = renamed[f"Value #{target['refId']}" if several else "Value"]
        headings += [heading] if not hidden.get(heading) else []
        for one in series:
            if one.ref == target["refId"]:
                row = _row_of(found, {name: one.labels[name] for name in labels if name in one.labels})
                row[heading] = written(one.last, _unit(panel))
    columns = [*labels, *headings]
    sort = next((one["displayName"] for one in panel.get("options", {}).get("sortBy", ())), "")
    found.sort(key=lambda row: _number(row.get(sort, "")), reverse=True)
    area.axis("off")
    cells = [[_cut(row.get(column, ""), 30) for column in columns] for row in found[:MOST_ROWS]]
    drawn = area.table(cells, colLabels=columns, loc="upper left", cellLoc="left", colLoc="left", bbox=_box(len(cells)))
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(SMALL)
    drawn.auto_set_column_width(list(range(len(columns))))
    for (line, _), cell in drawn.get_celld().items():
        cell.set_edgecolor(RULE)
        cell.set_linewidth(0.6)
        cell.visible_edges = "B"
        cell.get_text().set_color(FAINT if line == 0 else _cell_colour(cell.get_text().get_text()))
        cell.get_text().set_fontweight("bold" if line == 0 else "normal")


def _box(n_rows: int) -> Bbox:
    height = min(1.0, (n_rows + 1) / (MOST_ROWS + 1) * 1.02)
    return Bbox.from_bounds(0, 1 - height, 1, height)


def _column(name: str) -> tuple[int, str]:
    order = ("service", "producer", "signal", "state", "tool", "boundary", "metric", "evaluator", "kind")
    return (order.index(name) if name in order else len(order), name)


def _cell_colour(text: str) -> str:
    return {"alarm": colour("red"), "unsure": colour("orange"), "ok": colour("green")}.get(text, INK)


def _row_of(found: list[dict[str, str]], labels: dict[str, str]) -> dict[str, str]:
    for row in found:
        if all(row.get(name, value) == value for name, value in labels.items()):
            row.update(labels)
            return row
    found.append(dict(labels))
    return found[-1]


def _number(text: str) -> float:
    """What a written value sorts by; what is no number comes last."""
    sizes = {"k": 1e3, "M": 1e6, "G": 1e9}
    try:
        return float(text.rstrip("kMG")) * sizes.get(text[-1:], 1.0)
    except ValueError:
        return float("-inf")


def _side_by_side(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    """Groups of bars, a group for each value of the label on the axis."""
    if not series:
        _nothing(panel, area)
        return
    label = panel["options"]["xField"]
    organize = next(one["options"] for one in panel["transformations"] if one["id"] == "organize")
    fixed = _fixed(panel)
    groups = list(
        dict.fromkeys(
            one.labels.get(label, "") for one in sorted(series, key=lambda one: _edge(one.labels.get(label, "")))
        )
    )
    refs = [target["refId"] for target in panel["targets"]]
    width, names, colours = 0.8 / len(refs), [], {}
    for place, ref in enumerate(refs):
        name = organize["renameByName"][f"Value #{ref}"]
        heights = {one.labels.get(label, ""): one.last for one in series if one.ref == ref}
        at = [index - 0.4 + width * (place + 0.5) for index in range(len(groups))]
        colours[name] = fixed.get(name, PALETTE[place])
        names.append(name)
        area.bar(at, [heights.get(group, 0) for group in groups], width=width * 0.92, color=colours[name])
    area.set_xticks(range(len(groups)), [_cut(group, 18) for group in groups], rotation=30, ha="right")
    _axes_of_bars(panel, area)
    handles = [area.plot([], [], color=colours[name], linewidth=4, solid_capstyle="butt")[0] for name in names]
    area.legend(
        handles, names, loc="upper right", fontsize=SMALL, frameon=False, handlelength=1.0, labelcolor=INK, ncols=2
    )


def _axes_of_bars(panel: Panel, area: Axes) -> None:
    unit = _unit(panel)
    area.yaxis.set_major_locator(MaxNLocator(4))
    area.yaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value, unit)))
    area.tick_params(labelsize=SMALL, colors=FAINT, length=0)
    area.grid(visible=True, axis="y", color=RULE, linewidth=0.7)
    for side in area.spines.values():
        side.set_visible(False)
    area.set_axisbelow(True)
    area.set_ylim(0, area.get_ylim()[1] * 1.12)


def _edge(name: str) -> tuple[int, float, int, str]:
    """Bins of numbers by their lower edge, single values and the last bin among them; all others behind, by name."""
    signs = {"<=": 0, "(": 3, "=": 2, ">": 4}
    sign = next((sign for sign in signs if name.startswith(sign)), "")
    try:
        number = float(name.removeprefix(sign).split(",")[0])
    except ValueError:
        return (1, 0.0, 0, name)
    return (0, number, signs[sign], name) if sign and name != "nan" else (1, 0.0, 0, name)


def _fixed(panel: Panel) -> dict[str, str]:
    """Colours that overrides give to names."""
    found = {}
    for one in panel["fieldConfig"].get("overrides", ()):
        for chosen in one["properties"]:
            if chosen["id"] == "color":
                found[one["matcher"]["options"]] = colour(chosen["value"]["fixedColor"])
    return found


def _cut(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: max(longest - 1, 1)] + "…"


DRAWN: dict[str, Callable[[Panel, Sequence[Series], Axes], None]] = {
    "stat": _stat,
    "timeseries": _over_time,
    "bargauge": _ranking,
    "table": _table,
    "barchart": _side_by_side,
}
