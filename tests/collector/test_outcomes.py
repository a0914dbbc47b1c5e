"""Outcomes: one row for each reason, and no row that makes a client lose data or hammer us."""

import grpc
import pytest
from lanewatch.collector.outcomes import MAX_MESSAGE_BYTES, OUTCOMES, Code, RefusalReason, Refused, capped

# https://opentelemetry.io/docs/specs/otlp/: what a client may send again.
RETRYABLE_HTTP = {429, 502, 503, 504}
RETRYABLE_GRPC = {Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE}
PASSING = {
    RefusalReason.IN_FLIGHT_LIMIT,
    RefusalReason.MEMORY_LIMIT,
    RefusalReason.CONNECTION_LIMIT,
    RefusalReason.STOPPING,
}


def test_each_reason_has_a_row_and_a_remedy() -> None:
    """A reason without a row would be a KeyError in the one place that must not fail."""
    assert set(OUTCOMES) == set(RefusalReason)
    assert all(row.summary and row.remedy and "\n" not in row.summary + row.remedy for row in OUTCOMES.values())


@pytest.mark.parametrize("reason", RefusalReason)
def test_retry_advice_goes_with_what_time_heals(reason: RefusalReason) -> None:
    """Overload and stopping are 503 and UNAVAILABLE with advice; nothing else carries advice."""
    row = OUTCOMES[reason]

    assert row.retry == (reason in PASSING)
    assert (row.http_status == 503) == (reason in PASSING)
    assert (row.code is Code.UNAVAILABLE) == (reason in PASSING)
    assert row.http_status in RETRYABLE_HTTP or reason not in PASSING


@pytest.mark.parametrize("reason", sorted(set(RefusalReason) - {RefusalReason.INTERNAL} - PASSING))
def test_a_fault_of_the_client_is_a_4xx_and_no_retryable_code(reason: RefusalReason) -> None:
    """Python's HTTP exporter sends again what met any 5xx, which can't help here."""
    row = OUTCOMES[reason]

    assert 400 <= row.http_status < 500
    assert row.http_status != 429
    assert row.code not in RETRYABLE_GRPC or reason in {RefusalReason.REQUEST_TIMEOUT, RefusalReason.ABANDONED}


def test_codes_are_grpc_s_own_numbers() -> None:
    """The enum is written by hand; the library's numbers are the truth."""
    numbers = {code.name: code.value[0] for code in grpc.StatusCode}

    assert {code.name: int(code) for code in Code}.items() <= numbers.items()


def test_a_refusal_says_what_and_what_to_do() -> None:
    """Summary, detail, remedy."""
    refused = Refused(RefusalReason.TOO_LARGE, "more than 10 bytes")

    assert (
        str(refused) == "the request is larger than the limit (more than 10 bytes): "
        "lower the exporter's batch size, or raise max_request_bytes"
    )


def test_a_message_is_cut_to_a_kibibyte_on_a_character_s_border() -> None:
    """Half a character would make the answer undecodable for the client."""
    cut = capped("a" + "é" * 1000)

    assert len(cut.encode()) == MAX_MESSAGE_BYTES - 1
    assert cut == "a" + "é" * 511
    assert len(str(Refused(RefusalReason.UNDECODABLE, "x" * 5000)).encode()) == MAX_MESSAGE_BYTES


def test_a_lone_surrogate_in_a_message_is_no_error() -> None:
    """A message that can't be encoded would turn a 400 into a 500."""
    assert capped("\ud800").encode() == b"\\ud800"
