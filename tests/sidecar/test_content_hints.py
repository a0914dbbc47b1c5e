"""The hint that content is not captured: once per service, with the switch, without content."""

import logging

import pytest
from lanewatch.adapters.records import Evidence
from lanewatch.sidecar.content_hints import ContentHints

from tests.monitors.records import record


def test_a_service_without_content_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing else in a log would say why nothing is found."""
    hints = ContentHints()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            hints.see(record(evidence={"requests": Evidence.ABSENT}))

    assert len(caplog.records) == 1
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in caplog.text


def test_a_service_with_content_is_told_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A log is for what needs a hand."""
    ContentHints().see(record())

    assert not caplog.records
