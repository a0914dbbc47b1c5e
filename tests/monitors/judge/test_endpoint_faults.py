"""Everything that goes wrong between Lanewatch and a judge ends in a typed outcome, within the retry budget, and never in a number."""

import pytest
from lanewatch.monitors.judge.calls import MemoryJournal
from lanewatch.monitors.judge.failures import JudgeFailure
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason

from tests.judge_server.faults import REPLIES, Reply
from tests.judge_server.server import STREAMS, JudgeServer
from tests.monitors.judge.asked import KEY, Asked

# What each mode, answered to every request, ends in: a reason or "scored", and the requests that one call costs with two retries.
# A new endpoint may take two requests more to find out which format it is asked in.
TRANSIENT, FINAL = 3, 1
ENDS: dict[str, tuple[str, int]] = {
    "ok": ("scored", 1),
    "500": (Reason.SERVER_ERROR, TRANSIENT),
    "502_html": (Reason.SERVER_ERROR, TRANSIENT),
    "503": (Reason.SERVER_ERROR, TRANSIENT),
    "503_retry_after": (Reason.SERVER_ERROR, TRANSIENT),
    "529": (Reason.SERVER_ERROR, TRANSIENT),
    "429": (Reason.RATE_LIMITED, TRANSIENT),
    "429_retry_after": (Reason.RATE_LIMITED, TRANSIENT),
    "429_retry_after_long": (Reason.RATE_LIMITED, FINAL),
    "429_retry_after_date": (Reason.RATE_LIMITED, TRANSIENT),
    "429_quota": (Reason.AUTH, FINAL),
    "401": (Reason.AUTH, FINAL),
    "403": (Reason.AUTH, FINAL),
    "404": (Reason.BAD_REQUEST, FINAL),
    "400": (Reason.BAD_REQUEST, 3),
    "422": (Reason.BAD_REQUEST, 3),
    "400_too_long": (Reason.TOO_LONG, FINAL),
    "400_no_json_schema": ("scored", 2),
    "400_no_response_format": ("scored", 3),
    "400_no_max_tokens": ("scored", 2),
    "400_no_temperature": ("scored", 2),
    "400_no_seed": ("scored", 2),
    "redirect": (Reason.BAD_REQUEST, FINAL),
    "truncated_json": (Reason.JUDGE_INVALID, FINAL),
    "not_json": (Reason.JUDGE_INVALID, FINAL),
    "html": (Reason.JUDGE_INVALID, FINAL),
    "text_content_type": ("scored", 1),
    "wrong_charset": (Reason.JUDGE_INVALID, FINAL),
    "utf16": (Reason.JUDGE_INVALID, FINAL),
    "empty_body": (Reason.JUDGE_INVALID, FINAL),
    "gzip": ("scored", 1),
    "gzip_bomb": (Reason.JUDGE_INVALID, FINAL),
    "gzip_corrupt": (Reason.JUDGE_INVALID, FINAL),
    "unknown_coding": (Reason.JUDGE_INVALID, FINAL),
    "deep_json": (Reason.JUDGE_INVALID, FINAL),
    "a_list": (Reason.JUDGE_INVALID, FINAL),
    "error_in_200": (Reason.SERVER_ERROR, TRANSIENT),
    "no_choices": (Reason.JUDGE_INVALID, FINAL),
    "no_choices_key": (Reason.JUDGE_INVALID, FINAL),
    "null_content": (Reason.JUDGE_INVALID, FINAL),
    "empty": (Reason.JUDGE_INVALID, FINAL),
    "blank": (Reason.JUDGE_INVALID, FINAL),
    "content_parts": ("scored", 1),
    "refusal_field": (Reason.JUDGE_REFUSED, FINAL),
    "refusal_text": (Reason.JUDGE_REFUSED, FINAL),
    "content_filter": (Reason.JUDGE_REFUSED, FINAL),
    "finish_length": (Reason.JUDGE_TRUNCATED, FINAL),
    "finish_length_whole": (Reason.JUDGE_TRUNCATED, FINAL),
    "tool_calls": (Reason.JUDGE_INVALID, FINAL),
    "no_finish": ("scored", 1),
    "no_usage": ("scored", 1),
    "usage_nonsense": ("scored", 1),
    "fenced": ("scored", 1),
    "fenced_bare": ("scored", 1),
    "think": ("scored", 1),
    "think_unclosed": (Reason.JUDGE_INVALID, TRANSIENT),
    "think_only_closing": ("scored", 1),
    "prose": ("scored", 1),
    "prose_only": (Reason.JUDGE_INVALID, TRANSIENT),
    "list_wrapped": ("scored", 1),
    "two_objects": (Reason.JUDGE_INVALID, TRANSIENT),
    "single_quotes": (Reason.JUDGE_INVALID, TRANSIENT),
    "trailing_comma": (Reason.JUDGE_INVALID, TRANSIENT),
    "schema_echoed": (Reason.JUDGE_INVALID, TRANSIENT),
    "extra_keys": ("scored", 1),
    "wrapped_result": (Reason.JUDGE_INVALID, TRANSIENT),
    "empty_object": (Reason.JUDGE_INVALID, TRANSIENT),
    "verdict_2": ("scored", 1),  # a rating may be 2
    "verdict_3": (Reason.JUDGE_INVALID, TRANSIENT),
    "verdict_minus_1": (Reason.JUDGE_INVALID, TRANSIENT),
    "verdict_yes": (Reason.JUDGE_INVALID, TRANSIENT),
    "verdict_half": (Reason.JUDGE_INVALID, TRANSIENT),
    "verdict_null": (Reason.JUDGE_INVALID, TRANSIENT),
    "verdict_nan": (Reason.JUDGE_INVALID, TRANSIENT),
    "verdict_nan_text": (Reason.JUDGE_INVALID, TRANSIENT),
    "verdict_infinity": (Reason.JUDGE_INVALID, TRANSIENT),
    "one_fewer": (Reason.JUDGE_INVALID, TRANSIENT),
    "one_more": (Reason.JUDGE_INVALID, TRANSIENT),  # there is no list in this answer
    "hang": (Reason.TIMEOUT, TRANSIENT),
    "drip": (Reason.TIMEOUT, TRANSIENT),
    "disconnect": (Reason.UNREACHABLE, TRANSIENT),
    "disconnect_amid": (Reason.UNREACHABLE, TRANSIENT),
    "endless": (Reason.JUDGE_INVALID, FINAL),
    "not_http": (Reason.UNREACHABLE, TRANSIENT),
}
SECONDS = {"hang": 0.1, "drip": 0.1}


