"""Artifacts of replayed traces: made by producers, and read from a file as an evaluator would have pushed them."""

from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from lanewatch.adapters.producer_process import ProducerFailed, ProducerLimits
from lanewatch.adapters.producers import UnknownProducerError
from lanewatch.collector.outcomes import Refused
from lanewatch.diffing.json_files import RecordFault, read_lines
from lanewatch.monitors.tools import Registry
from lanewatch.observation import Observation, with_artifacts
from lanewatch.producing.producer_set import ProducerSet
from lanewatch.producing.reference_scores import Referenced, ReferenceScorer
from lanewatch.pushes.artifact_desk import ArtifactDesk, DeskLimits, Unclaimed
from lanewatch.pushes.artifact_push import parse_push
from lanewatch.pushes.outcome_box import BoxLimits, OutcomeBox
from lanewatch.pushes.outcome_push import parse_outcome
from lanewatch.replaying.playback import Replayed

PATIENT = DeskLimits(
    remembered_traces=2**40, remembered_bytes=2**50, waiting_artifacts=2**40, waiting_bytes=2**50, waiting_seconds=inf
)
PATIENT_BOX = BoxLimits(waiting=2**40, waiting_bytes=2**50, waiting_seconds=inf)
P = TypeVar("P")

__all__ = ["Evaluators", "ProducerFailed", "RecordFault", "UnknownProducerError"]


class Evaluators:
    """The producers that are asked, and the artifacts that were given; `close` ends the producers' processes."""

    def __init__(
        self,
        producers: tuple[str, ...],
        limits: ProducerLimits,
        artifacts: Path | None,
        registry: Registry,
        outcomes: Path | None = None,
    ) -> None:
        """Raises UnknownProducerError, and RecordFault for a file that holds no artifacts, or no `outcomes`."""
        self._pushed = [] if artifacts is None else _read(artifacts, parse_push)
        self._outcomes = [] if outcomes is None else _read(outcomes, parse_outcome)
        self._producers = ProducerSet(producers, limits, registry)
        self._registry = registry
        self._scorer = ReferenceScorer(limits, registry)

    def start(self) -> None:
        """Start the producers. Raises ProducerFailed with the remedy: what somebody asks for must not just be missing."""
        self._producers.start()

    def compare(
        self, replayed: Replayed, on_compared: Callable[[int, int], None] = lambda _done, _total: None
    ) -> Replayed:
        """The same traces with all artifacts and outcomes of them. One of no trace is a problem.

        `on_compared` gets of how many traces producers have been asked, and of how many in all.
        """
        if not self._producers and not self._pushed and not self._outcomes:
            return replayed
        unclaimed: list[Unclaimed] = []
        referenced: list[Referenced] = []
        untold: list[str] = []
        box = OutcomeBox(PATIENT_BOX, lambda: 0.0, lambda: untold.append("an outcome is of no trace in it"))
        desk = ArtifactDesk(PATIENT, lambda: 0.0, unclaimed.append, self._registry, referenced.append, box)
        latest: dict[str, Observation] = {}
        for number, seen in enumerate(replayed.observations, 1):
            latest[seen.record.trace_id] = with_artifacts(seen, self._producers.compare(seen.record))
            desk.seen(latest[seen.record.trace_id], 0)
            on_compared(number, len(replayed.observations))
        for pushed in self._pushed:
            latest |= {seen.record.trace_id: seen for seen in desk.pushed(pushed, 0)}
        for outcome in self._outcomes:
            latest |= {seen.record.trace_id: seen for seen in desk.told(outcome, 0)}
        desk.close()
        for given in referenced:
            if given.trace_id is not None:
                seen = latest[given.trace_id]
                compared = self._scorer.compare(given)
                latest[given.trace_id] = replace(seen, references=(*seen.references, compared))
        lost = [*(f"an artifact of {one.producer} is of no trace in it" for one in unclaimed), *untold]
        told = [f"{replayed.path}: {problem}" for problem in lost]
        return replace(replayed, observations=tuple(latest.values()), problems=(*replayed.problems, *told))

    def close(self) -> None:
        """End the producers' processes, and Ragas'."""
        self._producers.close()
        self._scorer.close()


def _read(path: Path, parse: Callable[[bytes], P]) -> list[P]:
    found: list[P] = []
    for number, line in read_lines(path):
        try:
            found.append(parse(line.encode()))
        except Refused as refused:
            raise RecordFault(f"{path}: line {number}: {refused}") from None
    return found
