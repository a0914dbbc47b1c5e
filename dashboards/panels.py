"""Panels of each kind in one style: what a dashboard says of a panel is its title, what it means, and what it asks.

Invariants: every panel has a description, a unit and the dashboard's datasource; whatever an alert goes by links to that
alert's section of the runbook.
"""

from collections.abc import Sequence
from typing import Protocol, Self, TypeAlias, TypeVar

import msgspec
from grafana_foundation_sdk.builders import barchart, bargauge, common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder as Built
from grafana_foundation_sdk.cog.variants import Dataquery as AnyQuery
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

GREEN, ORANGE, RED, BLUE, PURPLE, GREY = "green", "orange", "red", "blue", "purple", "#8e8e8e"
DATASOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
RUNBOOK = "${runbook}"
SHARE_THRESHOLDS = ((None, RED), (0.8, ORANGE), (0.95, GREEN))  # of what should be 1
FAULT_THRESHOLDS = (
    (None, GREEN),
    (0.01, ORANGE),
    (0.05, RED),
)  # of what should be 0; 5 % is LanewatchRuntimeDivergence's line
COUNT_THRESHOLDS = ((None, GREEN), (1, ORANGE))  # of what should not happen
Thresholds: TypeAlias = Sequence[tuple[float | None, str]]


class PanelBuilder(Protocol):
    """What the SDK's builders of panels have in common."""

    def id(self, id_val: int) -> Self:
        """Its number in the dashboard."""

    def title(self, title: str) -> Self:
        """What stands above it."""

    def description(self, description: str) -> Self:
        """What it means."""

    def datasource(self, datasource: model.DataSourceRef) -> Self:
        """Where its data comes from."""

    def grid_pos(self, grid_pos: model.GridPos) -> Self:
        """Its place."""

    def links(self, links: list[Built[model.DashboardLink]]) -> Self:
        """Where to read on."""

    def targets(self, targets: list[Built[AnyQuery]]) -> Self:
        """What it asks."""

    def unit(self, unit: str) -> Self:
        """Of its values."""

    def thresholds(self, thresholds: Built[model.ThresholdsConfig]) -> Self:
        """Values at which the colour changes."""

    def no_value(self, no_value: str) -> Self:
        """What is shown where there is no data."""

    def build(self) -> model.Panel:
        """The panel."""


Builder = TypeVar("Builder", bound=PanelBuilder)


class Query(msgspec.Struct, frozen=True):
    """One expression, and how its series are called (`{{label}}` stands for a label's value)."""

    expr: str
    legend: str = ""
    exemplar: bool = False


class About(msgspec.Struct, frozen=True):
    """What is said of a panel: its title, what it means, its values' unit, and the alerts that go by the same."""

    title: str
    description: str
    unit: str = "short"
    alerts: tuple[str, ...] = ()


def lines(
    about: About,
    *queries: Query,
    low: float | None = 0,
    high: float | None = None,
    thresholds: Thresholds = (),
    powers: bool = False,
) -> timeseries.Panel:
    """Values over time, a line each; `low` and `high` are the ends of the scale, which is of powers of ten where `powers`."""
    panel = _over_time(about, queries, low=None if powers else low)
    if powers:
        panel = panel.scale_distribution(common.ScaleDistributionConfig().type(shapes.ScaleDistribution.LOG).log(10))
    if high is not None:
        panel = panel.max(high)
    if thresholds:
        style = common.GraphThresholdsStyleConfig().mode(shapes.GraphThresholdsStyleMode.DASHED)
        panel = panel.thresholds(_thresholds(thresholds)).thresholds_style(style)
    return panel


def stacked(about: About, *queries: Query, colours: dict[str, str] | None = None) -> timeseries.Panel:
    """Parts of a whole over time, each with a colour of its own where its name has one."""
    panel = _over_time(about, queries).fill_opacity(45).line_width(0)
    panel = panel.stacking(common.StackingConfig().mode(shapes.StackingMode.NORMAL).group("A"))
    for name, colour in (colours or {}).items():
        panel = panel.override_by_name(name, [_fixed(colour)])
    return panel


def with_interval(
    about: About,
    ratio: str,
    low: str,
    high: str,
    *,
    name: str = "share",
    top: float | None = 1,
    repeat: str = "",
    across: int = 1,
) -> timeseries.Panel:
    """An estimate over time as a line and its interval as a band, from three expressions of one series each.

    Grafana fills a band between two names, so a panel shows one series; `repeat` makes one panel for each value of a variable, so
    many `across`.
    """
    asked = (Query(ratio, name), Query(low, "low"), Query(high, "high"))
    panel = _over_time(about, asked).fill_opacity(0).line_width(2)
    if top is not None:
        panel = panel.max(top)
    bound = [
        model.DynamicConfigValue("custom.lineWidth", 0),
        model.DynamicConfigValue("custom.hideFrom", {"legend": True, "tooltip": False, "viz": False}),
        _fixed(BLUE),
    ]
    band = [model.DynamicConfigValue("custom.fillBelowTo", "low"), model.DynamicConfigValue("custom.fillOpacity", 20)]
    panel = panel.override_by_name(name, [_fixed(BLUE)])
    panel = panel.override_by_name("low", bound).override_by_name("high", [*bound, *band])
    if not repeat:
        return panel
    panel = panel.repeat(repeat)
    return panel.repeat_direction("h").max_per_row(across) if across > 1 else panel.repeat_direction("v")


