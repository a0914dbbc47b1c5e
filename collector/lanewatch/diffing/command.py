"""`lanewatch diff`: two files of records side by side, and where what an evaluator was given differs from what ran."""

import contextlib
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.json_text import is_exact
from lanewatch.adapters.worker_process import WorkerLimits
from lanewatch.diffing.json_files import RecordFault, read_json
from lanewatch.diffing.record_files import INEXACT, Ran, read_artifact, read_dispatches, read_reference
from lanewatch.monitors.artifact_divergence import compare_calls
from lanewatch.monitors.artifact_outcomes import (
    HIDDEN_ARGUMENTS,
    HIDDEN_RESULTS,
    UNKNOWN_ARGUMENTS,
    UNKNOWN_RUN,
    ArtifactOutcome,
    Compared,
)
from lanewatch.monitors.divergence import Divergence, Kind
from lanewatch.monitors.reference_calls import ReferenceCompared
from lanewatch.producing.reference_report import reference_lines
from lanewatch.producing.reference_scores import Referenced, ReferenceScorer
from lanewatch.record_json import encode
from lanewatch.replaying.lines import divergence_dict, reference_dict
from lanewatch.replaying.report import ADVICE, side
from lanewatch.shown_text import shown, write_json_line

PATIENT = WorkerLimits(call_seconds=60)  # somebody waits for it, and nothing else does
WORST_FIRST = (ArtifactOutcome.DIVERGENT, ArtifactOutcome.INCOMPLETE, ArtifactOutcome.UNSUPPORTED)
SIGNS = {Kind.MISSING: "-", Kind.UNEXPECTED: "+"}
DOUBTS = {
    UNKNOWN_ARGUMENTS: "a call's arguments were not recorded, on one side or the other",
    UNKNOWN_RUN: "whether a call's body ran is not known",
    HIDDEN_ARGUMENTS: "arguments hold values that are hidden, and no tokens that compare",
    HIDDEN_RESULTS: "results hold values that are hidden, and no tokens that compare",
}
WORDS = {Kind.NAME: "told as another tool", Kind.ARGUMENTS: "told with other arguments"}


def diff_files(
    dispatches: Path, artifact: Path, reference: Path | None, *, strict: bool, as_json: bool
) -> ArtifactOutcome:
    """Print the differences, and tell the verdict: `incomplete` and `unsupported` are no pass. Raises RecordFault for a file
    that can't be read.

    With reference calls, in a file of their own or in the artifact's, the artifact is held against these too, and the
    worse of the two verdicts is told.
    """
    ran = read_dispatches(read_json(dispatches))
    told = read_json(artifact)
    given = read_artifact(told, strict=strict)
    expected = read_reference(told if reference is None else read_json(reference), needed=reference is not None)
    compared = compare_files(ran, given)
    against = None if expected is None else _against(given, expected)
    if as_json:
        found: dict[str, Any] = {"outcome": compared.verdict, "reason": compared.reason, "ran": ran.count}
        found["divergences"] = [divergence_dict(one) for one in compared.divergences]
        found |= {} if against is None else {"reference": reference_dict(against)}
        write_json_line(encode(found))
    else:
        console = Console(highlight=False)
        _print(compared, ran.count, console)
        for line in () if against is None else reference_lines(against):
            console.print(line, soft_wrap=True)
    verdicts = {compared.verdict, *(() if against is None else (against.compared.verdict,))}
    return next((one for one in WORST_FIRST if one in verdicts), ArtifactOutcome.EQUAL)


def compare_files(ran: Ran, given: Artifact) -> Compared:
    """Compare what was read, for which only complete evidence will do."""
    told = (call["args"] for message in given.messages for call in message.get("tool_calls") or ())
    weak = dict.fromkeys((*ran.weak, *(() if all(map(is_exact, told)) else (INEXACT,))))
    if weak:
        return Compared(given.producer, ArtifactOutcome.INCOMPLETE, (), ", ".join(weak), given.owner)
    return compare_calls(ran.calls, given, ran.spans)


def _against(given: Artifact, expected: tuple[dict[str, Any], ...]) -> ReferenceCompared:
    with contextlib.closing(ReferenceScorer(PATIENT)) as scorer:
        return scorer.compare(Referenced(given, expected))


def _print(compared: Compared, ran: int, console: Console) -> None:
    for one in compared.divergences:
        console.print(_line(one), soft_wrap=True)
    count = len(compared.divergences)
    calls = f"{ran} call{'' if ran == 1 else 's'} ran"
    for doubt in compared.doubts:
        console.print(Text(f"? {DOUBTS[doubt]}", "yellow"), soft_wrap=True)
    if count:
        console.print(Text(f"{calls}; {count} difference{'' if count == 1 else 's'}", "bold red"))
    elif compared.verdict is ArtifactOutcome.EQUAL:
        console.print(Text(f"{calls}; the artifact tells them truly", "green"))
    else:
        console.print(Text(f"{calls}; {compared.verdict}: {compared.reason}", "yellow"))


def _line(one: Divergence) -> Text:
    line = Text(f"{SIGNS.get(one.kind, '~')} {one.kind:<14}", "bold red").append(shown(one.tool), "bold")
    if one.kind in SIGNS or one.kind is Kind.ATTEMPTS:
        value = one.artifact if one.artifact is not None else one.dispatched
        line.append(f" {shown(value)}")
    if one.call_id:
        line.append(f"  {shown(one.call_id)}", "dim")
    line.append(f"  {WORDS.get(one.kind) or ADVICE.get(one.kind, one.kind)}")
    if one.reason:
        line.append(f" ({shown(one.reason)})")
    if one.path is not None or one.kind in (Kind.NAME, Kind.ORDER):
        line.append(f"\n    at {shown(one.path)}" if one.path is not None else "\n   ")
        line.append(" ran ").append(side(one, "dispatched"), "green").append(", told ").append(
            side(one, "artifact"), "red"
        )
    return line


__all__ = ["ArtifactOutcome", "RecordFault", "diff_files"]
