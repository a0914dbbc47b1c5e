"""Values as Grafana writes them: units, names of series, colours.

Covers what the dashboards use; a unit that is not here is an error, so that a picture never shows a bare number for something
that has a unit.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

COLOURS = {
    "green": "#4a9a40",
    "orange": "#f2891b",
    "red": "#d92d43",
    "blue": "#2f6fd0",
    "purple": "#9650bd",
}
PALETTE = (
    "#4a9a40", "#e0b400", "#3aa6c9", "#f2891b", "#d92d43", "#2f6fd0", "#9650bd", "#7a5b3a", "#b877d9", "#5f7a8a",
    "#c15c17", "#447ebc",
)  # fmt: skip
RATES = {"cpm": "/min", "cps": "/s", "reqps": " req/s"}
_LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_SECONDS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
HUGE, TINY = 1e12, 1e-4  # beyond them powers of ten tell more than zeros
TOLD_EXACTLY = 100  # from here on no decimals


def written(value: float, unit: str) -> str:
    """A value with its unit. Raises LookupError for a unit that is not known here."""
    if math.isnan(value):
        return "NaN"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "bytes":
        return _bytes(value)
    if unit == "s":
        return _seconds(value)
    if unit == "currencyUSD":
        return f"${value:.3g}"
    if unit in RATES:
        return f"{_short(value)}{RATES[unit]}"
    if unit in ("short", "none"):
        return _short(value)
    msg = f"no way to write the unit {unit}"
    raise LookupError(msg)


def named(legend: str, labels: Mapping[str, str]) -> str:
    """What a series is called; all of its labels where nothing says."""
    if legend == "__auto" or not legend:
        return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()) if name != "__name__") or "value"
    return _LABEL.sub(lambda found: labels.get(found[1], ""), legend)


def colour(name: str) -> str:
    """A colour by Grafana's name, or as it stands."""
    return COLOURS.get(name, name)


def by_threshold(value: float, steps: Sequence[Mapping[str, Any]]) -> str:
    """The colour of the last step that the value reaches."""
    reached = [step for step in steps if step["value"] is None or value >= step["value"]]
    return colour(reached[-1]["color"]) if reached else COLOURS["blue"]


def _short(value: float) -> str:
    if abs(value) >= HUGE or 0 < abs(value) < TINY:
        return f"{value:.0e}"
    for size, letter in _STEPS:
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    if value == int(value) or abs(value) >= TOLD_EXACTLY:
        return f"{value:.0f}"
    return f"{value:.2g}"


def _bytes(value: float) -> str:
    for power, name in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if abs(value) >= 1024**power:
            return f"{value / 1024**power:.3g} {name}"
    return f"{value:.0f} B"


def _seconds(value: float) -> str:
    for size, name in _SECONDS:
        if abs(value) >= size:
            return f"{value / size:.3g} {name}"
    return "0 s" if value == 0 else f"{value * 1000:.3g} ms"
