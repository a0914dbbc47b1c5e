"""What the doctor reads off a sidecar's counters: whether spans come, say anything, show content, and name sessions."""

from collections.abc import Iterator, Sequence

from lanewatch.collector.outcomes import OUTCOMES, RefusalReason
from lanewatch.doctor.check import Check, Status
from lanewatch.monitors.capture import Capture, Told
from lanewatch.monitors.rates import Sample
from lanewatch.pages.samples import total
from lanewatch.shown_text import counted
from lanewatch.sidecar.content_switches import remedy

HTTP_PORT = 4318
HALF = 0.5  # below it, more can't be judged than can
NAMED = 5  # services that a sentence names
CONTENT, SESSIONS = "lanewatch_content_capture", "lanewatch_session_ids"


def traffic(samples: Sequence[Sample], http_port: int = HTTP_PORT) -> Iterator[Check]:
    """Every check that the counters allow, in the order in which one would look. `http_port` takes OTLP/HTTP; 0: not known."""
    spans, refused = (total(samples, f"lanewatch_{n}") for n in ("spans_received", "requests_refused"))
    irrelevant, read = (total(samples, f"lanewatch_{n}") for n in ("spans_irrelevant", "traces_read"))
    if spans is None or read is None:
        yield Check("traffic", Status.UNKNOWN, "the page has no counters", "is it Lanewatch that listens there?")
        return
    if refused:
        by_reason = {have["reason"]: v for n, have, v in samples if n == "lanewatch_requests_refused" and v}
        told = ", ".join(f"{reason} {n:g}" for reason, n in sorted(by_reason.items()))
        remedies = [f"{one}: {OUTCOMES[one].remedy}" for one in RefusalReason if one in by_reason]
        yield Check("refusals", Status.NOTE, f"requests were refused: {told}", "; ".join(remedies))
    if not spans:
        yield Check(
            "traffic",
            Status.NOTE,
            "no span has come since it started",
            f"set OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{http_port or HTTP_PORT} and OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf "
            "in the application; `lanewatch demo --endpoint` sends recorded traces",
        )
    elif not read and irrelevant == spans:
        yield Check(
            "traffic",
            Status.NOTE,
            f"{counted(spans, 'span')} came, none of a convention for models, tools or retrieval",
            "instrument the model client or the framework: docs/stacks.md has the common ones, docs/conventions.md lists what "
            "is read",
        )
    elif not read:
        yield Check(
            "traffic",
            Status.NOTE,
            f"{counted(spans, 'span')} came, and no trace is closed yet",
            "ask again in a minute: a trace closes assembler.quiet_after_root_seconds after its root, or at the latest "
            "after assembler.trace_timeout_seconds",
        )
    else:
        yield Check("traffic", Status.OK, f"{counted(spans, 'span')} came, {counted(read, 'trace')} {_was(read)} read")
    yield from _unread(samples)
    yield from _evidence(samples)
    yield from _content(samples)
    yield from _sessions(samples)


def _was(n: float) -> str:
    return "was" if n == 1 else "were"


def _unread(samples: Sequence[Sample]) -> Iterator[Check]:
    unread, errors = (total(samples, f"lanewatch_{n}") for n in ("unread_spans", "adapter_errors"))
    if unread:
        yield Check(
            "unread spans",
            Status.NOTE,
            f"{counted(unread, 'span')} of a known convention could not be read",
            "report it with the version of the instrumentor; lanewatch_unread_spans_total has the services",
        )
    if errors:
        told = f"no record could be made of {counted(errors, 'trace')}"
        yield Check("adapter errors", Status.WRONG, told, "a bug: report it with the log's line that names the place")


def _evidence(samples: Sequence[Sample]) -> Iterator[Check]:
    """Of each kind of record, the share of traces that show all of it; far fewer than all can't be judged."""
    for kind in ("requests", "responses"):
        seen = total(samples, "lanewatch_evidence", record=kind)
        whole = total(samples, "lanewatch_evidence", record=kind, state="complete")
        if not seen or whole is None:
            continue
        found = f"{whole / seen:.0%} of {counted(seen, 'trace')} show all {kind}"
        if whole / seen >= HALF:
            yield Check(f"evidence of {kind}", Status.OK, found)
        else:
            yield Check(
                f"evidence of {kind}",
                Status.NOTE,
                found,
                "what is missing can't be judged: content that is hidden (see below), spans that are sampled away, or a "
                "stack that never tells it (docs/conventions.md)",
            )


def _content(samples: Sequence[Sample]) -> Iterator[Check]:
    """By service and convention: where most traces hide their content, the switch of that very instrumentor."""
    pairs = {(have["service"], have["convention"]) for name, have, _ in samples if name == CONTENT}
    all_shown = bool(pairs)
    for service, convention in sorted(pairs):
        of = {"service": service, "convention": convention}
        hidden = total(samples, CONTENT, **of, content=Capture.HIDDEN) or 0.0
        seen = total(samples, CONTENT, **of, content=Capture.SHOWN) or 0.0
        if hidden and hidden >= seen:
            all_shown = False
            hide = "hides" if hidden == 1 else "hide"
            told = f"{hidden:g} of {counted(hidden + seen, 'trace')} of {service} {hide} it ({convention})"
            yield Check("message content", Status.NOTE, told, f"set {remedy(convention)} in the application")
    if all_shown:
        yield Check(
            "message content", Status.OK, "most traces with a model call show it, of every service and convention"
        )


def _sessions(samples: Sequence[Sample]) -> Iterator[Check]:
    """Services none of whose traces name a session."""
    services = sorted({have["service"] for name, have, _ in samples if name == SESSIONS})
    counts = {
        service: [total(samples, SESSIONS, service=service, session=told) or 0.0 for told in (Told.TOLD, Told.MISSING)]
        for service in services
    }
    without = {service: missing for service, (told, missing) in counts.items() if missing and not told}
    if without:
        named, more = list(without)[:NAMED], len(without) - NAMED
        among = f"{', '.join(named)}{f' and {more} more' if more > 0 else ''}"
        yield Check(
            "session ids",
            Status.NOTE,
            f"none of {counted(sum(without.values()), 'trace')} names its session ({among}), so each counts as one of its own: "
            "rates of a conversation that repeats itself look surer than they are, and policies per session see one turn",
            "set the attribute session.id (or gen_ai.conversation.id) on the spans: with OpenInference by using_session, with "
            "OpenLLMetry by Traceloop.set_association_properties; docs/conventions.md says who carries it",
        )
