"""From the configuration to the limits of each part, and what the adapters want the decoder to look for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lanewatch.adapters import conventions, outcome_facts
from lanewatch.adapters.producer_process import ProducerLimits
from lanewatch.collector import assembler, intake, oddities
from lanewatch.collector.admission import AdmissionLimits
from lanewatch.collector.closing import AssemblerLimits
from lanewatch.collector.counts import Metric
from lanewatch.collector.decode import DecodeLimits
from lanewatch.collector.http_connection import HttpLimits
from lanewatch.collector.intake import IntakeLimits
from lanewatch.collector.receive_grpc import GrpcSettings
from lanewatch.collector.receive_http import HttpSettings
from lanewatch.collector.relevance import Relevance
from lanewatch.config.keys import Config
from lanewatch.handoffs.desk import FAILED, TOO_LARGE, TOO_MANY, WRITTEN
from lanewatch.judging.score_export import OWN_SCOPE
from lanewatch.pushes.artifact_desk import DeskLimits
from lanewatch.pushes.outcome_box import BoxLimits

if TYPE_CHECKING:
    from starlette.routing import Route

    from lanewatch.drifting.watch import DriftWatch
    from lanewatch.judging.sidecar import SidecarJudge
    from lanewatch.monitors.exposition import Exposition
    from lanewatch.rules import Rules

RELEVANCE = Relevance(
    keys=(*conventions.KEYS, *outcome_facts.KEYS), scopes=conventions.SCOPES, own_scopes=frozenset({OWN_SCOPE})
)
COUNTS: tuple[Metric, ...] = (
    *intake.METRICS,
    *assembler.METRICS,
    *oddities.METRICS,
    Metric(
        "lanewatch_revisions_uncounted",
        "Traces read again (late spans, a related trace, an evaluator's artifact) whose counts were forgotten: what changed "
        "is not counted, since it can't be told from what was counted before. Remedy: raise closed_traces_remembered.",
    ),
    Metric("lanewatch_traces_read", "Closed traces and revisions that were made into records."),
    Metric(
        "lanewatch_handoff_lines",
        "Handoffs for the file, by how writing went: `too_large` where even cut ones do not fit in handoff.line_bytes, "
        "`too_many` beyond handoff.per_minute.",
        ("result",),
        ((WRITTEN,), (FAILED,), (TOO_LARGE,), (TOO_MANY,)),
    ),
    Metric(
        "lanewatch_adapter_errors",
        "Traces whose record could not be made: a bug, please report it with the log line that names the place.",
    ),
)

GAUGES = {
    "lanewatch_traces_open": "Traces that are being gathered.",
    "lanewatch_traces_open_limit": "Open traces at which the heaviest and oldest are closed.",
    "lanewatch_trace_bytes_open": "Bytes of the open traces.",
    "lanewatch_trace_bytes_open_limit": "Bytes at which the heaviest and oldest open traces are closed.",
    "lanewatch_traces_revising": "Closed traces that late spans reopened.",
    "lanewatch_trace_bytes_remembered": "Bytes of closed traces kept so that late spans can revise their records.",
    "lanewatch_skeletons_waiting": "Spans without a convention that wait for a trace they may belong to.",
    "lanewatch_artifacts_waiting": "Pushed artifacts that wait for their trace.",
    "lanewatch_traces_waiting": "Closed traces that wait to be read.",
    "lanewatch_reading_seconds": "Seconds that the trace being read has taken so far; 0 while none is.",
    "lanewatch_bytes_unread": "Bytes of closed traces that wait to be read, and of the one being read.",
    "lanewatch_bytes_in_flight": "Bytes of requests being received and of closed traces not yet read.",
    "lanewatch_bytes_in_flight_limit": "Bytes in flight at which requests are refused for a second.",
    "lanewatch_resident_bytes": "Resident memory of the process.",
    "lanewatch_started_timestamp_seconds": "When the process started to count: all of its counters are of after that.",
}


def intake_limits(config: Config) -> IntakeLimits:
    """Limits of a request and of what is in it."""
    limits = config.limits
    decode = DecodeLimits(
        max_spans_per_request=limits.max_spans_per_request,
        max_attributes=limits.max_attributes,
        max_depth=limits.max_depth,
        max_value_bytes=limits.max_value_bytes,
        max_events=limits.max_events,
        max_links=limits.max_links,
    )
    return IntakeLimits(
        max_request_bytes=limits.max_request_bytes,
        max_artifact_bytes=config.artifacts.max_artifact_bytes,
        decode=decode,
    )


def admission_limits(config: Config) -> AdmissionLimits:
    """The byte budget and the memory gate."""
    limits = config.limits
    return AdmissionLimits(limits.max_in_flight_bytes, limits.memory_soft_bytes, limits.memory_hard_bytes)


def assembler_limits(config: Config) -> AssemblerLimits:
    """How long a trace gathers, and how much is held."""
    limits = config.assembler
    return AssemblerLimits(
        quiet_after_root_seconds=limits.quiet_after_root_seconds,
        trace_timeout_seconds=limits.trace_timeout_seconds,
        max_trace_spans=limits.max_trace_spans,
        max_trace_bytes=limits.max_trace_bytes,
        max_open_traces=limits.max_open_traces,
        max_open_bytes=limits.max_open_bytes,
        max_waiting_skeletons=limits.max_waiting_skeletons,
        closed_traces_remembered=limits.closed_traces_remembered,
        remembered_bytes=limits.remembered_bytes,
        revision_window_seconds=limits.revision_window_seconds,
    )


def desk_limits(config: Config) -> DeskLimits:
    """How long pushed artifacts wait for their traces, and what is remembered for those that come late."""
    limits = config.artifacts
    return DeskLimits(
        remembered_traces=limits.remembered_traces,
        remembered_bytes=limits.remembered_bytes,
        waiting_artifacts=limits.max_waiting,
        waiting_bytes=limits.waiting_bytes,
        waiting_seconds=limits.waiting_seconds,
    )


def box_limits(config: Config) -> BoxLimits:
    """How long pushed outcomes wait for their traces: as artifacts do."""
    limits = config.artifacts
    return BoxLimits(limits.max_waiting, limits.waiting_bytes, limits.waiting_seconds)


def producer_names(config: Config) -> tuple[str, ...]:
    """The producers that are asked for an artifact of every trace."""
    return tuple(filter(None, config.artifacts.producers.split(",")))


def producer_limits(config: Config) -> ProducerLimits:
    """What a producer's process may take."""
    limits = config.artifacts
    return ProducerLimits(
        call_seconds=limits.producer_seconds,
        answer_bytes=limits.max_artifact_bytes,
        memory_bytes=limits.producer_memory_bytes,
    )


