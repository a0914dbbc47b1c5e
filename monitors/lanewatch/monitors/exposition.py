"""The metrics as Prometheus sees them: one registry of our own, bounded in series, exemplars by trace id.

Services and tools beyond their limits fold into `other`, which is counted. Known label values are exported as 0 from
the start for every service that was seen. Content is never a label; a trace id is an exemplar only.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar, Sample

from lanewatch.adapters.artifact_messages import OWN
from lanewatch.adapters.records import RECORD_KINDS, Disposition, DispositionSource, Evidence, Incomplete
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome
from lanewatch.monitors.capture import Told
from lanewatch.monitors.exposition_rules import RulesInfo
from lanewatch.monitors.exposition_tools import ToolInfo
from lanewatch.monitors.label_text import label_text
from lanewatch.monitors.lanes import Lane, Status
from lanewatch.monitors.owners import BUILT_IN
from lanewatch.monitors.readings import Comparison, Readings
from lanewatch.monitors.reference_calls import Agreement
from lanewatch.monitors.tools import Registry

if TYPE_CHECKING:
    from lanewatch.monitors.drift.view import DriftView
    from lanewatch.monitors.judge.figures import Figures
    from lanewatch.monitors.judge.ledger import Ledger

OTHER = "other"

METRICS: dict[str, tuple[str, tuple[str, ...]]] = {
    "lanewatch_tool_requests": ("Tool calls that models asked for.", ("service", "tool")),
    "lanewatch_tool_dispatches": (
        "Runs of tools: whether the body ran, and how it ended.",
        ("service", "tool", "executed", "outcome"),
    ),
    "lanewatch_divergences": (
        "Differences between request, dispatch and artifact, by the boundary where they show first.",
        ("service", "tool", "boundary", "kind"),
    ),
    "lanewatch_dispatch_comparisons": (
        "Closed traces with tool calls by whether what ran is what was asked for; `unknown` is no pass.",
        ("service", "result"),
    ),
    "lanewatch_artifact_divergences": (
        "Differences between what ran and an evaluator's artifact, by the producer of the artifact.",
        ("service", "tool", "producer", "kind"),
    ),
    "lanewatch_artifacts": (
        "Evaluators' artifacts of closed traces by producer, and how their comparison ended.",
        ("service", "producer", "outcome"),
    ),
    "lanewatch_reference_tool_calls": (
        "Artifacts that came with the calls that a test expects, and whether they tell of the same.",
        ("service", "producer", "outcome"),
    ),
    "lanewatch_ragas_tool_metrics": (
        "Artifacts with reference calls by whether Ragas' ToolCallF1 and ToolCallAccuracy agree on which are right.",
        ("service", "producer", "agreement"),
    ),
    "lanewatch_evidence": ("Records of closed traces by the state of their evidence.", ("service", "record", "state")),
    "lanewatch_lane_status": ("Closed traces by lane and its status.", ("service", "lane", "status")),
    "lanewatch_content_capture": (
        "Closed traces with a model call by the conventions of their spans, and whether these show message content.",
        ("service", "convention", "content"),
    ),
    "lanewatch_session_ids": (
        "Closed traces with a model call by whether they name their session.",
        ("service", "session"),
    ),
    "lanewatch_handoffs": (
        "Lanes of closed traces that fail or can't be judged, by who looks into them.",
        ("service", "lane", "owner"),
    ),
    "lanewatch_responses": (
        "Answers that end a turn: `refused`, `abstained`, `answered` or `undetermined`, and what told it.",
        ("service", "refusal", "source"),
    ),
    "lanewatch_schema_checks": (
        "Calls held against their tool's JSON Schema, on each side, and how that ended; `no_schema` and others are no pass.",
        ("service", "tool", "side", "outcome"),
    ),
    "lanewatch_schema_violations": (
        "Calls whose arguments or result break their tool's JSON Schema, or are no JSON, once for each kind.",
        ("service", "tool", "side", "kind"),
    ),
    "lanewatch_outcome_facts": (
        "Facts of the state that traces left behind: held, broken, unknown, or unclaimed where their trace did not come.",
        ("service", "fact"),
    ),
    "lanewatch_policy_checks": (
        "Closed traces held against a policy, by its lane and the ruling; `incomplete` is what the evidence can't tell.",
        ("service", "policy", "lane", "status"),
    ),
    "lanewatch_policy_violations": ("Closed traces that break a policy.", ("service", "policy", "lane")),
    "lanewatch_records_incomplete": (
        "Closed traces that no record could be made of, by the reason.",
        ("service", "reason"),
    ),
    "lanewatch_unread_spans": ("Spans that a convention claimed and could not read.", ("service",)),
}
# Counters of the exposition itself.
FIXED: dict[str, tuple[str, tuple[str, ...]]] = {
    "lanewatch_labels_folded": ("Counts that went to `other` since a label had too many values.", ("label",)),
    "lanewatch_corrections": (
        "Counts that a late span proved wrong after they were exported; counters can't take them back.",
        ("metric",),
    ),
}
# What can be told of an answer, and by what. Words are the weakest: they alone tell anything but a refusal.
DISPOSITIONS = (
    *((Disposition.REFUSED, source) for source in DispositionSource if source is not DispositionSource.NONE),
    (Disposition.ABSTAINED, DispositionSource.TEXT),
    (Disposition.ANSWERED, DispositionSource.TEXT),
    (Disposition.UNDETERMINED, DispositionSource.NONE),
)
# Per service: label values that are known before the first event.
KNOWN: dict[str, tuple[tuple[str, ...], ...]] = {
    "lanewatch_evidence": tuple((kind, state) for kind in RECORD_KINDS for state in Evidence),
    "lanewatch_artifacts": tuple((OWN, verdict) for verdict in ArtifactOutcome),
    "lanewatch_dispatch_comparisons": tuple((result,) for result in Comparison),
    "lanewatch_lane_status": tuple((lane, status) for lane in Lane for status in Status),
    "lanewatch_handoffs": BUILT_IN,
    "lanewatch_responses": DISPOSITIONS,
    "lanewatch_records_incomplete": tuple((reason,) for reason in Incomplete),
    "lanewatch_outcome_facts": (("held",), ("broken",), ("unknown",), ("unclaimed",)),
    "lanewatch_session_ids": tuple((told,) for told in Told),
    "lanewatch_unread_spans": ((),),
}


REFERENCE_OUTCOMES = (
    ArtifactOutcome.EQUAL,
    ArtifactOutcome.DIVERGENT,
    ArtifactOutcome.INCOMPLETE,
    ArtifactOutcome.UNSUPPORTED,
)
# Per service and producer: last label values that are known before the first event, opened by the first of either metric.
PAIRS: dict[str, tuple[str, ...]] = {
    "lanewatch_reference_tool_calls": REFERENCE_OUTCOMES,
    "lanewatch_ragas_tool_metrics": tuple(Agreement),
}


class Declared(Protocol):
    """A counter that the collector keeps."""

    @property
    def name(self) -> str:
        """Name without `_total`."""

    @property
    def help(self) -> str:
        """One sentence."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names."""


