"""Every setting of Lanewatch: its section, key, default, allowed range and meaning. No limit stands anywhere else.

A key's name ends with its unit (`_bytes`, `_seconds`) unless it counts things. Models are frozen; a secret prints as
asterisks. What a default means for a process of 512 MiB is the measure: the sum of the byte limits stays below it.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from lanewatch.config.judge import Budget, Judge, Sampling, judge_warnings
from lanewatch.config.policies import PolicyEntry, PriceEntry, unregistered
from lanewatch.config.tools import ToolEntry
from lanewatch.config.values import (
    GIB,
    MIB,
    TIB,
    Bytes,
    Count,
    FileName,
    Host,
    MessageBytes,
    Names,
    PathName,
    Port,
    RedactionKey,
    Seconds,
    Section,
    TimeZone,
    Token,
    is_loopback,
)
from lanewatch.config.wanted import Wanted


class Receivers(Section):
    """Where OTLP comes in."""

    grpc_host: Host = Field(default="127.0.0.1", description="Address of OTLP/gRPC.")
    grpc_port: Port = Field(default=4317, description="Port of OTLP/gRPC; 0 takes any free one.")
    http_host: Host = Field(default="127.0.0.1", description="Address of OTLP/HTTP.")
    http_port: Port = Field(default=4318, description="Port of OTLP/HTTP; 0 takes any free one.")
    bearer_token: Token | None = Field(default=None, description="Clients must send it as `authorization: Bearer ...`.")
    request_deadline_seconds: Seconds = Field(
        default=10.0, description="A request that takes longer to arrive is ended."
    )
    max_connections: Count = Field(
        default=1024, description="Connections held at once, by OTLP/gRPC and by OTLP/HTTP each."
    )


class Limits(Section):
    """What one request, span and value may cost. Beyond it: refused or cut, and counted by reason."""

    max_request_bytes: MessageBytes = Field(
        default=64 * MIB, description="One request, before and after inflation each."
    )
    max_in_flight_bytes: Bytes = Field(
        default=96 * MIB, description="All requests being received and decoded, together."
    )
    max_spans_per_request: Count = Field(
        default=50_000, description="Spans (or log records) of one request; the rest is rejected."
    )
    max_attributes: Count = Field(
        default=1024, description="Attributes of one span, event, link or log record; the rest is dropped."
    )
    max_value_bytes: MessageBytes = Field(default=MIB, description="One attribute value; longer text is cut.")
    max_depth: Annotated[int, Field(ge=1, le=100)] = Field(
        default=32, description="Nesting of one attribute value; what is deeper is left out."
    )
    max_events: Count = Field(default=1024, description="Events of one span; the rest is dropped.")
    max_links: Count = Field(default=1024, description="Links of one span; the rest is dropped.")
    memory_soft_bytes: Annotated[int, Field(ge=0, le=TIB)] = Field(
        default=0, description="Resident memory above which requests are refused for a second each; 0 is off."
    )
    memory_hard_bytes: Annotated[int, Field(ge=0, le=TIB)] = Field(
        default=0, description="Resident memory above which open traces are closed early, heaviest first; 0 is off."
    )


class Assembler(Section):
    """When spans become a trace, and what open and closed traces may hold."""

    quiet_after_root_seconds: Seconds = Field(
        default=7.0,
        description="A trace whose root has come closes when nothing came for this long; SDKs send after up to 5.",
    )
    trace_timeout_seconds: Seconds = Field(
        default=60.0, description="A trace closes at the latest this long after its first span."
    )
    max_trace_spans: Count = Field(default=20_000, description="Spans of one trace; it is closed there.")
    max_trace_bytes: Bytes = Field(default=16 * MIB, description="Bytes of one trace; it is closed there.")
    max_open_traces: Count = Field(
        default=20_000, description="Open traces; beyond it the heaviest and oldest are closed."
    )
    max_open_bytes: Bytes = Field(default=128 * MIB, description="Bytes of all open traces; beyond it as above.")
    max_waiting_skeletons: Count = Field(
        default=100_000,
        description="Spans that no convention knows, kept by their ids in case an agent's trace needs them: 12 to 27 MB.",
    )
    closed_traces_remembered: Count = Field(
        default=10_000, description="Closed traces known again when a late span comes."
    )
    remembered_bytes: Bytes = Field(
        default=64 * MIB, description="Bytes of closed traces kept for revising their records."
    )
    revision_window_seconds: Seconds = Field(
        default=300.0, description="A late span revises its trace's record this long."
    )


class Artifacts(Section):
    """Messages that evaluators are given, compared with what ran (POST /v1/artifacts on the OTLP/HTTP port)."""

    producers: Names = Field(
        default="", description="Producers that are asked for an artifact of every trace (`lanewatch adapters list`)."
    )
    producer_seconds: Annotated[float, Field(gt=0, le=300, allow_inf_nan=False)] = Field(
        default=5.0, description="Time that a producer has for one trace; then its process is ended."
    )
    producer_memory_bytes: Annotated[int, Field(ge=0, le=TIB)] = Field(
        default=4 * GIB, description="Address space of a producer's process; 0 is no limit."
    )
    max_artifact_bytes: MessageBytes = Field(default=4 * MIB, description="One artifact, pushed or produced.")
    remembered_traces: Count = Field(default=500, description="Closed traces that a pushed artifact may still be of.")
    remembered_bytes: Bytes = Field(default=8 * MIB, description="Bytes of these traces' spans.")
    max_waiting: Count = Field(default=1000, description="Pushed artifacts that wait for their trace.")
    waiting_bytes: Bytes = Field(
        default=8 * MIB, description="Bytes of these; also of the traces that wait for producers."
    )
    waiting_seconds: Seconds = Field(default=300.0, description="A pushed artifact waits for its trace this long.")


class Retrieval(Section):
    """Which tools search documents: nothing in a span tells."""

    tools: Names = Field(default="", description="Tools that are retrievers: their runs count as both.")


class Drift(Section):
    """Whether the traffic is still what it was: alarms with a stated rate of false ones (docs/drift.md)."""

    enabled: bool = Field(default=True, description="Whether drift is watched.")
    false_alarms_per_30_days: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = Field(
        default=1.0, description="False alarms in 30 days that are accepted at most, in expectation."
    )
    budget_of: Literal["instance", "series"] = Field(
        default="instance", description="Whether all series share that budget, or each has it to itself."
    )
    reference_file: PathName = Field(
        default="", description="What the traffic is held against; without one it is learnt from the traffic itself."
    )
    state_folder: PathName = Field(
        default="", description="Where evidence and what was learnt survive a restart; without one they do not."
    )
    snapshot_seconds: Seconds = Field(default=60.0, description="Time between two writings of that state.")
    learning_seconds: Annotated[float, Field(gt=0, le=35 * 86400, allow_inf_nan=False)] = Field(
        default=7 * 86400.0, description="Traffic that is counted before a reference that is learnt is used."
    )
    fit_traces: Annotated[int, Field(ge=200, le=100_000)] = Field(
        default=5000, description="Traces that bins are fitted to before that counting begins; after a day 500 do."
    )
    embed_questions: bool = Field(
        default=False,
        description="Whether a local model (`make local`) embeds questions of which a trace has no vector.",
    )
    window_days: Annotated[int, Field(ge=0, le=35)] = Field(
        default=7, description="Days of live counts that are kept, to make the next reference of; 0 keeps none."
    )
    time_zone: TimeZone = Field(default="UTC", description="Whose hours of the week a learnt reference has.")
    max_services: Annotated[int, Field(ge=1, le=64)] = Field(
        default=10, description="Services with series of their own in a learnt reference; further ones become `other`."
    )
    replica: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{0,120}$"), Wanted("a name, or empty")] = Field(
        default="", description="What this replica calls itself where counts of several are merged."
    )


class Registry(Section):
    """What is known of each tool, where that stands in a file of its own; else it stands here, as [tools.NAME]."""

    path: FileName = Field(default="", description="A file of [tools.NAME] tables (TOML, or JSON by its name).")


class Redaction(Section):
    """What is hidden before it is stored or judged: secrets, and arguments that a tool's entry calls sensitive."""

    key: RedactionKey | None = Field(
        default=None, description="Hidden values compare by it (`openssl rand -hex 32`); without one they can't be."
    )


