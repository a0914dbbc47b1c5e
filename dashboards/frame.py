"""What all dashboards have in common: variables, links to each other and to the runbook, and panels placed in rows.

Invariants: no numeric id of a dashboard, ids of panels by their order, a fixed uid; nobody edits a dashboard in Grafana, since
it is built here.
"""

from collections.abc import Iterator, Sequence

import msgspec
from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as model

from dashboards.panels import DATASOURCE, RUNBOOK, PanelBuilder

WIDTH = 24  # columns of Grafana's grid
RUNBOOK_ADDRESS = "deploy/prometheus/runbook.md"  # as the alerts have it: put the address of your copy before it
TAG = "lanewatch"


class Placed(msgspec.Struct, frozen=True):
    """A panel and its size on the grid, of 24 columns and rows of 30 pixels."""

    panel: PanelBuilder
    width: int
    height: int


class Row(msgspec.Struct, frozen=True):
    """Panels under one heading, from left to right; a further line begins where the width is used up. `folded`: its panels ask
    nothing before somebody opens it.
    """

    title: str
    panels: Sequence[Placed]
    folded: bool = False


def query_variable(
    name: str, label: str, query: str, *, every: bool = True, description: str = ""
) -> dashboard.QueryVariable:
    """A variable whose values Prometheus has: `label_values(metric, label)`; several at once, or all, where `every`."""
    asked: dict[str, object] = {"qryType": 1, "query": query, "refId": f"variable-{name}"}
    built = dashboard.QueryVariable(name).label(label).query(asked).datasource(DATASOURCE)
    built = built.refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(model.VariableSort.ALPHABETICAL_ASC)
    built = built.description(description) if description else built
    if not every:
        return built.multi(False).include_all(False)
    everything = model.VariableOption(selected=True, text=["All"], value=["$__all"])
    return built.multi(True).include_all(True).all_value(".+").current(everything)


def service(*, every: bool = True) -> dashboard.QueryVariable:
    """The watched applications."""
    query = "label_values(lanewatch_lane_status_total, service)"
    return query_variable("service", "Service", query, every=every)


def framed(
    uid: str,
    title: str,
    description: str,
    variables: Sequence[dashboard.QueryVariable],
    rows: Sequence[Row],
) -> model.Dashboard:
    """A dashboard; `title` goes behind the product's name."""
    built = dashboard.Dashboard(f"Lanewatch / {title}").uid(uid).description(description).tags([TAG]).readonly()
    built = built.time("now-6h", "now").refresh("1m").timezone("browser").tooltip(model.DashboardCursorSync.CROSSHAIR)
    source = dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
    address = dashboard.ConstantVariable("runbook").label("Address of the runbook").value(RUNBOOK_ADDRESS)
    for variable in (source, *variables, address):
        built = built.with_variable(variable)
    others = dashboard.DashboardLink("Lanewatch").type(model.DashboardLinkType.DASHBOARDS).tags([TAG])
    others = others.as_dropdown(False).include_vars(True).keep_time(True)
    pages = dashboard.DashboardLink("Runbook").type(model.DashboardLinkType.LINK).url(RUNBOOK).target_blank(True)
    built = built.links([others, pages])
    page = built.build()
    page.panels = list(_placed(rows))
    return page


def _placed(rows: Sequence[Row]) -> Iterator[model.Panel | model.RowPanel]:
    number, top = 0, 0
    for row in rows:
        number += 1
        heading = dashboard.Row(row.title).id(number).grid_pos(model.GridPos(h=1, w=WIDTH, x=0, y=top)).build()
        heading.collapsed = row.folded
        top += 1
        panels = []
        left, tallest, line = 0, 0, top
        for placed in row.panels:
            if left + placed.width > WIDTH:
                left, line, tallest = 0, line + tallest, 0
            number += 1
            place = model.GridPos(h=placed.height, w=placed.width, x=left, y=line)
            panels.append(placed.panel.id(number).grid_pos(place).build())
            left, tallest = left + placed.width, max(tallest, placed.height)
        yield heading
        if row.folded:
            heading.panels = panels
        else:
            yield from panels
            top = line + tallest