class Kept(Protocol):
    """Counters that somebody else keeps; `Counts` of the collector is one."""

    def families(self) -> Iterable[tuple[Declared, dict[tuple[str, ...], int]]]:
        """Each counter with its values."""


class Gauge(Protocol):
    """A value that is read at each scrape."""

    def __call__(self) -> float:
        """The value now."""


class Count:
    """One series, as it stands: `value` is None until it is counted or known. `folds` are its labels that folded into `other`.

    By itself it is hashed as an object, so that readings which are kept by it find it at once.
    """

    __slots__ = ("exemplar", "folds", "labels", "metric", "value")

    def __init__(self, metric: str, labels: tuple[str, ...], folds: tuple[str, ...] = ()) -> None:
        self.metric, self.labels, self.folds = metric, labels, folds
        self.value: int | None = None
        self.exemplar: str | None = None


Bounded: TypeAlias = Counter[Count]


class Exposition:
    """The registry, and the one place where readings become series.

    Readings are counted in plain objects by one thread and read by another at a scrape: prometheus_client's own counters
    take a lock and check labels at each count, 3 microseconds a series against 0.2.
    """

    def __init__(
        self,
        *,
        max_services: int,
        max_tools: int,
        max_producers: int = 20,
        max_owners: int = 50,
        known: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType({}),
    ) -> None:
        """Bounds on label values: services of the instance, tools, producers of artifacts and owners of all together. `known`
        are further label values that every service has from 0, as in KNOWN.
        """
        self._known = {**KNOWN, **known}
        self.registry = CollectorRegistry()
        self._limits = {"service": max_services, "tool": max_tools, "producer": max_producers, "owner": max_owners}
        self._seen: dict[str, dict[str, str]] = {label: {} for label in self._limits}
        self._seen["producer"][OWN] = OWN
        self._seen["owner"] |= {owner: owner for _, owner in BUILT_IN}
        self._counts: dict[str, dict[tuple[str, ...], Count]] = {name: {} for name in (*METRICS, *FIXED)}
        self._bounded = {
            name: tuple((place, label) for place, label in enumerate(labels) if label in self._limits)
            for name, (_, labels) in METRICS.items()
        }
        for label in self._limits:
            self._know("lanewatch_labels_folded", (label,))
        for name in METRICS:
            self._know("lanewatch_corrections", (name,))
        self.registry.register(_Counted(self._counts))

    def watch(self, kept: Kept, gauges: dict[str, tuple[str, Callable[[], float]]]) -> None:
        """Export counters that are kept elsewhere, and gauges: name -> (help, read)."""
        self.registry.register(_Watched(kept, gauges))

    def watch_drift(self, look: "Callable[[], DriftView]") -> None:
        """Export drift, as `look` has it at a scrape."""
        from lanewatch.monitors.exposition_drift import DriftCollector  # noqa: PLC0415 - numpy only where it is wanted

        self.registry.register(DriftCollector(look))

    def watch_judge(self, ledger: "Ledger", figures: "Figures") -> None:
        """Export evaluations, scores, and the judge's own figures."""
        from lanewatch.monitors.exposition_judge import JudgeCollector  # noqa: PLC0415 - only where judging is wanted

        self.registry.register(JudgeCollector(ledger, figures))

    def watch_tools(self, registry: Registry) -> None:
        """Export what the registry says of its own tools and of those that were seen."""
        self.registry.register(ToolInfo(registry, self._tools))

    def watch_rules(self, registry: str, policies: str) -> None:
        """Export the versions of registry and policies."""
        self.registry.register(RulesInfo(registry, policies))

    def _tools(self) -> tuple[str, ...]:
        seen = tuple(self._seen["tool"])
        return seen if len(seen) < self._limits["tool"] else (*seen, OTHER)

    def add(self, readings: Readings, trace_id: str = "") -> None:
        """Count readings; the trace id becomes the exemplar of each series."""
        self.count(self.bounded(readings), trace_id)

    def count(self, counts: Bounded, trace_id: str = "", withdrawn: Bounded | None = None) -> None:
        """The same for a record's bounded readings; `withdrawn` are those that a revision takes back."""
        for series, n in counts.items():
            if series.value is None:
                self._open(series)
            series.value = (series.value or 0) + n
            if trace_id:
                series.exemplar = trace_id
            for label in series.folds:
                self._raise("lanewatch_labels_folded", label, n)
        for series, n in (withdrawn or {}).items():
            self._raise("lanewatch_corrections", series.metric, n)

    def bounded(self, readings: Readings) -> Bounded:
        """The readings by the series that they move; these are shared objects, so that many can be remembered.

        A label value folds into `other` for good or not at all, so a revision folds as the first reading did.
        """
        counts: Bounded = Counter()
        for (name, labels), n in readings.items():
            series = self._counts[name].get(labels) or self._bound_all(name, labels)
            counts[series] = counts.get(series, 0) + n
        return counts

    def text(self, *, openmetrics: bool) -> bytes:
        """The exposition, in Prometheus' text format or OpenMetrics (with exemplars)."""
        text: bytes = (generate_openmetrics if openmetrics else generate_latest)(self.registry)
        return text

    def _bound_all(self, name: str, given: tuple[str, ...]) -> Count:
        labels = list(given)
        for place, label in self._bounded[name]:
            known = self._seen[label].get(labels[place])
            labels[place] = known if known is not None else self._bound(label, labels[place])
        return self._series(name, tuple(labels))

    def _series(self, name: str, labels: tuple[str, ...]) -> Count:
        """The series of these labels, which are bounded."""
        series = self._counts[name].get(labels)
        if series is None:
            limited = ((label, labels[place]) for place, label in self._bounded.get(name, ()))
            folds = (label for label, value in limited if value == OTHER and OTHER not in self._seen[label])
            series = self._counts[name][labels] = Count(name, labels, tuple(folds))
        return series

    def _bound(self, label: str, value: str) -> str:
        """A label value that is new: cleaned, or `other` beyond the limit."""
        clean = label_text(value)
        seen = self._seen[label]
        if clean in seen:
            return clean
        if len(seen) >= self._limits[label]:
            clean = OTHER
        else:
            seen[clean] = clean
        if label == "service":
            self._open_service(clean)
        return clean

    def _open(self, series: Count) -> None:
        """It is counted for the first time."""
        series.value = 0
        if series.metric in PAIRS:
            for name, known in PAIRS.items():
                for value in known:
                    self._know(name, (*series.labels[:-1], value))

    def _open_service(self, service: str) -> None:
        for name, known in self._known.items():
            for values in known:
                self._know(name, (service, *values))

    def _know(self, name: str, labels: tuple[str, ...]) -> None:
        """Export a series from now on, as 0 until it is counted."""
        series = self._series(name, labels)
        series.value = series.value or 0

    def _raise(self, name: str, label: str, n: int) -> None:
        series = self._series(name, (label,))
        series.value = (series.value or 0) + n


class _Counted(Collector):
    """The readings, as they stand at a scrape."""

    def __init__(self, counts: dict[str, dict[tuple[str, ...], Count]]) -> None:
        self._counts = counts

    def collect(self) -> Iterator[CounterMetricFamily]:
        for name, (text, labels) in {**METRICS, **FIXED}.items():
            family = CounterMetricFamily(name, text, labels=labels)
            # A copy of a dict is taken in one step; the reading thread goes on adding.
            for series in list(self._counts[name].values()):
                if series.value is None:
                    continue
                exemplar = None if series.exemplar is None else Exemplar({"trace_id": series.exemplar}, 1.0)
                family.samples.append(
                    Sample(f"{name}_total", dict(zip(labels, series.labels, strict=True)), series.value, None, exemplar)
                )
            yield family


class _Watched(Collector):
    """Counters and gauges that are read at each scrape."""

    def __init__(self, kept: Kept, gauges: dict[str, tuple[str, Callable[[], float]]]) -> None:
        self._kept = kept
        self._gauges = gauges

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        for declared, values in self._kept.families():
            family = CounterMetricFamily(declared.name, declared.help, labels=declared.labels)
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family
        for name, (text, read) in self._gauges.items():
            yield GaugeMetricFamily(name, text, value=read())