def http_settings(config: Config, connections: int) -> HttpSettings:
    """Where OTLP/HTTP listens, for so many connections."""
    receivers = config.receivers
    limits = HttpLimits(
        max_connections=connections,
        request_deadline_seconds=receivers.request_deadline_seconds,
    )
    return HttpSettings(receivers.http_host, receivers.http_port, limits)


def grpc_settings(config: Config, connections: int) -> GrpcSettings:
    """Where OTLP/gRPC listens, for so many connections."""
    receivers = config.receivers
    return GrpcSettings(
        receivers.grpc_host,
        receivers.grpc_port,
        max_connections=connections,
        request_deadline_seconds=receivers.request_deadline_seconds,
    )


def drift_watch(config: Config) -> "DriftWatch | None":
    """What watches drift; None where it is off: then numpy is not loaded."""
    if not config.drift.enabled:
        return None
    from lanewatch.drifting.parts import drift_settings  # noqa: PLC0415
    from lanewatch.drifting.watch import DriftWatch  # noqa: PLC0415

    return DriftWatch(drift_settings(config))


def drift_pages(
    drift: "DriftWatch | None", do_soon: Callable[[Callable[[], None]], None], token: str | None
) -> "list[Route]":
    """Its pages; `do_soon` has something done on the thread that drift belongs to."""
    if drift is None:
        return []
    from lanewatch.drifting import pages  # noqa: PLC0415

    acknowledge, take = (pages.on_thread(drift.acknowledge, do_soon), pages.on_thread(drift.window, do_soon))
    return pages.drift_pages(drift.view, acknowledge, take, token)


def judge(
    config: Config, rules: "Rules", exposition: "Exposition", clock: Callable[[], float]
) -> "SidecarJudge | None":
    """What has a sample of the traffic judged; None where that is off: then nothing of it is loaded."""
    if not config.judge.enabled:
        return None
    from lanewatch.judging.sidecar import SidecarJudge  # noqa: PLC0415

    return SidecarJudge(config, rules, exposition, clock)


def judge_summary(config: Config) -> list[str]:
    """What a person sees of the judge when it starts."""
    if not config.judge.enabled:
        return []
    from lanewatch.judging.parts import summary  # noqa: PLC0415

    return summary(config)


def judge_concerns(config: Config) -> list[str]:
    """What is allowed of the judge's settings, and to be known."""
    if not config.judge.enabled or not config.judge.second_model:
        return []
    from lanewatch.judging.parts import concerns  # noqa: PLC0415

    return concerns(config)
