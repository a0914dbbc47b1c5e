"""Drift in the sidecar: what the reading thread gives it of each trace, and what it says in the log.

A trace is taken once, when it is first read; what comes late revises counters, not evidence. A fault of drift costs no
record: it is counted, said once a place, and the rest goes on. The log names services as labels do, and no bins: those are
traced values.
"""

import logging
from collections.abc import Callable, Iterable

from lanewatch.adapters.artifact_messages import OWN
from lanewatch.adapters.query_embedding import query_embedding
from lanewatch.collector.counts import Counts, Metric
from lanewatch.collector.error_place import place_of
from lanewatch.collector.spans import Trace
from lanewatch.monitors.drift.facts import Facts, facts
from lanewatch.monitors.drift.live import LiveDrift
from lanewatch.monitors.drift.question_embedding import QuestionEmbedding
from lanewatch.monitors.drift.readings import Change
from lanewatch.monitors.drift.reference import Reference
from lanewatch.monitors.drift.settings import DriftSettings
from lanewatch.monitors.drift.signals import BY_NAME
from lanewatch.monitors.drift.view import DriftView, Phase
from lanewatch.monitors.drift.weights import weight_of
from lanewatch.monitors.embedding import local_embedder
from lanewatch.monitors.label_text import label_text
from lanewatch.monitors.schemas import SchemaOutcome, Side
from lanewatch.observation import Observation

logger = logging.getLogger(__name__)

ERRORS = "lanewatch_drift_errors"
COUNTS = (Metric(ERRORS, "Traces and ticks that drift failed on: a bug, please report it with the log line."),)

# What happened to a file of drift's, and what to do.
TOLD = {
    "damaged": "is damaged: it was set aside, and is begun anew",
    "too_large": "is too large to be read: it is begun anew",
    "other_kind": "is another kind of file: it is begun anew",
    "other_version": "was written by another version of Lanewatch: it is begun anew",
    "unreadable": "can't be read by this user: it is begun anew",
    "shared": "was written by another process, and is left to it: each replica needs a folder of its own",
    "begun_anew": "is of another reference, or does not fit: some series begin their evidence anew",
}
NO_REFERENCE = "drift is not watched: drift.reference_file can't be used (%s). Make one with `lanewatch baseline`"


class DriftWatch:
    """Belongs to the reading thread; `view` may be called on any."""

    def __init__(self, settings: DriftSettings) -> None:
        """Reads the reference and the state folder."""
        self.counts = Counts(COUNTS)
        embedding = QuestionEmbedding(local_embedder) if settings.embed_questions else None
        self.live = LiveDrift(settings, say=_say, embedding=embedding)
        # Metrics whose judge has shifted by its canaries, asked at each tick; the judge's part, where it is on, is put here.
        self.judges_that_drift: Callable[[], frozenset[str]] = frozenset
        self._held: frozenset[str] = frozenset()
        self._said: set[str] = set()
        self._phase = self.live.view.phase
        if self._phase is Phase.NO_REFERENCE:
            logger.error(NO_REFERENCE, self.live.view.because)

    def view(self) -> DriftView:
        """As of the last tick."""
        return self.live.view

    def see(self, trace: Trace, observations: Iterable[Observation]) -> None:
        """A trace was read, into these observations; one of them is its own."""
        if trace.revision:
            return
        name = trace.trace_id.hex()
        try:
            for observation in observations:
                if observation.record.trace_id == name:
                    self._observe(trace, observation)
        except Exception as error:  # noqa: BLE001 - the record is counted all the same
            self._failed(error)

    def tick(self) -> None:
        """Some time has passed."""
        try:
            self._hold_back_scores()
            self._tell(self.live.advance())
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)
        if self.live.view.phase is not self._phase:
            if self._phase is Phase.LEARNING and self.live.learnt:
                logger.info("drift: a reference was learnt from the traffic, and is watched from now on")
            self._phase = self.live.view.phase

    def _hold_back_scores(self) -> None:
        drifting = self.judges_that_drift()
        if drifting != self._held:  # each call works the view out anew
            self._held = drifting
            self.live.hold_back_scores(drifting)

    def acknowledge(self, service: str, signal: str) -> bool:
        """A person has seen an alarm; False where none stands."""
        try:
            ended = self.live.acknowledge(service, signal)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)
            return False
        if ended:
            logger.info("drift: an alarm was acknowledged; its evidence begins anew", extra={"signal": signal[:60]})
        return ended

    def window(self, first: int, last: int) -> Reference | None:
        """A reference of the live traffic between two times (seconds since the epoch); None where no counts are kept."""
        try:
            return self.live.window(first, last)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)
            return None

    def close(self) -> None:
        """The process ends."""
        try:
            self._tell(self.live.close())
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)

    def _observe(self, trace: Trace, observation: Observation) -> None:
        self._tell(self.live.observe(*weighted_facts(trace, observation)))

    def _tell(self, changes: Iterable[Change]) -> None:
        for change in changes:
            logger.warning(
                "drift: the alarm of %s (%s) was %s; /metrics and `lanewatch doctor` tell more",
                change.signal,
                BY_NAME[change.signal].lane,
                change.event,
                extra={"service": label_text(change.service), "signal": change.signal},
            )

    def _failed(self, error: Exception) -> None:
        self.counts.add(ERRORS)
        place = place_of(error)
        if place not in self._said:
            self._said.add(place)
            logger.error("drift failed: %s (further ones are only counted)", place, extra={"fault": place})


def weighted_facts(trace: Trace, observation: Observation) -> tuple[Facts, float | None]:
    """What drift sees of a trace, and what it stands for; the weight is None where its sampling is unknown."""
    record = observation.record
    # Evaluators' artifacts come when they like: what they differ in would depend on that.
    own = tuple(found for found in observation.divergences if found.producer in {None, OWN})
    broken = any(c.side is Side.REQUESTED and c.outcome is SchemaOutcome.INVALID for c in observation.checks)
    # None: the record's own outcomes tell.
    seen = facts(record, own, embedding=query_embedding(trace, record), violation=broken or None)
    return seen, weight_of(_trace_state(trace))


def _trace_state(trace: Trace) -> str | None:
    """The state of the root, which was sampled first; else of any span that has one."""
    root = next((span.trace_state for span in trace.spans if not span.parent_id and span.trace_state), None)
    return root or next((span.trace_state for span in trace.spans if span.trace_state), None)


def _say(what: str, about: str) -> None:
    if what == "taken_up":
        logger.info(
            "drift: the reference %s was taken up; evidence and counters begin anew", about, extra={"ref": about}
        )
    elif what == "no_embedder":
        logger.error("drift: questions are not embedded (drift.embed_questions): %s", about)
    elif what == "not_taken_up":
        logger.warning("drift: the reference that was put in place can't be used (%s); the one in use stays", about)
    text = TOLD.get(what)
    if text is not None:
        logger.warning("drift: the file `%s` of drift.state_folder %s", about, text, extra={"file": about})
