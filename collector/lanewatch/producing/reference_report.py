"""An artifact against reference calls, as lines to read: our own verdict, and Ragas' tool metrics beside it."""

from collections.abc import Iterator

from rich.text import Text

from lanewatch.monitors.artifact_outcomes import ArtifactOutcome
from lanewatch.monitors.divergence import Divergence, Kind
from lanewatch.monitors.reference_calls import Agreement, RagasToolScores, ReferenceCompared
from lanewatch.shown_text import shown

WORDS = {
    Kind.MISSING: "expected, and not called",
    Kind.UNEXPECTED: "called, and not expected",
    Kind.NAME: "another tool was called",
    Kind.ARGUMENTS: "called with other arguments",
    Kind.ATTEMPTS: "called another number of times than expected",
    Kind.ORDER: "called in another order than expected",
    Kind.REPRESENTATION: "called with a value in another form, which a strict consumer takes for another one",
}
NAMES = {
    "tool_call_f1": "ToolCallF1",
    "tool_call_accuracy": "ToolCallAccuracy",
    "tool_call_accuracy_flexible": "ToolCallAccuracy in any order",
}


def reference_lines(one: ReferenceCompared) -> Iterator[Text]:
    """Its lines, without an indent."""
    verdict, count = one.compared.verdict, len(one.compared.divergences)
    line = Text(f"reference calls ({shown(one.producer)}): ")
    if verdict in (ArtifactOutcome.EQUAL, ArtifactOutcome.DIVERGENT):
        equal = verdict is ArtifactOutcome.EQUAL
        yield line.append("called as expected" if equal else f"{count} difference{'s' * (count != 1)}", _style(equal))
    else:
        yield line.append(f"{verdict}: {one.compared.reason}", "yellow")
    for difference in one.compared.divergences:
        yield Text("  ").append(_difference(difference))
    yield _scores(one.scores)


def _style(good: bool) -> str:
    return "green" if good else "bold red"


def _difference(one: Divergence) -> Text:
    line = Text(f"{one.kind} ", "bold red").append(f"{shown(one.tool)}: {WORDS.get(one.kind, one.kind)}")
    if one.reason:
        line.append(f" ({shown(one.reason)})")
    place = f" at {shown(one.path)}" if one.path else ""
    sides = {"expected": (Kind.UNEXPECTED, one.dispatched), "called": (Kind.MISSING, one.artifact)}
    told = [f"{side} {shown(value)}" for side, (without, value) in sides.items() if one.kind is not without]
    return line.append(f"{place}: {', '.join(told)}")


def _scores(scores: RagasToolScores) -> Text:
    line = Text("  Ragas: ")
    told = [f"{NAMES[name]} {value:g}" for name, value in scores.values.items() if value is not None]
    line.append(", ".join(told))
    if scores.agreement is Agreement.DISAGREE:
        right = " and ".join(NAMES[name] for name in scores.right)
        line.append(f"; they disagree: only {right} call{'s' * (len(scores.right) == 1)} it right", "bold yellow")
    elif scores.reason:
        line.append(f"{'; ' * bool(told)}{scores.agreement}: {shown(scores.reason)}", "yellow")
    return line
