"""Pictures of dashboards, made of what a Prometheus answers, in the layout that Grafana has.

Invariants: whatever is drawn was asked of the server in that moment; a panel without an answer says so.
"""

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from dashboards.canvas import INK, RULE, Series
from dashboards.drawing import draw
from dashboards.frame import WIDTH
from dashboards.queries import Span, filled

Answer: TypeAlias = list[dict[str, Any]]  # as Prometheus' API gives a vector or a matrix
PIXELS_WIDE, CELL, GAP, HEAD, TITLE = 1400, 31, 7, 44, 24  # pixels
DPI = 100
COLOURS = 160  # of the palette: a picture of 16 million would be three times as large
DAY = 86400.0
EVERY = ".+"
LABEL_VALUES = re.compile(r"label_values\((.+), (\w+)\)")
GROUND = "#eef0f3"


class Asked(msgspec.Struct, frozen=True):
    """A server: `instant(expr, at)` and `over_time(expr, start, end, step)`, times in seconds since the epoch."""

    instant: Callable[[str, float], Answer]
    over_time: Callable[[str, float, float, float], Answer]


class Shown(msgspec.Struct, frozen=True):
    """What is shown: the end of the time, its span, and the value of each variable of a dashboard."""

    end: float
    span: Span
    values: Mapping[str, str]


def picture(page: Mapping[str, Any], asked: Asked, shown: Shown) -> bytes:
    """A dashboard as PNG; of a row in which nothing has an answer its heading alone."""
    variables = {**shown.span.variables(), **shown.values}
    placed, cells = _answered(page, asked, shown, variables)
    height = HEAD + cells * (CELL + GAP) + GAP
    figure = Figure(figsize=(PIXELS_WIDE / DPI, height / DPI), dpi=DPI, facecolor=GROUND)
    _text(figure, height, 16, 26, page["title"].replace("Lanewatch / ", "Lanewatch  /  "), size=14, weight="bold")
    used = json.dumps(page)
    chosen = [f"{name}: {value}" for name, value in shown.values.items() if value != EVERY and f"${name}" in used]
    _text(figure, height, PIXELS_WIDE - 16, 26, "    ".join(chosen), size=9, align="right")
    for panel, series, values in placed:
        if panel["type"] == "row":
            middle = HEAD + panel["gridPos"]["y"] * (CELL + GAP) + CELL * 0.62
            _text(figure, height, 16, middle, panel["title"], size=10.5, weight="bold")
        else:
            _panel(figure, height, panel, series, values, shown)
    return _png(figure)


Placed: TypeAlias = tuple[Mapping[str, Any], list[Series], Mapping[str, str]]  # a panel, its answers, its variables


def _answered(
    page: Mapping[str, Any], asked: Asked, shown: Shown, variables: Mapping[str, str]
) -> tuple[list[Placed], int]:
    """What is drawn, from the top down, and how many cells high it is."""
    placed: list[Placed] = []
    top = 0
    for heading, panels in _rows(page):
        found = [
            (one, _series(one, asked, shown, values), values)
            for panel in panels
            for one, values in _repeated(page, panel, asked, shown, variables)
        ]
        is_open = any(series for _, series, _ in found)
        note = "" if is_open else "    folded" if heading["collapsed"] else "    no data"
        placed.append((_moved(heading, top, f"{'▾' if is_open else '▸'}  {heading['title']}{note}"), [], variables))
        top += 1
        if is_open:
            first = min(panel["gridPos"]["y"] for panel in panels)
            placed += [
                (_moved(one, one["gridPos"]["y"] - first + top), series, values) for one, series, values in found
            ]
            top += max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) - first
    return placed, top


