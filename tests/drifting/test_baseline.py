"""`lanewatch baseline`: built from recordings, proposed, compared, adopted, taken back; with a record of all of it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lanewatch.cli.drift import baseline
from lanewatch.config.keys import Config, Drift
from lanewatch.drifting.baseline_build import build
from lanewatch.drifting.baseline_command import Act, adopt, compare, propose, revert, show_log
from lanewatch.drifting.baseline_live import live_reference
from lanewatch.drifting.baseline_store import Store, store_of
from lanewatch.drifting.inputs import DriftFault, reference_in, window
from lanewatch.monitors.drift.ledger import Action
from lanewatch.monitors.drift.reference import Reference, load_reference, save_reference
from lanewatch.pages.client import Answer, PageClient
from typer.testing import CliRunner

from tests.monitors.drift.recordings import record_traffic
from tests.monitors.drift.traces import Habits

MONDAY = 1_793_577_600  # 2026-11-02
HOUR = 3600
ACT = Act("ada", MONDAY, "the new\n  model")
MOVED = Habits(tools=(0.1, 0.1, 0.8))


def loaded(path: Path) -> Reference:
    """The reference in a file."""
    reference = load_reference(path).reference
    assert reference is not None
    return reference


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of two hours, the second with other tools, and a reference of the first and of the second."""
    path = tmp_path_factory.mktemp("recordings")
    record_traffic(path / "old.jsonl", 1, 1200, start=MONDAY, per_second=1 / 3)
    record_traffic(path / "new.jsonl", 2, 1200, start=MONDAY + 24 * HOUR, per_second=1 / 3, habits=MOVED)
    record_traffic(path / "newer.jsonl", 3, 400, start=MONDAY + 30 * HOUR, per_second=1 / 3, habits=MOVED)
    for name in ("old", "new"):
        build([path / f"{name}.jsonl"], path / f"{name}.reference", Config(), now=MONDAY)
    return path


@pytest.fixture
def store(folder: Path, tmp_path: Path) -> Store:
    """With the old reference in use, which no ledger tells of."""
    (tmp_path / "reference").write_bytes((folder / "old.reference").read_bytes())
    return Store(tmp_path / "reference")


