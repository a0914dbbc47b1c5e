"""`lanewatch adapters`: which producers there are, and what one of them loses or invents, by convention and shape."""

import contextlib
import time
from collections import defaultdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lanewatch.adapters.artifact_messages import OWN
from lanewatch.adapters.producer_process import ProducerLimits, ProducerProcess, ProducerUnavailable
from lanewatch.adapters.producers import UnknownProducerError, identify, producer_names
from lanewatch.config.keys import Config
from lanewatch.conformance.trial import Ending, Finding, OwnProducer, Producer, conformance, recordings
from lanewatch.junit import write_junit
from lanewatch.monitors.reference_calls import Agreement
from lanewatch.producing.reference_report import NAMES
from lanewatch.producing.reference_scores import Referenced, ReferenceScorer
from lanewatch.shown_text import shown

WORDS = {
    Ending.TRUE: ("true", "green"),
    Ending.UNTRUE: ("untrue", "bold red"),
    Ending.FAILED: ("fails", "bold red"),
    Ending.INCOMPLETE: ("can't tell", "dim"),
    Ending.NOT_TRIED: ("not tried", "yellow"),
}
WORST = [Ending.INCOMPLETE, Ending.TRUE, Ending.NOT_TRIED, Ending.UNTRUE, Ending.FAILED]  # of a row of several traces

# A trial is no live traffic: a producer that does not answer is started anew for the next shape, and never left alone.
LIMITS = ProducerLimits(rest_seconds=0)

__all__ = ["ProducerUnavailable", "UnknownProducerError", "list_producers", "test_producer"]


def list_producers() -> None:
    """Print the name and owner of each producer."""
    console = Console(highlight=False)
    for name in producer_names():
        console.print(f"{shown(name):<24}{shown(identify(name).owner)}", markup=False, soft_wrap=True)


def test_producer(name: str, config: Config, junit: Path | None, seconds: float) -> bool:
    """Try a producer and print what was found; True where it was asked for everything and told it truly.

    After `seconds` nothing more is tried; the trace under way still has the time limit of a call.

    Raises UnknownProducerError, ProducerUnavailable (with the remedy), OSError where the file can't be written.
    """
    identity = identify(name)
    with contextlib.ExitStack() as processes:
        scorer = processes.enter_context(contextlib.closing(ReferenceScorer(ProducerLimits(call_seconds=60))))
        producer: Producer = OwnProducer(config)
        if name != OWN:
            producer = process = processes.enter_context(contextlib.closing(ProducerProcess(name, LIMITS)))
            process.start()
        end = time.monotonic() + seconds
        findings = list(
            conformance(
                name,
                producer,
                recordings(config),
                lambda told, ran: scorer.scores(Referenced(told, ran)),
                in_time=lambda: time.monotonic() < end,
            )
        )
    console = Console(highlight=False)
    console.print(Text(f"{shown(name)}, owned by {shown(identity.owner)}", "bold"))
    console.print(_table(findings))
    console.print(trial_summary(findings))
    if any(one.scores is not None for one in findings):
        console.print(ragas_metrics(findings))
    if junit is not None:
        write_junit(junit, name, findings)
    return all(one.ending in (Ending.TRUE, Ending.INCOMPLETE) for one in findings)


def _table(findings: list[Finding]) -> Table:
    """One row a convention and shape; of several traces of one recording each is told."""
    table = Table("convention", "shape", "", "what is lost or invented", box=SIMPLE_HEAD)
    rows: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for one in findings:
        rows[one.convention, one.shape].append(one)
    for (convention, shape), ones in rows.items():
        worst = max((one.ending for one in ones), key=WORST.index)
        details = dict.fromkeys(detail for one in ones if one.ending is worst for detail in one.details)
        word, style = WORDS[worst]
        table.add_row(convention, shape, Text(word, style), Text(shown("; ".join(details), 1_000)))
    return table


def ragas_metrics(findings: list[Finding]) -> Text:
    """What Ragas' tool metrics would have said of the same artifacts, with what ran as the reference."""
    scores = [one.scores for one in findings if one.scores is not None]
    missing = next((one.reason for one in scores if one.agreement is Agreement.UNSUPPORTED), None)
    if missing is not None:
        return Text(f"Ragas' tool metrics beside it: unsupported: {shown(missing)}", "dim")
    told = ", ".join(f"{NAMES[metric]} {sum(metric in one.right for one in scores)}" for metric in NAMES)
    disagree = sum(one.agreement is Agreement.DISAGREE for one in scores)
    count = f"{len(scores)} artifact{'s' * (len(scores) != 1)}"
    return Text(
        f"Ragas' tool metrics beside it: of {count} with other calls than ran they call right: {told}; "
        f"they disagree on {disagree}",
        "yellow" if any(one.right for one in scores) else "",
    )


def trial_summary(findings: list[Finding]) -> Text:
    """How many traces ended how, and what is not known."""
    counts = {ending: sum(1 for one in findings if one.ending is ending) for ending in Ending}
    judged = len(findings) - counts[Ending.INCOMPLETE] - counts[Ending.NOT_TRIED]
    text = f"{counts[Ending.TRUE]} of {judged} traces told truly, {counts[Ending.UNTRUE]} not, {counts[Ending.FAILED]} failed"
    if counts[Ending.INCOMPLETE]:
        text += f"; {counts[Ending.INCOMPLETE]} more don't show enough to tell"
    if counts[Ending.NOT_TRIED]:
        text += f"; {counts[Ending.NOT_TRIED]} more were not tried (--seconds gives the trial more time)"
    whole = counts[Ending.TRUE] == judged and not counts[Ending.NOT_TRIED]
    return Text(text, "bold green" if whole else "bold red")
