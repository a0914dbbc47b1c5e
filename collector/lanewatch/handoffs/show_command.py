"""`lanewatch show`: the handoff of a trace, read back for whoever looks into it."""

import sys
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from lanewatch.config.keys import Config
from lanewatch.handoffs.file import find
from lanewatch.handoffs.handoff import Handoff
from lanewatch.record_json import encode
from lanewatch.replaying.report import trace_report
from lanewatch.shown_text import shown, shown_path, write_json_line

SHORTEST_ID = 4  # hexadecimal digits; fewer fit too many traces


class ShowFault(ValueError):  # noqa: N818 - wrong input, told to a person
    """Nothing can be shown; `str()` says why and what to do."""


def show(trace_id: str, path: Path | None, config: Config, *, as_json: bool) -> None:
    """Print the latest handoff of each trace whose id begins so. Raises ShowFault."""
    wanted = trace_id.strip().lower()
    if len(wanted) < SHORTEST_ID or not set(wanted) <= set("0123456789abcdef"):
        raise ShowFault(f"{shown(trace_id)!r} is no trace id: give at least {SHORTEST_ID} of its hexadecimal digits")
    file = path or (Path(config.handoff.file) if config.handoff.file else None)
    if file is None:
        raise ShowFault("no file of handoffs is configured: set handoff.file (LANEWATCH_HANDOFF_FILE), or give --file")
    try:
        found = find(file, wanted, config.handoff.kept)
    except OSError as error:
        raise ShowFault(f"{shown_path(file)}: {error.strerror}") from None
    if found.damaged:
        print(f"lanewatch: {found.damaged} damaged lines of this trace were passed over", file=sys.stderr)  # noqa: T201 - a command's own output
    if not found.files:
        raise ShowFault(f"{shown_path(file)}: no such file; the sidecar makes it with the first handoff")
    if not found.handoffs:
        raise ShowFault(
            "no handoff of this trace: its lanes pass, it was not closed yet, or its line was rotated away "
            "(handoff.max_bytes, handoff.kept)"
        )
    latest = {handoff.trace_id: handoff for handoff in found.handoffs}
    for handoff in latest.values():
        if as_json:
            write_json_line(encode(handoff))
        else:
            Console(highlight=False).print(_report(handoff))
    sys.stdout.flush()


def _report(handoff: Handoff) -> RenderableType:
    """What the replay's report tells of the trace, and by which rules it was judged."""
    key = f"key {shown(handoff.redaction_key)}" if handoff.redaction_key else "no key: hidden values can't be compared"
    rules = Text(
        f"  registry  {shown(handoff.registry)}   policies  {shown(handoff.policies or 'none')}   redaction {key}",
        "dim",
    )
    return Group(trace_report(handoff.observation, handoff.handoffs), rules)