def test_a_reference_is_built_and_says_what_it_can_not_do(folder: Path, tmp_path: Path) -> None:
    """As JSON: its id, whose traffic it is, every series with its gaps, and signals without bins; status 0."""
    out = tmp_path / "reference"
    command = [
        sys.executable,
        "-m",
        "lanewatch",
        "baseline",
        "build",
        str(folder / "old.jsonl"),
        "--out",
        str(out),
        "--format",
        "json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    built: dict[str, Any] = json.loads(done.stdout)
    refusal = next(one for one in built["series"] if one["signal"] == "refusal")

    assert built["reference"] == loaded(out).id
    assert built["population"]["services"] == {"shop": 1200}
    assert refusal["gaps"] == ["no_hours_of_week", "no_day_tolerance"]
    assert "query_embedding" in built["unobserved"]["shop"]


def test_the_same_recordings_give_the_same_reference(folder: Path, tmp_path: Path) -> None:
    """Byte for byte: its samples are seeded."""
    build([folder / "old.jsonl"], tmp_path / "again", Config(), now=MONDAY)

    assert (tmp_path / "again").read_bytes() == (folder / "old.reference").read_bytes()


def test_a_reference_is_the_same_whenever_it_is_built(folder: Path, tmp_path: Path) -> None:
    """Its id is of its content: a replica that builds it a day later has the same label `ref`. The time is told beside it."""
    build([folder / "old.jsonl"], tmp_path / "later", Config(), now=MONDAY + 86_400)
    first, later = loaded(folder / "old.reference"), loaded(tmp_path / "later")

    assert later.id == first.id
    assert (first.created, later.created) == (MONDAY, MONDAY + 86_400)


def test_too_little_traffic_writes_nothing(tmp_path: Path) -> None:
    """An old file stays as it is."""
    record_traffic(tmp_path / "short.jsonl", 1, 60, start=MONDAY, per_second=1)
    (tmp_path / "reference").write_text("old")

    with pytest.raises(DriftFault, match="a series needs 500"):
        build([tmp_path / "short.jsonl"], tmp_path / "reference", Config(), now=0)
    assert (tmp_path / "reference").read_text() == "old"


def test_alarmed_hours_are_left_out_series_by_series(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Against the old reference, the tools of the second hour are alarmed; latencies of it stay in."""
    build(
        [folder / "old.jsonl", folder / "new.jsonl"], tmp_path / "reference", Config(), now=0,
        against=folder / "old.reference", as_json=True,
    )  # fmt: skip
    built = json.loads(capsys.readouterr().out)
    rows = loaded(tmp_path / "reference").rows["shop"]
    first_new_hour = MONDAY // HOUR + 24

    assert built["left_out"]["shop"]["tool"] >= 1
    assert len([row for row in rows["tool"] if row.hour > first_new_hour]) == 0
    assert len([row for row in rows["latency"] if row.hour >= first_new_hour]) >= 1


def test_a_window_and_periods_to_leave_out_choose_the_traces(folder: Path, tmp_path: Path) -> None:
    """From, to, and what was not usual in between; times in UTC or with an offset."""
    chosen = window("2026-11-02T00:00", "2026-11-02T03:00+02:00", ("2026-11-02T00:10/2026-11-02T00:20",))
    minutes = [chosen.holds((MONDAY + 60 * minute) * 10**9) for minute in (-1, 0, 9, 10, 19, 20, 59, 60)]

    assert minutes == [False, True, True, False, False, True, True, False]
    for wrong in (("yesterday", None, ()), (None, None, ("2026-11-02",)), ("2026-11-03", "2026-11-02", ())):
        with pytest.raises(DriftFault):
            window(*wrong)


def test_a_candidate_is_compared_and_adopted_and_the_ledger_tells_all_of_it(
    folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Old and new on the same traffic: the old one alarms on it, the new one does not; then the new one is in use."""
    old, new = loaded(folder / "old.reference"), loaded(folder / "new.reference")
    propose(store, reference_in(folder / "new.reference"), ACT)
    compare(store, [folder / "newer.jsonl"], Config(), ACT)
    adopt(store, ACT)
    entries = store.ledger().entries

    assert [entry.action for entry in entries] == [Action.PROPOSED, Action.COMPARED, Action.ADOPTED]
    assert {entry.reference for entry in entries} == {new.id}
    assert {(entry.by, entry.at, entry.reason, entry.before) for entry in entries} == {
        ("ada", MONDAY, "the new model", old.id)
    }
    assert entries[1].comparison is not None
    assert entries[1].comparison.old_alarms >= 1
    assert entries[1].comparison.new_alarms == 0
    assert entries[2].population is not None
    assert entries[2].population.services == {"shop": 1200}
    assert loaded(store.in_use).id == new.id
    assert show_log(store)
    assert "1 alarm" in capsys.readouterr().out


def test_the_first_candidate_is_adopted_at_once_and_the_next_step_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where none is in use there is nothing to compare with."""
    first = Store(tmp_path / "in-use")
    propose(first, reference_in(folder / "new.reference"), ACT)

    assert "Next: lanewatch baseline adopt --reason TEXT" in capsys.readouterr().out
    adopt(first, ACT)
    assert loaded(first.in_use).id == loaded(folder / "new.reference").id


def test_nothing_is_adopted_that_was_not_compared_with_the_one_in_use(folder: Path, store: Store) -> None:
    """Unless that is asked for."""
    propose(store, reference_in(folder / "new.reference"), ACT)

    with pytest.raises(DriftFault, match="was not compared"):
        adopt(store, ACT)
    assert loaded(store.in_use).id == loaded(folder / "old.reference").id
    adopt(store, ACT, uncompared=True)
    assert loaded(store.in_use).id == loaded(folder / "new.reference").id


def test_a_revert_brings_back_what_was_in_use_before(folder: Path, store: Store) -> None:
    """Also what no ledger told of; byte for byte."""
    propose(store, reference_in(folder / "new.reference"), ACT)
    adopt(store, ACT, uncompared=True)
    revert(store, ACT)

    assert store.in_use.read_bytes() == (folder / "old.reference").read_bytes()
    assert store.ledger().adopted == loaded(folder / "old.reference").id
    with pytest.raises(DriftFault, match="no reference was in use before"):
        revert(store, ACT)


def test_a_damaged_ledger_is_told_and_guessed_from_by_nobody(
    folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log names the line with status 1; a revert wants the id."""
    propose(store, reference_in(folder / "new.reference"), ACT)
    adopt(store, ACT, uncompared=True)
    lines = store.ledger_file.read_bytes().splitlines(keepends=True)
    store.ledger_file.write_bytes(lines[0].replace(b"ada", b"eve") + lines[1])

    assert not show_log(store)
    assert "line 1: its checksum does not fit" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(DriftFault, match="--to ID"):
        revert(store, ACT)
    revert(store, ACT, name=loaded(folder / "old.reference").id)
    assert loaded(store.in_use).id == loaded(folder / "old.reference").id


def test_a_kept_version_that_is_damaged_is_mended_and_a_foreign_one_is_not_adopted(folder: Path, store: Store) -> None:
    """What is adopted is what was named: the file of that name may have been cut short, or changed for another."""
    new = reference_in(folder / "new.reference")
    propose(store, new, ACT)
    version = store.versions / new.id
    version.write_bytes(version.read_bytes()[:1000])
    propose(store, new, ACT)
    mended = loaded(version).id
    version.write_bytes((folder / "old.reference").read_bytes())

    assert mended == new.id
    with pytest.raises(DriftFault, match="holds another reference"):
        adopt(store, ACT, name=new.id, uncompared=True)
    with pytest.raises(DriftFault, match="no version abc is kept"):
        adopt(store, ACT, name="abc", uncompared=True)


def test_a_reference_in_use_that_can_not_be_read_is_put_aside_for_another(
    folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Damaged, or of a version before an upgrade: the log says so and names the others, and one takes its place."""
    old, new = loaded(store.in_use).id, reference_in(folder / "new.reference")
    propose(store, new, ACT)
    adopt(store, ACT, uncompared=True)
    store.in_use.write_bytes(b"torn")
    propose(store, new, ACT)
    whole = show_log(store)
    told = " ".join(capsys.readouterr().out.split())
    with pytest.raises(DriftFault, match="revert --to ID"):
        revert(store, ACT)
    with pytest.raises(DriftFault, match="--without-comparison"):
        adopt(store, ACT)
    revert(store, ACT, name=old)

    assert not whole
    assert f"proposed {new.id}" in told
    assert "In use: can't be told" in told
    assert loaded(store.in_use).id == old
    assert store.in_use.with_name("reference.damaged-1").read_bytes() == b"torn"
    assert store.ledger().entries[-1].before == new.id
    assert show_log(store)
    store.in_use.write_bytes(b"torn")
    adopt(store, ACT, uncompared=True)
    assert loaded(store.in_use).id == new.id


def test_a_kill_between_the_ledger_and_the_file_is_said(
    folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ledger names another reference than the file holds."""
    propose(store, reference_in(folder / "new.reference"), ACT)
    adopt(store, ACT, uncompared=True)
    store.in_use.write_bytes((folder / "old.reference").read_bytes())
    show_log(store)

    assert "last adopted reference is" in capsys.readouterr().out


def test_the_store_is_where_the_sidecar_reads(tmp_path: Path) -> None:
    """What is given, else drift.reference_file, else the state folder's; without all three it is asked for."""
    assert store_of(Config(), tmp_path / "mine").in_use == tmp_path / "mine"
    drift = Drift(reference_file=str(tmp_path / "set"))
    assert store_of(Config(drift=drift), None).in_use == tmp_path / "set"
    drift = Drift(state_folder=str(tmp_path))
    assert store_of(Config(drift=drift), None).in_use == tmp_path / "reference"
    with pytest.raises(DriftFault, match="which reference"):
        store_of(Config(), None)


def test_a_zone_that_is_not_known_here_is_told(folder: Path, tmp_path: Path) -> None:
    """UTC in its place would shift every hour of the week in silence."""
    odd = msgspec.structs.replace(loaded(folder / "old.reference"), time_zone="Mars/Olympus")
    save_reference(tmp_path / "odd", odd)

    with pytest.raises(DriftFault, match="time zone is not known"):
        reference_in(tmp_path / "odd")
    with pytest.raises(DriftFault, match="time zone is not known"):
        build([folder / "newer.jsonl"], tmp_path / "out", Config(), now=0, time_zone="Mars/Olympus")


def test_the_commands_say_faults_in_a_line(tmp_path: Path) -> None:
    """Status 2, nothing on stdout."""
    arguments = ("baseline", "revert", "--reason", "x", "--reference", tmp_path / "reference")
    command = [sys.executable, "-m", "lanewatch", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lanewatch: no reference was in use before")


def test_a_reason_of_blanks_is_none() -> None:
    """The ledger would say nothing of why."""
    result = CliRunner().invoke(baseline, ["adopt", "--reason", "  ", "--reference", "/none"])

    assert result.exit_code == 2
    assert "say why" in " ".join(result.output.split())


def test_what_a_running_sidecar_counted_is_proposed(
    folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times that are asked for go out, counts come back, and the ledger says whose traffic they are of."""
    asked: list[tuple[str, Any]] = []

    def post(_: PageClient, path: str, body: bytes) -> Answer:
        asked.append((path, json.loads(body)))
        return Answer(200, msgspec.json.encode(reference_in(folder / "new.reference")))

    monkeypatch.setattr(PageClient, "post", post)
    given = live_reference(Config(), "http://127.0.0.1:9464", "2026-11-03T00:00", None)
    propose(store, given, ACT)
    entry = store.ledger().entries[-1]

    assert asked == [("/drift/window", {"since": MONDAY + 24 * HOUR, "until": (1 << 63) // 10**9})]
    assert entry.reference == loaded(folder / "new.reference").id
    assert entry.population is not None
    assert entry.population.services == {"shop": 1200}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer(409, b'{"ok": false, "error": "no live counts are kept"}'), "no live counts are kept"),
        (Answer(404, b"<html>"), "answers 404: is drift enabled"),
        (Answer(200, b'{"layout": 5}'), "another version"),
        (Answer(200, b'{"layout": {}, "rows": {}}'), "counted too little"),
    ],
)
def test_what_can_not_be_had_of_a_sidecar_is_said(answer: Answer, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the remedy, and never as a reference of nothing."""
    monkeypatch.setattr(PageClient, "post", lambda *_: answer)

    with pytest.raises(DriftFault, match=told):
        live_reference(Config(), "http://127.0.0.1:9464", None, None)


@pytest.mark.parametrize("form", [["--format", "json"], ["--json"]])
def test_both_names_of_json_work(store: Store, form: list[str]) -> None:
    """`--json` is how it was called before; it is in no help."""
    command = [sys.executable, "-m", "lanewatch", "baseline", "log", "--reference", str(store.in_use)]
    done = subprocess.run([*command, *form], capture_output=True, text=True, timeout=60, check=True)
    helped = subprocess.run([*command[:5], "--help"], capture_output=True, text=True, timeout=60, check=True)

    assert json.loads(done.stdout)["entries"] == []
    assert "--json" not in helped.stdout
    assert "--format" in helped.stdout


def test_without_a_reference_to_stand_beside_it_is_said_what_to_set() -> None:
    """The setting, and the option."""
    with pytest.raises(DriftFault, match=r"drift\.reference_file.*--reference FILE"):
        store_of(Config(), None)