def test_every_fault_of_the_server_has_an_end() -> None:
    """A mode that nobody tries proves nothing."""
    assert set(ENDS) == {*REPLIES, *STREAMS}
    assert sum(1 for end, _ in ENDS.values() if end != "scored") >= 25


def _end_of(asked: Asked) -> str:
    """What one sample's question ends in."""
    try:
        rating, _ = asked.rating()
    except JudgeFailure as failure:
        return failure.reason
    return "scored" if rating == 2 else f"the wrong rating {rating}"


@pytest.mark.parametrize("mode", ENDS)
def test_a_fault_ends_in_its_reason_within_the_retry_budget(mode: str) -> None:
    """What can't be judged is unscored with a reason, and the server counts what that cost."""
    end, n_requests = ENDS[mode]
    with JudgeServer(mode) as server:
        asked = Asked(server, seconds=SECONDS.get(mode, 10.0))
        came = _end_of(asked)

    assert (came, len(server.calls)) == (end, n_requests)
    assert len(asked.ends) == n_requests
    assert {call.path for call in server.calls} == {"/v1/chat/completions"}
    assert sum(asked.time.slept) <= 30


@pytest.mark.parametrize("mode", [mode for mode, (end, _) in ENDS.items() if end != "scored"])
def test_a_fault_that_passes_is_forgotten(mode: str) -> None:
    """One bad response and then good ones: scored where it was asked again, and the next sample is scored in any case."""
    with JudgeServer() as server:
        server.plays(mode)
        asked = Asked(server, seconds=SECONDS.get(mode, 10.0))
        first, n_requests = _end_of(asked), len(server.calls)
        asked.time.now += 3600
        again = _end_of(asked)

    assert (first, n_requests) == ((ENDS[mode][0], 1) if ENDS[mode][1] == FINAL else ("scored", 2))
    assert again == "scored"
    assert asked.breaker.cause is None


def test_a_failure_says_nothing_of_what_was_sent_or_came_back() -> None:
    """An error's text may quote traced content or a key."""
    with JudgeServer("401") as server, pytest.raises(JudgeFailure) as raised:
        Asked(server).rating()

    assert str(raised.value) == "unscored: auth"
    assert raised.value.__cause__ is None
    assert KEY not in repr(raised.value)


def test_what_is_too_long_for_the_model_is_no_fault_of_the_judge() -> None:
    """It would fail each time: unsupported, not unscored."""
    with JudgeServer("400_too_long") as server, pytest.raises(JudgeFailure) as raised:
        Asked(server).rating()

    assert raised.value.outcome is EvaluationOutcome.UNSUPPORTED


def test_a_gzip_bomb_is_not_inflated() -> None:
    """64 MiB of spaces arrive as 280 KB; what is held is bounded by the limit."""
    with JudgeServer("gzip_bomb") as server, pytest.raises(JudgeFailure):
        Asked(server, max_bytes=1 << 20).rating()

    assert server.bytes_sent < 1 << 20


def test_a_body_without_end_is_left() -> None:
    """The server would send 256 MiB; what the limit and the sockets' buffers hold is all that it gets rid of."""
    with JudgeServer("endless") as server, pytest.raises(JudgeFailure):
        Asked(server, max_bytes=1 << 20).rating()

    assert server.bytes_sent < 32 << 20


def test_an_error_that_repeats_the_prompt_is_cut() -> None:
    """Some servers send back all that was sent; the journal keeps how a call failed, not that."""
    journal = MemoryJournal()
    with JudgeServer(Reply(404, b"no such model " + b"x" * 100_000)) as server, pytest.raises(JudgeFailure):
        Asked(server, journal=journal).rating()

    assert [len(stored) < 5000 for stored in journal.responses.values()] == [True]


def test_nothing_listens() -> None:
    """A refused connection is unreachable."""
    with JudgeServer() as server:
        asked = Asked(server, url="http://127.0.0.1:9/v1")
        with pytest.raises(JudgeFailure) as raised:
            asked.rating()

    assert raised.value.reason is Reason.UNREACHABLE
    assert server.calls == []