class Handoff(Section):
    """Traces with a lane that fails or can't be judged, as JSON lines for whoever looks into it (docs/handoff.md)."""

    file: PathName = Field(default="", description="The file; empty writes none.")
    max_bytes: Annotated[int, Field(ge=65536, le=64 * GIB)] = Field(
        default=64 * MIB, description="Bytes at which a file is set aside and a new one begun."
    )
    kept: Annotated[int, Field(ge=0, le=100)] = Field(default=4, description="Files that are kept beside the newest.")
    line_bytes: Annotated[int, Field(ge=4096, le=1048576)] = Field(
        default=262144, description="Bytes of one line; content is cut to fit."
    )
    per_minute: Annotated[int, Field(ge=1, le=10**6)] = Field(
        default=600,
        description="Lines of one minute, of usual traces (large ones count as several); what is beyond is only counted.",
    )
    unsupported: bool = Field(
        default=False, description="Also lanes that no fact can judge, as the outcome without a fact of its own."
    )


class Metrics(Section):
    """The page that Prometheus scrapes."""

    host: Host = Field(default="127.0.0.1", description="Address of /metrics and the health pages.")
    port: Port = Field(default=9464, description="Port of /metrics and the health pages; 0 takes any free one.")
    max_services: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=20, description="Services with labels of their own; further ones become `other`."
    )
    max_tools: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=100, description="Tools with labels of their own; further ones become `other`."
    )


