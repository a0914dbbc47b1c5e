"""`lanewatch drift report`: what moved in recorded traffic, as text, JSON and a page, and errors that teach."""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lanewatch.config.keys import Config
from lanewatch.drifting.inputs import DriftFault
from lanewatch.drifting.report import DriftReport, make_report
from lanewatch.drifting.report_html import page as html_page
from lanewatch.drifting.report_text import print_report

from tests.monitors.drift.recordings import record_traffic
from tests.monitors.drift.traces import WORDS, Habits

MONDAY = 1_793_577_600  # 2026-11-02
HOUR = 3600
MOVED = Habits(refusals=0.15, tools=(0.2, 0.2, 0.6), words=tuple(f"zu{word}" for word in WORDS))
CHROMIUM = shutil.which("chromium") or ""
SECRET = "kabat"  # a word of the questions


def lanewatch(*arguments: object, status: int = 0) -> "subprocess.CompletedProcess[str]":
    """Run the command, and hold it to its exit status."""
    command = [sys.executable, "-m", "lanewatch", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == status, done.stderr + done.stdout
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings: a reference of 1,600 traces, a quiet hour, and an hour after which habits change."""
    path = tmp_path_factory.mktemp("recordings")
    record_traffic(path / "usual.jsonl", 1, 1600, start=MONDAY, per_second=1 / 10)
    record_traffic(path / "same.jsonl", 2, 600, start=MONDAY + 24 * HOUR, per_second=1 / 5)
    record_traffic(path / "moved.jsonl", 3, 600, start=MONDAY + 25 * HOUR, per_second=1 / 5, habits=MOVED)
    lanewatch("baseline", "build", path / "usual.jsonl", "--out", path / "reference")
    return path


@pytest.fixture(scope="module")
def moved(folder: Path) -> dict[str, Any]:
    """The report of the quiet hour and the one after it."""
    done = lanewatch(
        "drift", "report", folder / "moved.jsonl", folder / "same.jsonl", "--baseline", folder / "reference",
        "--format", "json",
    )  # fmt: skip
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_what_moved_is_told_with_when_and_how_much(moved: dict[str, Any]) -> None:
    """Refusals, tools and words, each in its lane, from about the hour on; files may come in any order."""
    alarms = {alarm["signal"]: alarm for alarm in moved["alarms"]}
    tool = next(one for one in moved["lanes"]["tools"] if one["reading"]["signal"] == "tool")

    assert {"tool", "query_text_unknown_word_share"} <= set(alarms)
    assert abs(alarms["tool"]["changed"] - (MONDAY + 25 * HOUR)) < 1800
    assert alarms["tool"]["lane"] == "tools"
    assert alarms["tool"]["cleared"] is None
    assert tool["shares"]["psi"] > 0.05
    assert sum(tool["then"]) == pytest.approx(1)
    assert sum(tool["now"]) == pytest.approx(1)


def test_quiet_traffic_raises_nothing(folder: Path) -> None:
    """The same habits: no alarm, and it says so."""
    done = lanewatch("drift", "report", folder / "same.jsonl", "--baseline", folder / "reference", "--format", "html")

    assert "None was raised." in done.stdout
    assert " alarmed" not in done.stdout


def test_evidence_over_time_passes_its_line_after_the_change(moved: dict[str, Any]) -> None:
    """Below it in the first half, beyond it at the end."""
    tool = next(one for one in moved["lanes"]["tools"] if one["reading"]["signal"] == "tool")
    largest = [
        max(ratio or 0.0 for ratio in at) for at in zip(*(track["ratios"] for track in tool["tracks"]), strict=True)
    ]
    middle = (MONDAY + 25 * HOUR - moved["first"]) // moved["stretch_seconds"]

    assert max(largest[: middle - 1]) < 1
    assert max(largest[middle:]) >= 1


def test_the_text_names_the_alarms_and_what_can_not_be_told_yet(
    report: DriftReport, capsys: pytest.CaptureFixture[str]
) -> None:
    """A day of reference: no hours of the week."""
    print_report(report)
    text = capsys.readouterr().out

    assert "tool of shop (tools): changed about" in text
    assert "no_hours_of_week" in text


def test_no_name_is_cut_in_a_narrow_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """80 columns: two signals whose names begin alike are told apart."""
    monkeypatch.setenv("COLUMNS", "80")
    report = make_report([folder / "same.jsonl"], Config(), baseline=folder / "reference")
    print_report(report)

    assert "…" not in capsys.readouterr().out


def test_without_a_reference_the_second_half_is_held_against_the_first(folder: Path) -> None:
    """And that is said."""
    itself = make_report([folder / "usual.jsonl"], Config())

    assert itself.itself
    assert "against the first half of the recording" in html_page(itself)


@pytest.fixture(scope="module")
def report(moved: dict[str, Any]) -> DriftReport:
    """The same, read back."""
    return msgspec.json.decode(json.dumps(moved), type=DriftReport)


@pytest.fixture(scope="module")
def page(report: DriftReport) -> str:
    """The page of the traffic that moved."""
    return html_page(report)


def test_the_page_loads_nothing_and_runs_nothing(page: str) -> None:
    """No address, no script, no style from elsewhere; a policy that forbids them all."""
    assert not re.search(r"https?://|<script|<link|<img|@import|url\(|javascript:", page)
    assert "default-src 'none'" in page


class _Tags(HTMLParser):
    """Which tags are open, and the ids and anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.anchors: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "br"}:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name == "href" and value:
                self.anchors.append(value.removeprefix("#"))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag, attrs

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_the_page_is_well_formed_and_its_anchors_exist(page: str) -> None:
    """Each tag is closed by its own, ids are there once, and every link leads to one."""
    tags = _Tags()
    tags.feed(page)

    assert tags.wrong == []
    assert tags.open == []
    assert len(tags.ids) == len(set(tags.ids))
    assert set(tags.anchors) <= set(tags.ids)


