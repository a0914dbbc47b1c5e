"""The shipped rules as data: what is recorded, what alerts, and what an expression names."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
FILES = tuple(sorted(FOLDER.glob("*.rules.yml")))
TESTS = tuple(sorted(FOLDER.glob("*.rules.test.yml")))

_SELECTOR = re.compile(r"\b(up|lanewatch[\w:]*)\b(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_LIST = re.compile(r"\b(by|on|ignoring|without|group_left)\s*\(([^)]*)\)")


class Rule(msgspec.Struct, frozen=True):
    """One rule; `name` is the record's or the alert's."""

    name: str
    alert: bool
    expr: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    def selectors(self) -> list[tuple[str, tuple[tuple[str, str, str], ...]]]:
        """(metric, its (label, operator, value)) of each selector."""
        return [(metric, tuple(_MATCHER.findall(matchers or ""))) for metric, matchers in _SELECTOR.findall(self.expr)]

    def lists(self) -> list[tuple[str, frozenset[str]]]:
        """(keyword, labels) of each `by`, `on`, `ignoring`, `without` and `group_left`."""
        return [
            (keyword, frozenset(filter(None, re.split(r"[,\s]+", labels))))
            for keyword, labels in _LIST.findall(self.expr)
        ]


def document(path: Path) -> Any:
    """A YAML file."""
    return yaml.safe_load(path.read_text())


def rules() -> Iterator[Rule]:
    """Every rule of every file."""
    for path in FILES:
        for group in document(path)["groups"]:
            for rule in group["rules"]:
                kind = "alert" if "alert" in rule else "record"
                yield Rule(
                    rule[kind], kind == "alert", rule["expr"], rule.get("labels", {}), rule.get("annotations", {})
                )


RULES = tuple(rules())
ALERTS = tuple(rule for rule in RULES if rule.alert)