class Shutdown(Section):
    """The end of the process."""

    drain_seconds: Seconds = Field(
        default=10.0, description="Time to finish requests and close open traces after SIGTERM."
    )


class Log(Section):
    """What is written to standard error. Traced content never is."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least severe lines written."
    )
    format: Literal["json", "text"] = Field(
        default="json", description="`json` is one object a line, `text` is for eyes."
    )


class Config(BaseModel):
    """All settings; every one has a default."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    receivers: Receivers = Receivers()
    limits: Limits = Limits()
    assembler: Assembler = Assembler()
    artifacts: Artifacts = Artifacts()
    retrieval: Retrieval = Retrieval()
    drift: Drift = Drift()
    registry: Registry = Registry()
    redaction: Redaction = Redaction()
    handoff: Handoff = Handoff()
    judge: Judge = Judge()
    sampling: Sampling = Sampling()
    budget: Budget = Budget()
    metrics: Metrics = Metrics()
    shutdown: Shutdown = Shutdown()
    log: Log = Log()
    tools: dict[str, ToolEntry] = {}
    policies: tuple[SerializeAsAny[PolicyEntry], ...] = ()
    prices: dict[str, PriceEntry] = {}

    def warnings(self) -> list[str]:
        """Name each setting that is allowed and yet unwise, in a sentence of its own."""
        hosts = {"grpc_host": self.receivers.grpc_host, "http_host": self.receivers.http_host}
        found = [
            f"receivers.{key} is not a loopback address and receivers.bearer_token is not set: "
            "whoever reaches it can send spans. Set the token, or bind 127.0.0.1."
            for key, host in hosts.items()
            if self.receivers.bearer_token is None and not is_loopback(host)
        ]
        if not is_loopback(self.metrics.host):
            found.append(
                "metrics.host is not a loopback address: whoever reaches it can read the names of services and tools. "
                "Let only Prometheus and the health probes through, or bind 127.0.0.1."
            )
        return found + judge_warnings(self.judge, self.budget) + unregistered(self.policies, self.tools)
