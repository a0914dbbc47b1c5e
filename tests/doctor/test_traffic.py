"""What the counters tell the doctor: spans, content, sessions, each with its own remedy."""

import pytest
from lanewatch.collector.outcomes import OUTCOMES, RefusalReason
from lanewatch.doctor.check import Check, Status
from lanewatch.doctor.traffic import traffic
from lanewatch.pages.samples import samples_of
from lanewatch.sidecar.content_switches import STACKS, UNKNOWN_REMEDY

COUNTERS = {
    "lanewatch_spans_received_total": 100,
    "lanewatch_spans_irrelevant_total": 10,
    "lanewatch_traces_read_total": 9,
}


def checks(**counters: float) -> list[Check]:
    """The checks of a page with these counters; a key may have labels."""
    page = "\n".join(f"{name} {value}" for name, value in {**COUNTERS, **counters}.items())
    return list(traffic(list(samples_of(page))))


def found(name: str, counters: dict[str, float]) -> Check:
    """The one check of that name."""
    (check,) = (one for one in checks(**counters) if one.name == name)
    return check


def content(service: str, convention: str, state: str) -> str:
    """A series of content capture."""
    return f'lanewatch_content_capture_total{{service="{service}",convention="{convention}",content="{state}"}}'


def session(service: str, state: str) -> str:
    """A series of session ids."""
    return f'lanewatch_session_ids_total{{service="{service}",session="{state}"}}'


@pytest.mark.parametrize(
    ("counters", "told"),
    [
        ({"lanewatch_spans_received_total": 0}, "no span has come"),
        ({"lanewatch_spans_irrelevant_total": 100, "lanewatch_traces_read_total": 0}, "none of a convention"),
        ({"lanewatch_traces_read_total": 0}, "no trace is closed yet"),
        ({}, "100 spans came, 9 traces were read"),
        ({"lanewatch_spans_received_total": 1, "lanewatch_traces_read_total": 1}, "1 span came, 1 trace was read"),
    ],
)
def test_traffic_that_does_not_come_is_told_from_traffic_that_says_nothing(
    counters: dict[str, float], told: str
) -> None:
    """Each has another remedy."""
    check = found("traffic", counters)

    assert told in check.found
    assert bool(check.remedy) is (check.status is not Status.OK)


def test_the_address_to_set_is_that_of_the_port_that_is_configured() -> None:
    """Beside a Collector it is another one than usual."""
    (check,) = (
        one
        for one in traffic(list(samples_of("lanewatch_spans_received_total 0\nlanewatch_traces_read_total 0\n")), 14318)
    )

    assert "http://127.0.0.1:14318" in check.remedy


def test_a_page_without_counters_is_unknown() -> None:
    """It is then not Lanewatch's."""
    (check,) = traffic([])

    assert check.status is Status.UNKNOWN


def test_refusals_are_named_by_their_reasons() -> None:
    """With the remedy of each that came, and of no other."""
    counters = {
        f'lanewatch_requests_refused_total{{reason="{one}"}}': n for one, n in (("media_type", 2.0), ("method", 0.0))
    }
    check = found("refusals", counters)

    assert check.found == "requests were refused: media_type 2"
    assert check.remedy == f"media_type: {OUTCOMES[RefusalReason.MEDIA_TYPE].remedy}"


def test_spans_that_can_not_be_read_are_a_note_and_our_own_faults_are_wrong() -> None:
    """The first may be a new release of an instrumentor, the second never is."""
    counters = {'lanewatch_unread_spans_total{service="shop"}': 1.0, "lanewatch_adapter_errors_total": 1.0}

    assert found("unread spans", counters).found == "1 span of a known convention could not be read"
    assert found("adapter errors", counters).status is Status.WRONG


def test_evidence_that_is_mostly_missing_is_a_note() -> None:
    """Below half of the traces; above it is no news."""
    key = 'lanewatch_evidence_total{record="requests",state="%s"}'
    few = found("evidence of requests", {key % "complete": 1, key % "redacted": 9})
    most = found("evidence of requests", {key % "complete": 9, key % "redacted": 1})

    assert (few.status, few.found) == (Status.NOTE, "10% of 10 traces show all requests")
    assert most.status is Status.OK


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.convention)
def test_hidden_content_names_the_switch_of_the_instrumentor_that_was_seen(stack: object) -> None:
    """By service and convention; another service that shows it is not blamed."""
    row = next(one for one in STACKS if one is stack)
    counters = {content("shop", row.convention, "hidden"): 3.0, content("desk", row.convention, "shown"): 30.0}
    check = found("message content", counters)

    assert check.status is Status.NOTE
    assert check.found == f"3 of 3 traces of shop hide it ({row.convention})"
    assert check.remedy == f"set {row.remedy} in the application"


def test_an_instrumentor_without_a_known_switch_points_at_the_page() -> None:
    """Nothing is made up."""
    assert UNKNOWN_REMEDY in found("message content", {content("shop", "spring_ai", "hidden"): 1.0}).remedy


def test_content_that_is_mostly_shown_is_fine() -> None:
    """One trace of ten may hide it for reasons of its own; without a model call nothing is said."""
    counters = {content("shop", "vercel", "hidden"): 1.0, content("shop", "vercel", "shown"): 9.0}

    assert found("message content", counters).status is Status.OK
    assert [check for check in checks() if check.name == "message content"] == []


def test_a_service_that_never_names_its_sessions_is_told_what_it_loses() -> None:
    """Not one that does so at times: turns outside of a conversation have none."""
    counters = {session("shop", "missing"): 4.0, session("shop", "told"): 0.0}
    counters |= {session("desk", "missing"): 4.0, session("desk", "told"): 1.0}
    check = found("session ids", counters)

    assert check.status is Status.NOTE
    assert check.found.startswith("none of 4 traces names its session (shop), ")
    assert "session.id" in check.remedy


def test_many_services_without_sessions_are_one_line() -> None:
    """An instance may have twenty."""
    check = found("session ids", {session(f"s{number}", "missing"): 1.0 for number in range(8)})

    assert check.found.startswith("none of 8 traces names its session (s0, s1, s2, s3, s4 and 3 more), ")
