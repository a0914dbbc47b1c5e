"""The judge's parts in the sidecar, put together: the desk that draws, the thread that stores and tells, the books, the export.

Nothing of it is loaded where judging is off, and nothing that judges ever is: evaluators live in the worker.
"""

import logging
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from msgspec.structs import replace

from lanewatch.config.keys import Config
from lanewatch.judging.canaries import CanaryDesk
from lanewatch.judging.figures import JudgeFigures
from lanewatch.judging.parts import concerns, rates, worker_settings
from lanewatch.judging.score_events import score_event
from lanewatch.judging.score_export import OUTCOMES, ExportUnavailableError, ScoreExport, otlp_sender
from lanewatch.judging.thread import JudgeThread
from lanewatch.monitors.exposition import Exposition
from lanewatch.monitors.judge.active import NOBODY_ASKS, active_metrics, remedy
from lanewatch.monitors.judge.bias import BiasWatch, for_second_judge
from lanewatch.monitors.judge.canaries.items import Canary, CanaryFaults, load_canaries, shipped
from lanewatch.monitors.judge.desk import JudgeDesk
from lanewatch.monitors.judge.figures import Figures
from lanewatch.monitors.judge.ledger import Ledger
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.pace import Pace
from lanewatch.monitors.judge.results import Result
from lanewatch.monitors.judge.samples import Job
from lanewatch.monitors.judge.sampling import Sampler
from lanewatch.monitors.judge.states import Finished
from lanewatch.monitors.redaction.redactor import Redactor
from lanewatch.observation import Observation
from lanewatch.rules import Rules

logger = logging.getLogger(__name__)

MOST_FAULTS = 20  # of a file that are said


class SidecarJudge:
    """`see` belongs to the reading thread."""

    def __init__(self, config: Config, rules: Rules, exposition: Exposition, clock: Callable[[], float]) -> None:
        """Registers its metrics. Nothing is started yet."""
        settings = worker_settings(config, config.judge.store)
        asked = {metric.name: why for metric, why in active_metrics(settings).items()}
        judged = [name for name, why in asked.items() if why is None]
        unsupported = {name: why for name, why in asked.items() if why is not None}
        for name, why in unsupported.items():
            logger.warning(
                "judge.metrics names %s, which can't be had here (%s): %s, or take it out",
                name, why, remedy(BY_NAME[name], why),
            )  # fmt: skip
        if settings.endpoint and not any(BY_NAME[name].paid for name in judged):
            logger.warning("%s", NOBODY_ASKS)
        for concern in concerns(config):
            logger.warning("%s", concern)
        self.ledger = Ledger(judged, unsupported, max_services=config.metrics.max_services)
        self.figures = Figures(judged)
        self._bias = BiasWatch(self.figures)
        self._second_share = config.judge.second_share if settings.second else 0.0
        self._export = self._exporter(config.judge.scores_endpoint)
        self.canaries = CanaryDesk(judged, _canaries(settings.canaries), settings.canary_every_seconds, self.figures)
        self.thread = JudgeThread(
            settings,
            JudgeFigures(self.figures),
            self._finished,
            self.ledger.resume,
            canaries=self.canaries,
            eager=bool(settings.endpoint),
        )
        drawn_by = rates(config)
        pace = Pace(lambda: {name: flow for name, flow in self.ledger.flow().items() if BY_NAME[name].paid}, clock)
        self._desk = JudgeDesk(
            self.ledger,
            Sampler(drawn_by, clock, lambda share: self._kept(share, "offline")),
            Redactor(rules.registry.key, rules.registry),
            rules.registry,
            self.thread.offer,
            revise=self.thread.revise,
            ended=None if self._export is None else lambda job, result: self._send(job, result, time.time_ns()),
            topics=settings.topics,
            slower=Sampler(drawn_by, clock, lambda share: self._kept(share, "model"), pace),
        )
        exposition.watch_judge(self.ledger, self.figures)

    def see(self, observation: Observation, *, again: bool) -> None:
        """A trace was read, or is known better."""
        self._desk.see(observation if observation.again == again else replace(observation, again=again))

    def start(self) -> None:
        """Begin."""
        self.thread.start()
        if self._export is not None:
            self._export.start()

    def ease(self) -> None:
        """The sidecar is about to stop."""
        self.thread.ease()

    def stop(self, timeout_seconds: float) -> None:
        """Store what was drawn, tell what has ended, end the worker."""
        began = time.monotonic()
        self.thread.stop(timeout_seconds * 0.8)
        if self._export is not None:
            self._export.stop(max(0.1, timeout_seconds - (time.monotonic() - began)))

    def _kept(self, share: float, judges: str) -> None:
        self.figures.put("lanewatch_sampling_kept_ratio", share, (judges,))

    def _finished(self, one: Finished) -> None:
        counted = self.ledger.finish(one.job, one.result)
        self.canaries.take(one)
        self._bias.see(one.job, one.result)
        second = for_second_judge(one.job, one.result, self._second_share)
        if second is not None:
            self.thread.offer(second)  # where there is no room, there is no second opinion
        if counted:
            self._send(one.job, one.result, int(one.ended * 1e9))

    def _send(self, job: Job, result: Result, now_ns: int) -> None:
        metric = BY_NAME.get(job.metric)
        if metric is None or self._export is None or not job.sample.trace_id:
            return
        event = score_event(job, metric, result, now_ns)
        if event is not None:
            self._export.offer(event)

    def _exporter(self, endpoint: str) -> ScoreExport | None:
        if not endpoint:
            return None
        for outcome in OUTCOMES:
            self.figures.add("lanewatch_scores_exported", (outcome,), 0)
        try:
            send = otlp_sender(endpoint, version("lanewatch"))
        except ExportUnavailableError as error:
            logger.error("%s", error)  # noqa: TRY400 - it says all
            return None
        return ScoreExport(send, lambda outcome, n: self.figures.add("lanewatch_scores_exported", (outcome,), n))


def _canaries(own: str) -> tuple[Canary, ...]:
    """The anchors. A file of the user's own that has a fault is said, and the shipped ones are used without it."""
    try:
        return load_canaries(Path(own) if own else None)
    except CanaryFaults as faulty:
        for fault in faulty.faults[:MOST_FAULTS]:
            logger.error("judge.canaries is not used: %s", fault)  # noqa: TRY400 - it says all
        return shipped()
