"""Writes the tables of README.md from what the code declares, so that the two can't differ; `--check` only compares."""

import sys
from collections.abc import Iterator
from pathlib import Path

from lanewatch.collector.outcomes import OUTCOMES
from lanewatch.collector.spans import RejectReason
from lanewatch.config_reference import describe
from lanewatch.monitors.exposition import FIXED, METRICS
from lanewatch.parts import COUNTS, GAUGES

README = Path(__file__).parent.parent / "README.md"


def metrics() -> Iterator[str]:
    """Every series: name, labels, meaning."""
    yield from ("| metric | labels | meaning |", "|---|---|---|")
    declared = [(f"{m.name}_total", m.labels, m.help) for m in COUNTS]
    declared += [(f"{name}_total", labels, text) for name, (text, labels) in {**METRICS, **FIXED}.items()]
    declared += [(name, (), text) for name, text in GAUGES.items()]
    for name, labels, text in sorted(declared):
        yield f"| `{name}` | {', '.join(labels) or '-'} | {text} |"


def limits() -> Iterator[str]:
    """Every setting: key, default, meaning."""
    yield from ("| setting | default | meaning |", "|---|---|---|")
    for row in describe():
        yield f"| `{row.name}` | {row.default or '-'} | {row.meaning} |"


def reasons() -> Iterator[str]:
    """Why requests are refused and spans rejected, and what to do."""
    yield from ("| reason | HTTP | what it means | what to do |", "|---|---|---|---|")
    for reason, outcome in OUTCOMES.items():
        yield f"| `{reason}` | {outcome.http_status} | {outcome.summary} | {outcome.remedy} |"
    yield ""
    yield (
        "A span or log record that is rejected alone (the rest of its request is kept) has one of: "
        + ", ".join(f"`{reason}`" for reason in RejectReason)
        + "."
    )


TABLES = {"metrics": metrics, "limits": limits, "reasons": reasons}


def built(text: str) -> str:
    """The README with its tables made anew."""
    for name, rows in TABLES.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        table = "\n".join(rows())
        head, rest = text.split(begin, 1)
        text = f"{head}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}"
    return text


def main() -> int:
    """Exit status 1 where `--check` finds a difference."""
    text = README.read_text()
    new = built(text)
    if "--check" in sys.argv:
        return int(new != text)
    README.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
