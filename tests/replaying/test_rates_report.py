"""What `lanewatch report` takes for a sidecar's counters."""

import pytest
from lanewatch.config.keys import Config
from lanewatch.monitors.verdicts import Status
from lanewatch.pages.client import Answer, PageClient
from lanewatch.replaying.rates_report import ReportFault, report

LANE = 'lanewatch_lane_status_total{service="x",lane="tools",status="fail"}'


@pytest.mark.parametrize(
    "page",
    [
        b"<html>",
        b"\xff\xfe",
        b"",
        b'requests_total{service="x"} 5\n',
        f"{LANE} NaN\n".encode(),
        f"{LANE} -5\n".encode(),
        b'lanewatch_responses_total{service="x",refusal="refused"} +Inf\n',
    ],
)
def test_what_has_no_counters_of_lanewatch_is_no_sidecar(page: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a page of something else, whose `service` labels mean nothing here, nor numbers that no counter has."""
    monkeypatch.setattr(PageClient, "get", lambda _self, _path: Answer(200, page))

    with pytest.raises(ReportFault, match="is it a Lanewatch sidecar"):
        report([], None, Config(), as_json=False)


def test_a_sidecar_that_read_nothing_yet_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its counters are there, and nothing can be said."""
    monkeypatch.setattr(PageClient, "get", lambda _self, _path: Answer(200, b"lanewatch_traces_open 0\n"))

    with pytest.raises(ReportFault, match="no trace was read yet"):
        report([], None, Config(), as_json=False)


def test_no_count_is_cut_off_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """1000 must not become `10…`: digits that are missing are another number."""
    pages = "\n".join(
        f'lanewatch_lane_status_total{{service="x",lane="tools",status="{status}"}} {1234500 + place}'
        for place, status in enumerate(Status)
    )
    monkeypatch.setattr(PageClient, "get", lambda _self, _path: Answer(200, pages.encode()))
    monkeypatch.setenv("COLUMNS", "40")

    assert report([], None, Config(), as_json=False)
    printed = capsys.readouterr().out
    assert all(str(1234500 + place) in printed for place, _ in enumerate(Status))
    assert "…" not in printed
