"""Says once per service that its message content is not captured, and which switch captures it.

Without content nothing can be compared, and nothing else in a log would tell: the metrics alone show `absent`.
"""

import logging

from lanewatch.adapters.records import TraceRecord
from lanewatch.monitors.capture import hides_content
from lanewatch.sidecar.content_switches import remedy

logger = logging.getLogger(__name__)

REMEMBERED = 1_000  # services and conventions that were told of


class ContentHints:
    """Remembers whom it has told. Names of services and conventions are no traced content."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def see(self, record: TraceRecord) -> None:
        """Log a hint where a model was called and what it answered was not recorded."""
        if not hides_content(record) or len(self._told) >= REMEMBERED:
            return
        for convention in record.conventions:
            key = (record.service or "unknown", convention)
            if key not in self._told:
                self._told.add(key)
                logger.warning(
                    "message content is not captured, so nothing can be compared: set %s in the application",
                    remedy(convention),
                    extra={"service": key[0], "convention": convention},
                )
