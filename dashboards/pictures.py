"""Pictures of dashboards, made of what a Prometheus answers, in the layout that Grafana has.

Invariants: whatever is drawn was asked of the server in that moment; a panel without an answer says so.
"""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from dashboards.drawing import INK, RULE, Series, draw
from dashboards.frame import WIDTH
from dashboards.queries import Span, filled

Answer: TypeAlias = list[dict[str, Any]]  # as Prometheus' API gives a vector or a matrix
PIXELS_WIDE, CELL, GAP, HEAD, TITLE = 1400, 31, 7, 44, 24  # pixels
DPI = 100
COLOURS = 160  # of the palette: a picture of 16 million would be three times as large
DAY = 86400.0
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
    """A dashboard as PNG."""
    panels = page["panels"]
    cells = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    height = HEAD + cells * (CELL + GAP) + GAP
    figure = Figure(figsize=(PIXELS_WIDE / DPI, height / DPI), dpi=DPI, facecolor=GROUND)
    _text(figure, height, 16, 26, page["title"].replace("Lanewatch / ", "Lanewatch  /  "), size=14, weight="bold")
    chosen = "    ".join(
        f"{name}: {value}" for name, value in shown.values.items() if value != ".+" and f"${name}" in json.dumps(page)
    )
    _text(figure, height, PIXELS_WIDE - 16, 26, chosen, size=9, align="right")
    variables = {**shown.span.variables(), **shown.values}
    for panel in panels:
        if panel["type"] == "row":
            top = HEAD + panel["gridPos"]["y"] * (CELL + GAP)
            _text(
                figure,
                height,
                16,
                top + CELL * 0.62,
                f"{'▸' if panel['collapsed'] else '▾'}  {panel['title']}",
                size=10.5,
                weight="bold",
            )
        else:
            _panel(figure, height, panel, _series(panel, asked, shown, variables), variables, shown)
    return _png(figure)


def save(folder: Path, name: str, png: bytes) -> None:
    """Write a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.png").write_bytes(png)


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