def tile(
    about: About, query: Query, thresholds: Thresholds, *, empty: str = "no data", words: dict[str, str] | None = None
) -> stat.Panel:
    """The latest value in large figures, coloured by its threshold; `words` are shown in place of values."""
    panel = (
        _said(stat.Panel(), about, (_asked(query, "A").instant(),)).thresholds(_thresholds(thresholds)).no_value(empty)
    )
    panel = panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False))
    panel = panel.color_mode(shapes.BigValueColorMode.BACKGROUND_SOLID).graph_mode(shapes.BigValueGraphMode.NONE)
    panel = panel.text_mode(
        shapes.BigValueTextMode.VALUE_AND_NAME if "{{" in query.legend else shapes.BigValueTextMode.VALUE
    )
    if words:
        results = {value: model.ValueMappingResult(text=word) for value, word in words.items()}
        panel = panel.mappings([model.ValueMap(options=results)])
    return panel


def ranking(
    about: About,
    *queries: Query,
    thresholds: Thresholds = COUNT_THRESHOLDS,
    empty: str = "none",
    low: float = 0,
    high: float | None = None,
) -> bargauge.Panel:
    """Latest values as bars, a bar a series, the largest first where the expression sorts."""
    asked = [_asked(query, ref).instant() for ref, query in zip(_REFS, queries, strict=False)]
    panel = _said(bargauge.Panel(), about, asked).thresholds(_thresholds(thresholds)).no_value(empty)
    panel = panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False)).min(low)
    panel = panel if high is None else panel.max(high)
    return panel.orientation(shapes.VizOrientation.HORIZONTAL).display_mode(shapes.BarGaugeDisplayMode.BASIC)


def rows(
    about: About, columns: Sequence[tuple[str, Query]], *, hidden: Sequence[str] = (), sort: str = ""
) -> table.Panel:
    """A table of labels and values: (heading of the value's column, query) each; rows with the same labels are one."""
    asked = [
        _asked(query, ref).instant().format(PromQueryFormat.TABLE)
        for ref, (_, query) in zip(_REFS, columns, strict=False)
    ]
    values = {
        (f"Value #{ref}" if len(columns) > 1 else "Value"): heading
        for ref, (heading, _) in zip(_REFS, columns, strict=False)
    }
    panel = _said(table.Panel(), about, asked).no_value("none")
    panel = panel.with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
    out = {"excludeByName": dict.fromkeys(("Time", *hidden), True), "renameByName": values, "indexByName": {}}
    panel = panel.with_transformation(model.DataTransformerConfig(id_val="organize", options=out))
    return panel.sort_by([common.TableSortByFieldState().display_name(sort).desc(True)]) if sort else panel


def side_by_side(about: About, label: str, columns: Sequence[tuple[str, Query]]) -> barchart.Panel:
    """Bars in groups, a group for each value of a label, and in it one for each (name, query)."""
    asked = [
        _asked(query, ref).instant().format(PromQueryFormat.TABLE)
        for ref, (_, query) in zip(_REFS, columns, strict=False)
    ]
    panel = _said(barchart.Panel(), about, asked).x_field(label).x_tick_label_rotation(-30).min(0)
    panel = panel.with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
    values = {f"Value #{ref}": name for ref, (name, _) in zip(_REFS, columns, strict=False)}
    out = {"excludeByName": {"Time": True}, "renameByName": values, "indexByName": {}}
    panel = panel.with_transformation(model.DataTransformerConfig(id_val="organize", options=out))
    for (name, _), colour in zip(columns, (GREY, BLUE), strict=False):
        panel = panel.override_by_name(name, [_fixed(colour)])
    return panel.legend(_legend())


_REFS = "ABCDEFGH"


def _over_time(about: About, queries: Sequence[Query], *, low: float | None = 0) -> timeseries.Panel:
    asked = [_asked(query, ref).range() for ref, query in zip(_REFS, queries, strict=False)]
    panel = _said(timeseries.Panel(), about, asked).fill_opacity(8).line_width(1)
    panel = panel.show_points(shapes.VisibilityMode.AUTO)
    panel = panel if low is None else panel.min(low)
    tooltip = common.VizTooltipOptions().mode(shapes.TooltipDisplayMode.MULTI).sort(shapes.SortOrder.DESCENDING)
    return panel.legend(_legend()).tooltip(tooltip)


def _asked(query: Query, ref: str) -> prometheus.Dataquery:
    asked = prometheus.Dataquery().ref_id(ref).expr(query.expr).datasource(DATASOURCE)
    asked = asked.legend_format(query.legend or "__auto")
    return asked.exemplar(True) if query.exemplar else asked


def _said(panel: Builder, about: About, asked: Sequence[prometheus.Dataquery]) -> Builder:
    panel = (
        panel.title(about.title)
        .description(about.description)
        .unit(about.unit)
        .datasource(DATASOURCE)
        .targets(list(asked))
    )
    return panel.links([runbook(alert) for alert in about.alerts]) if about.alerts else panel


def runbook(alert: str) -> dashboard.DashboardLink:
    """Link to an alert's section."""
    address = f"{RUNBOOK}#{alert.lower()}"
    return (
        dashboard.DashboardLink(f"Runbook: {alert}").type(model.DashboardLinkType.LINK).url(address).target_blank(True)
    )


def _thresholds(steps: Thresholds) -> dashboard.ThresholdsConfig:
    built = [model.Threshold(value=value, color=colour) for value, colour in steps]
    return dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(built)


def _legend() -> common.VizLegendOptions:
    placed = common.VizLegendOptions().show_legend(True).placement(shapes.LegendPlacement.BOTTOM)
    return placed.display_mode(shapes.LegendDisplayMode.LIST)


def _fixed(colour: str) -> model.DynamicConfigValue:
    return model.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour})