def _rows(page: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Each heading with its open panels."""
    rows: list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = []
    for panel in page["panels"]:
        if panel["type"] == "row":
            rows.append((panel, []))
        else:
            rows[-1][1].append(panel)
    return rows


def _moved(panel: Mapping[str, Any], top: int, title: str = "") -> Mapping[str, Any]:
    return {**panel, "gridPos": {**panel["gridPos"], "y": top}, "title": title or panel["title"]}


def save(folder: Path, name: str, png: bytes) -> None:
    """Write a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.png").write_bytes(png)


def _repeated(
    page: Mapping[str, Any], panel: Mapping[str, Any], asked: Asked, shown: Shown, variables: Mapping[str, str]
) -> list[tuple[Mapping[str, Any], Mapping[str, str]]]:
    """A panel for each value of the variable that it is repeated for, side by side; the first line of them."""
    name = panel.get("repeat")
    if not name or variables[name] != EVERY:
        return [(panel, variables)]
    (variable,) = (one for one in page["templating"]["list"] if one["name"] == name)
    selector, label = LABEL_VALUES.fullmatch(filled(variable["query"]["query"], variables)).groups()  # type: ignore[union-attr]
    found = asked.instant(f"count by ({label}) ({selector})", shown.end)
    values = sorted(one["metric"][label] for one in found)[: panel.get("maxPerRow", 1)]
    width = panel["gridPos"]["w"] // max(len(values), 1)
    return [
        ({**panel, "gridPos": {**panel["gridPos"], "w": width, "x": number * width}}, {**variables, name: value})
        for number, value in enumerate(values)
    ] or [(panel, variables)]


def _series(panel: Mapping[str, Any], asked: Asked, shown: Shown, variables: Mapping[str, str]) -> list[Series]:
    found = []
    for target in panel["targets"]:
        expr, legend = filled(target["expr"], variables), target.get("legendFormat", "")
        if target.get("instant"):
            for one in asked.instant(expr, shown.end):
                at, value = one["value"]
                found.append(Series(target["refId"], one["metric"], legend, [float(at) / DAY], [float(value)]))
            continue
        for one in asked.over_time(expr, shown.end - shown.span.length, shown.end, shown.span.step):
            times, values = zip(*((float(at) / DAY, float(value)) for at, value in one["values"]), strict=True)
            found.append(Series(target["refId"], one["metric"], legend, list(times), list(values)))
    return found


def _panel(
    figure: Figure,
    height: int,
    panel: Mapping[str, Any],
    series: Sequence[Series],
    variables: Mapping[str, str],
    shown: Shown,
) -> None:
    place = panel["gridPos"]
    column = (PIXELS_WIDE - GAP) / WIDTH
    left, top = GAP + place["x"] * column, HEAD + place["y"] * (CELL + GAP)
    wide, tall = place["w"] * column - GAP, place["h"] * (CELL + GAP) - GAP
    box = FancyBboxPatch(
        (left / PIXELS_WIDE, 1 - (top + tall) / height), wide / PIXELS_WIDE, tall / height,
        boxstyle="square,pad=0", fc="white", ec=RULE, linewidth=0.8, transform=figure.transFigure, zorder=-1,
    )  # fmt: skip
    figure.patches.append(box)
    _text(figure, height, left + 10, top + 15, filled(panel["title"], variables), size=9.2, weight="bold")
    inner = {"stat": (8, 8, 8), "bargauge": (12, 8, 10), "table": (12, 10, 10), "barchart": (52, 12, 46)}
    left_room, right_room, below = inner.get(panel["type"], (56, 14, 46))
    area = figure.add_axes(
        (
            (left + left_room) / PIXELS_WIDE,
            1 - (top + tall - below) / height,
            (wide - left_room - right_room) / PIXELS_WIDE,
            (tall - TITLE - 6 - below) / height,
        )
    )
    area.set_facecolor("white")
    draw(panel, series, area, ((shown.end - shown.span.length) / DAY, shown.end / DAY))


def _text(
    figure: Figure,
    height: int,
    x: float,
    y: float,
    text: str,
    *,
    size: float,
    weight: str = "normal",
    align: str = "left",
) -> None:
    figure.text(x / PIXELS_WIDE, 1 - y / height, text, fontsize=size, weight=weight, color=INK, ha=align, va="center")


def _png(figure: Figure) -> bytes:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI, facecolor=GROUND)
    small = io.BytesIO()
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS).save(small, format="PNG", optimize=True)
    return small.getvalue()
