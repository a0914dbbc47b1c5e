"""Where replay's records of the corpus differ from its truth, each with the reason that known.toml gives.

A difference without a reason is kept, without one: the page shows it as unexplained and a test fails.
"""

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from lanewatch.config.keys import Config
from lanewatch.replaying.lines import line_of
from lanewatch.replaying.playback import replay

from tests.corpus.scoring import Verdicts, judge

CORPUS = Path(__file__).resolve().parent
FINE = ("exact", "quiet", "hit")
BEGIN, END = "<!-- known: begin -->", "<!-- known: end -->"
UNEXPLAINED = "**unexplained**"


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why captures (patterns of STACK/SCENARIO) differ in these facets."""

    captures: tuple[str, ...]
    facets: tuple[str, ...]
    why: str
    missed: Literal["", "in_no_span", "defined_otherwise"] = ""  # why a divergence may be missed

    def tells(self, capture: str, facet: str, verdict: str) -> bool:
        """Whether this is the reason of a difference."""
        return (
            facet in self.facets
            and any(fnmatch(capture, pattern) for pattern in self.captures)
            and (verdict != "missed" or self.missed != "")
        )


Known = dict[Reason | None, dict[str, dict[str, str]]]


@cache
def verdicts(capture: str) -> Verdicts:
    """What the judge says of one capture."""
    line = json.loads(line_of(replay(CORPUS / capture, Config())))
    return judge(line, json.loads((CORPUS / capture / "truth.json").read_text()))


def captures(*stacks: str) -> list[str]:
    """STACK/SCENARIO of these stacks, of all where none is named."""
    paths = [path.parent for stack in stacks or ("*",) for path in sorted(CORPUS.glob(f"{stack}/*/truth.json"))]
    return [path.relative_to(CORPUS).as_posix() for path in paths]


def read_reasons() -> list[Reason]:
    """The entries of known.toml, in order."""
    table = tomllib.loads((CORPUS / "known.toml").read_text())
    return msgspec.convert(table["reason"], list[Reason])


def known(seen: Mapping[str, Verdicts], reasons: list[Reason]) -> Known:
    """By reason (None: without one), what differs: facet and verdict of each capture. Every reason is there."""
    found: Known = {reason: defaultdict(dict) for reason in (*reasons, None)}
    for capture, facets in seen.items():
        for facet, verdict in facets.items():
            if verdict not in FINE:
                reason = next((one for one in reasons if one.tells(capture, facet, verdict)), None)
                found[reason][capture][facet] = verdict
    return found


def table(found: Known) -> Iterator[str]:
    """One row a reason and way of differing."""
    yield from ("| captures | what differs | why |", "|---|---|---|")
    for reason, differences in found.items():
        alike: dict[str, list[str]] = defaultdict(list)
        for capture, facets in differences.items():
            alike[", ".join(f"{facet} {verdict}" for facet, verdict in facets.items())].append(f"`{capture}`")
        for index, (what, names) in enumerate(alike.items()):
            how = f"missed ({reason.missed.replace('_', ' ')})" if reason is not None and reason.missed else "missed"
            why = UNEXPLAINED if reason is None else "as above" if index else reason.why
            yield f"| {', '.join(names)} | {what.replace('missed', how)} | {why} |"


def page(text: str, found: Known) -> str:
    """KNOWN.md with its table made anew."""
    rows = "\n".join(table(found))
    head, rest = text.split(BEGIN, 1)
    return f"{head}{BEGIN}\n{rows}\n{END}{rest.split(END, 1)[1]}"
