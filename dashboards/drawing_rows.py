"""Panels of rows and bars, drawn from what Prometheus answered: rankings, tables, groups of bars."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import Bbox

from dashboards.canvas import (
    FAINT,
    INK,
    MIDDLE,
    RULE,
    SMALL,
    Panel,
    Series,
    cut,
    fixed_colours,
    say_nothing,
    steps_of,
    unit_of,
)  # fmt: skip
from dashboards.shown import PALETTE, by_threshold, colour, written

MOST_BARS, MOST_ROWS = 9, 12


def ranking(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    """Bars from the top down, with their names above them."""
    if not series:
        say_nothing(panel, area)
        return
    unit, steps = unit_of(panel), steps_of(panel)
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
        area.text(0, place + 0.22, cut(one.name, 60), ha="left", va="center", fontsize=SMALL, color=INK)
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


def table(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    """Rows of the same labels are one; columns as the panel's transformations name them."""
    if not series:
        say_nothing(panel, area)
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
                row[heading] = written(one.last, unit_of(panel))
    columns = [*labels, *headings]
    sort = next((one["displayName"] for one in panel.get("options", {}).get("sortBy", ())), "")
    found.sort(key=lambda row: _number(row.get(sort, "")), reverse=True)
    area.axis("off")
    cells = [[cut(row.get(column, ""), 30) for column in columns] for row in found[:MOST_ROWS]]
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


def side_by_side(panel: Panel, series: Sequence[Series], area: Axes) -> None:
    """Groups of bars, a group for each value of the label on the axis."""
    if not series:
        say_nothing(panel, area)
        return
    label = panel["options"]["xField"]
    organize = next(one["options"] for one in panel["transformations"] if one["id"] == "organize")
    fixed = fixed_colours(panel)
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
    area.set_xticks(range(len(groups)), [cut(group, 18) for group in groups], rotation=30, ha="right")
    _axes_of_bars(panel, area)
    handles = [area.plot([], [], color=colours[name], linewidth=4, solid_capstyle="butt")[0] for name in names]
    area.legend(
        handles, names, loc="upper right", fontsize=SMALL, frameon=False, handlelength=1.0, labelcolor=INK, ncols=2
    )


def _axes_of_bars(panel: Panel, area: Axes) -> None:
    unit = unit_of(panel)
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
