"""What all drawings of panels share: the answers that they show, sizes and inks, and what a panel's JSON says of both."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from matplotlib.axes import Axes

from dashboards.shown import colour, named

Panel: TypeAlias = Mapping[str, Any]
INK, FAINT, RULE = "#1f2430", "#6b7280", "#e5e7eb"
SMALL, MIDDLE = 7.5, 8.5  # points
LONGEST = 40  # letters of a name


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


def unit_of(panel: Panel) -> str:
    """Of its values."""
    return str(panel["fieldConfig"]["defaults"].get("unit", "short"))


def steps_of(panel: Panel) -> list[Any]:
    """Its thresholds."""
    return list(panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", ()))


def say_nothing(panel: Panel, area: Axes) -> None:
    """Where nothing was answered: what the panel says then."""
    text = panel["fieldConfig"]["defaults"].get("noValue", "No data")
    area.axis("off")
    area.text(0.5, 0.5, text, ha="center", va="center", color=FAINT, fontsize=11, transform=area.transAxes)


def fixed_colours(panel: Panel) -> dict[str, str]:
    """Colours that overrides give to names."""
    found = {}
    for one in panel["fieldConfig"].get("overrides", ()):
        for chosen in one["properties"]:
            if chosen["id"] == "color":
                found[one["matcher"]["options"]] = colour(chosen["value"]["fixedColor"])
    return found


def cut(text: str, longest: int = LONGEST) -> str:
    """A name that would be too long, with an ellipsis."""
    return text if len(text) <= longest else text[: max(longest - 1, 1)] + "…"
