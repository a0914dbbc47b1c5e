"""Pictures: every panel is asked and drawn, what has no answer says so, and the file is small."""

import io
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from dashboards.canvas import Series
from dashboards.drawing import DRAWN, draw
from dashboards.pictures import PIXELS_WIDE, Asked, Shown, picture
from dashboards.queries import Span, panels, targets
from tests.contracts.source_tree import ROOT
from tests.dashboards.pages import EVERY, PAGES

LABELS = {
    "service": "shop",
    "tool": "search",
    "boundary": "dispatch",
    "kind": "arguments",
    "signal": "latency",
    "state": "ok",
    "bin": "(1, 2]",
    "metric": "faithfulness",
    "evaluator": "ragas",
    "instance": "127.0.0.1:9464",
}
VALUES = {
    variable["name"]: EVERY for page in PAGES.values() for variable in page["templating"]["list"] if "name" in variable
}
SHOWN = Shown(end=1_000_060.0, span=Span(length=60, step=20, scrape=5), values=VALUES)


class Recorded:
    """A server that answers everything with two series, and remembers what it was asked."""

    def __init__(self, *, silent: bool = False) -> None:
        self.asked: list[str] = []
        self._labels = [] if silent else [LABELS, {**LABELS, "service": "support", "bin": "> 2", "tool": "refund"}]

    def instant(self, expr: str, at: float) -> list[dict[str, Any]]:
        """One value each."""
        self.asked.append(expr)
        return [{"metric": labels, "value": [at, "0.5"]} for labels in self._labels]

    def over_time(self, expr: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        """A value at each step."""
        self.asked.append(expr)
        times = [start + number * step for number in range(int((end - start) / step) + 1)]
        return [{"metric": labels, "values": [[at, "0.5"] for at in times]} for labels in self._labels]


def drawn(name: str, *, silent: bool = False) -> tuple[bytes, list[str]]:
    """(PNG, what was asked) of a dashboard."""
    server = Recorded(silent=silent)
    return picture(PAGES[name], Asked(server.instant, server.over_time), SHOWN), server.asked


@pytest.mark.parametrize("name", ["drift"])
def test_a_picture_asks_every_open_panel_and_is_small(name: str) -> None:
    """Below 150 kB, as wide as it says."""
    png, asked = drawn(name)
    unfolded = {one.expr for panel in PAGES[name]["panels"] for one in targets({"title": "", "panels": [panel]})}

    assert len(asked) >= len(unfolded) > 10
    assert len(png) < 150_000
    with Image.open(io.BytesIO(png)) as image:
        assert image.width == PIXELS_WIDE


def text_of(area: Axes) -> list[str]:
    """What is written in an area."""
    return [one.get_text() for one in area.texts]


@pytest.mark.parametrize("kind", DRAWN)
def test_a_panel_without_an_answer_says_so(kind: str) -> None:
    """Of each kind; an empty area would look like 0."""
    panel = next(one for page in PAGES.values() for one in panels(page) if one["type"] == kind)
    area = Figure().add_subplot()
    draw(panel, [], area, (0.0, 1.0))

    (said,) = text_of(area)
    assert said in (panel["fieldConfig"]["defaults"].get("noValue"), "No data")


def test_a_tile_shows_its_value_in_words_where_there_are_some() -> None:
    """Else with its unit."""
    panel = next(one for one in panels(PAGES["overview"]) if one["title"] == "Drift")
    for value, expected in ((1.0, "watching"), (0.0, "learning"), (0.5, "50 %")):
        area = Figure().add_subplot()
        draw(panel, [Series("A", {}, "__auto", [0.0], [value])], area, (0.0, 1.0))

        assert text_of(area) == [expected]


def test_rows_of_a_table_with_the_same_labels_are_one() -> None:
    """As Grafana's merge makes them: a column for each query."""
    panel = next(one for one in panels(PAGES["drift"]) if one["type"] == "table")
    refs = [target["refId"] for target in panel["targets"]]
    series = [Series(ref, {"signal": "latency"}, "", [0.0], [number]) for number, ref in enumerate(refs)]
    area = Figure().add_subplot()
    draw(panel, series, area, (0.0, 1.0))
    (table,) = area.tables
    cells = {place: cell.get_text().get_text() for place, cell in table.get_celld().items()}

    assert {row for row, _ in cells} == {0, 1}
    assert [cells[1, column] for column in range(len(refs))] == ["latency", "1", "2", "3", "4", "5", "6"]


def test_no_kind_of_panel_lacks_a_drawing() -> None:
    """A new kind in a dashboard needs one."""
    assert {panel["type"] for page in PAGES.values() for panel in panels(page)} == set(DRAWN)


def test_a_row_without_an_answer_is_its_heading_alone() -> None:
    """It says that there is no data; the rows below it move up."""
    full, _ = drawn("drift")
    empty, _ = drawn("drift", silent=True)
    with Image.open(io.BytesIO(full)) as whole, Image.open(io.BytesIO(empty)) as headings:
        assert headings.height < whole.height / 5


def test_a_variable_without_a_value_is_an_error() -> None:
    """It would ask for something else than Grafana does."""
    server = Recorded()
    shown = Shown(SHOWN.end, SHOWN.span, {})

    with pytest.raises(KeyError):
        picture(PAGES["drift"], Asked(server.instant, server.over_time), shown)


def test_the_pictures_in_the_repository_are_small_and_shown() -> None:
    """One a dashboard, below 150 kB, linked from the page of the dashboards; the Overview stands in the README."""
    committed = {path.stem: path for path in (ROOT / "docs" / "pictures").glob("*.png")}
    page, readme = (ROOT / "docs" / "dashboards.md").read_text(), (ROOT / "README.md").read_text()

    assert set(committed) == set(PAGES)
    assert {name: path.stat().st_size for name, path in committed.items() if path.stat().st_size >= 150_000} == {}
    assert [name for name in committed if f"(pictures/{name}.png)" not in page] == []
    assert "(docs/pictures/overview.png)" in readme


def test_a_panel_that_is_repeated_is_drawn_for_each_value() -> None:
    """Side by side, as many as Grafana puts into a line; each is asked for its own value."""
    page = {**PAGES["retrieval-generation"]}
    repeated = [one for one in page["panels"] if one.get("repeat") == "generation_score"]
    heading = next(one for one in page["panels"] if one["type"] == "row")
    server = Recorded()
    picture({**page, "panels": [heading, *repeated]}, Asked(server.instant, server.over_time), SHOWN)

    assert len(repeated) == 1
    assert [expr for expr in server.asked if expr.startswith("count by (metric) (lanewatch_score_count")] != []
    assert any('metric=~"faithfulness"' in expr for expr in server.asked)
