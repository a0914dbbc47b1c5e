"""Says once per service that its message content is not captured, and which switch captures it.

Without content nothing can be compared, and nothing else in a log would tell: the metrics alone show `absent`.
"""

import logging

from lanewatch.adapters.records import Evidence, TraceRecord

logger = logging.getLogger(__name__)

REMEMBERED = 1_000  # services and conventions that were told of
SWITCHES = {
    "otel_genai": "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT (true, or SPAN_ONLY with the latest conventions)",
    "openinference": "OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS (false)",
    "traceloop": "TRACELOOP_TRACE_CONTENT (true)",
    "google_adk": "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT (SPAN_AND_EVENT; true means events alone)",
    "semantic_kernel": "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE (true)",
    "agent_framework": "ENABLE_SENSITIVE_DATA (true)",
    "haystack": "HAYSTACK_CONTENT_TRACING_ENABLED (true)",
    "litellm": "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT (SPAN_ONLY), and message logging left on",
}
UNKNOWN_SWITCH = "the instrumentor's switch for message content (docs/content.md)"


class ContentHints:
    """Remembers whom it has told. Names of services and conventions are no traced content."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def see(self, record: TraceRecord) -> None:
        """Log a hint where a model was called and what it answered was not recorded."""
        hidden = record.evidence["requests"] in (Evidence.ABSENT, Evidence.REDACTED)
        if not record.generations or not hidden or len(self._told) >= REMEMBERED:
            return
        for convention in record.conventions:
            key = (record.service or "unknown", convention)
            if key not in self._told:
                self._told.add(key)
                switch = SWITCHES.get(convention, UNKNOWN_SWITCH)
                logger.warning(
                    "message content is not captured, so nothing can be compared: set %s in the application",
                    switch,
                    extra={"service": key[0], "convention": convention},
                )