def test_each_picture_can_be_read_aloud(page: str) -> None:
    """A title and a description each; the language and headings are set."""
    pictures = page.count('<svg viewBox="0 0 560')

    assert pictures > 20
    assert pictures == page.count('role="img"><title>') == page.count("<desc>")
    assert '<html lang="en">' in page


def test_nothing_of_the_traces_is_in_any_form(
    folder: Path, moved: dict[str, Any], report: DriftReport, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Words of questions, answers and ids stay out."""
    print_report(report)
    shown = [page, json.dumps(moved), capsys.readouterr().out]

    assert SECRET in (folder / "same.jsonl").read_text()
    assert not any(SECRET in one or "xxxx" in one or "call_" in one for one in shown)


def test_names_are_escaped(moved: dict[str, Any]) -> None:
    """A service's name is whatever the traffic says, and so is a tool's."""
    text = json.dumps(moved).replace('"shop"', '"<b>&shop"').replace('"refund"', '"<i>&refund"')
    odd = html_page(msgspec.json.decode(text, type=DriftReport))

    assert "&lt;b&gt;&amp;shop" in odd
    assert "&lt;i&gt;&amp;refund" in odd
    assert not re.search("<[bi]>&(shop|refund)", odd)


@pytest.mark.skipif(not CHROMIUM, reason="no browser is installed: apt-get install chromium")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_renders_it(tmp_path: Path, page: str, dark: bool) -> None:
    """Its own text is in the rendered document, the pictures have a size, and a picture of the page is not blank."""
    file, shot = tmp_path / "report.html", tmp_path / "report.png"
    file.write_text(page)
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1280,1600",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]  # fmt: skip
    drawn = subprocess.run(
        [*command, f"--screenshot={shot}", file.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    document = subprocess.run(
        [*command, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )

    assert drawn.returncode == 0, drawn.stderr
    assert len(shot.read_bytes()) > 30_000  # a blank page of this size takes some 10 kB
    assert "<h1>Drift report</h1>" in document.stdout
    assert document.stdout.count("<svg") == page.count("<svg")


def fault(recording: Path, baseline: Path | None = None) -> str:
    """What is said where there is nothing to go by."""
    with pytest.raises(DriftFault) as raised:
        make_report([recording], Config(), baseline=baseline)
    return str(raised.value)


def test_a_fault_is_one_line_and_status_2(folder: Path, tmp_path: Path) -> None:
    """Nothing on stdout, no traceback."""
    done = lanewatch("drift", "report", folder / "same.jsonl", "--baseline", tmp_path / "none", status=2)

    assert done.stdout == ""
    assert done.stderr.startswith("lanewatch: ")
    assert done.stderr.count("\n") == 1


def test_traffic_without_times_is_refused_with_what_to_do(tmp_path: Path, folder: Path) -> None:
    """Drift is a change over time."""
    record_traffic(tmp_path / "timeless.jsonl", 1, 50, start=MONDAY, per_second=1, timeless=True)

    said = fault(tmp_path / "timeless.jsonl", folder / "reference")
    assert "no event times: 50 traces" in said
    assert "startTimeUnixNano" in said


def test_too_little_traffic_is_refused_with_how_much_it_takes(tmp_path: Path) -> None:
    """500 observations a series."""
    record_traffic(tmp_path / "short.jsonl", 1, 120, start=MONDAY, per_second=1)

    assert "a series needs 500" in fault(tmp_path / "short.jsonl")


def test_another_population_is_refused(tmp_path: Path, folder: Path) -> None:
    """The reference is of another service, and both are named."""
    record_traffic(tmp_path / "other.jsonl", 1, 50, start=MONDAY, per_second=1, service="billing")

    said = fault(tmp_path / "other.jsonl", folder / "reference")
    assert "the reference is of shop, the traffic of billing" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: body.replace(b'"version":1', b'"version":9', 1), "another version than 1"),
        (lambda body: body[:-9], "its checksum does not fit"),
        (lambda body: body.replace(b"lanewatch-reference", b"lanewatch-state", 1), "it is no reference"),
        (lambda _: b"", "its checksum does not fit"),
    ],
    ids=["version", "cut", "kind", "empty"],
)
def test_a_reference_that_can_not_be_used_is_told_and_left_alone(
    tmp_path: Path, folder: Path, change: Any, said: str
) -> None:
    """Which of the four it is, with its remedy; the file stays where it is, as it is."""
    file = tmp_path / "reference"
    file.write_bytes(change((folder / "reference").read_bytes()))
    before = file.read_bytes()

    assert said in fault(folder / "same.jsonl", file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_reference_that_is_not_there_is_told_with_how_to_make_one(tmp_path: Path, folder: Path) -> None:
    """The command stands in the message."""
    said = fault(folder / "same.jsonl", tmp_path / "none")

    assert "lanewatch baseline build" in said


def test_what_could_not_be_read_is_told_and_the_rest_is_reported(tmp_path: Path, folder: Path) -> None:
    """Status 1, as for a replay."""
    (tmp_path / "broken.jsonl").write_text('{"resourceSpans": [\n')
    files = (folder / "same.jsonl", tmp_path / "broken.jsonl")

    done = lanewatch("drift", "report", *files, "--baseline", folder / "reference", status=1)
    assert "not read:" in done.stdout
    assert "Outcome" in done.stdout
