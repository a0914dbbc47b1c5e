"""The recordings that the demonstration plays, and how what they moved is shown.

They are export requests as the frameworks' own exporters sent them; nothing is read from the files but bytes.
"""

import gzip
import re
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec
from rich.console import Console
from rich.text import Text

from lanewatch.collector.outcomes import OUTCOMES, RefusalReason
from lanewatch.collector.spans import RejectReason
from lanewatch.handoffs.handoff import lane_handoffs
from lanewatch.monitors.tools import UNREGISTERED
from lanewatch.observation import Observation
from lanewatch.replaying.report import trace_report
from lanewatch.shown_text import shown_line

MOVED = (
    "lanewatch_tool_",
    "lanewatch_divergences",
    "lanewatch_responses",
    "lanewatch_spans_received",
    "lanewatch_lane_",
)


REASON = re.compile(r'lanewatch_(requests_refused|spans_rejected)_total\{reason="(\w+)"\}')
REJECTED = {reason.value: reason for reason in RejectReason}


class Story(msgspec.Struct, frozen=True):
    """One recording and what to look at in it."""

    folder: str
    title: str
    text: str


class Recorded(msgspec.Struct, frozen=True):
    """One export request: its file's name, its signal (traces or logs), and its protobuf body."""

    name: str
    signal: str
    body: bytes


STORIES = (
    Story("1_other_tool", "Another tool ran", "The model asked for cancel_sub; inside it the runtime ran cancel_subscription. (LlamaIndex, OpenInference)"),
    Story("2_dropped_call", "A dropped call", "Two calls were asked for, one ran: a guard stopped close_account, yet the answer says it was done. (LangChain, OpenLLMetry)"),
    Story("3_rewritten_arguments", "Rewritten arguments", "The model asked for a refund of 100, the runtime refunded 50. An evaluator is told of 100. (LangChain, OpenInference)"),
    Story("4_retry", "A retry", "The first run failed and the second succeeded: an error that was recovered is no failed outcome. (OpenAI, GenAI events as logs)"),
    Story("5_refusal", "A refusal", "The model refused by the API's own field, which most instrumentors drop. (OpenAI, OpenInference)"),
)  # fmt: skip


def requests_of(story: Story) -> list[Recorded]:
    """A story's requests, in the order in which they are sent."""
    folder: Traversable = files("lanewatch.demo") / "recordings" / story.folder
    return [
        Recorded(
            file.name.removesuffix(".gz"),
            "logs" if file.name.startswith("logs") else "traces",
            gzip.decompress(file.read_bytes()),
        )
        for file in sorted(folder.iterdir(), key=lambda entry: entry.name)
    ]


def tell(story: Story, observations: list[Observation], console: Console) -> None:
    """Print the story and what was found in it."""
    console.print()
    console.rule(Text(story.title, "bold"))
    console.print(Text(story.text, "italic"))
    for observation in sorted(observations, key=lambda o: (o.record.start_ns, o.record.trace_id)):
        record = observation.record
        if record.requests or record.dispatches or record.responses:
            console.print(trace_report(observation, lane_handoffs(observation, UNREGISTERED)))


def samples(text: str) -> dict[str, float]:
    """Every sample of a /metrics page, by its name and labels as they stand there."""
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def losses(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """What a sidecar did not take between two pages, each by its reason and with the remedy."""
    told = []
    for name, value in after.items():
        n = value - before.get(name, 0.0)
        found = REASON.fullmatch(name)
        if n <= 0 or found is None:
            continue
        if found[1] == "requests_refused" and found[2] in set(RefusalReason):
            outcome = OUTCOMES[RefusalReason(found[2])]
            told.append(f"It refused {n:g} request{'s' * (n != 1)}: {outcome.summary}. Remedy: {outcome.remedy}.")
        elif found[1] == "spans_rejected" and found[2] in REJECTED:
            told.append(f"It left {n:g} span{'s' * (n != 1)} out: {REJECTED[found[2]].meaning}.")
    return told


def tell_moved(before: dict[str, float], after: dict[str, float], console: Console) -> None:
    """Print the lines of /metrics that differ, of those that a story is about."""
    console.print(Text("\n  /metrics lines that this moved", "bold"))
    for name, value in after.items():
        if name.startswith(MOVED) and "_created" not in name and value != before.get(name, 0.0):
            console.print(Text(f"    {shown_line(name)} {value:g}"), soft_wrap=True)
