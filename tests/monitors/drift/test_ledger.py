"""The ledger: appended to by many, read through damage, and never silent about a line that can't be trusted."""

import multiprocessing
from hashlib import sha256
from pathlib import Path

import pytest
from lanewatch.monitors.drift.ledger import Action, Comparison, Entry, append, read_ledger
from lanewatch.monitors.drift.promotion import Population

A, B, C = "a" * 12, "b" * 12, "c" * 12


def entry(action: Action = Action.ADOPTED, reference: str = A, before: str | None = None, reason: str = "new") -> Entry:
    """An entry with every field."""
    return Entry(
        action, 1_793_577_600, "ada", reason, reference, before, Population({"shop": 4000}, 0, 86_400, 1),
        Comparison(100, 0, 3600, 2, 0),
    )  # fmt: skip


def written(path: Path, *entries: Entry) -> list[bytes]:
    """The lines of a ledger with these entries."""
    for one in entries:
        append(path, one)
    return path.read_bytes().splitlines(keepends=True)


def test_what_is_appended_is_read_back_in_order(tmp_path: Path) -> None:
    """Every field, and the reference in use."""
    path = tmp_path / "ledger"
    entries = (entry(Action.PROPOSED), entry(Action.COMPARED), entry(before=B, reason='why "quoted"\nand long'))
    written(path, *entries)
    ledger = read_ledger(path)

    assert ledger.entries == entries
    assert ledger.damages == ()
    assert ledger.adopted == A


def test_a_ledger_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """Nothing was done yet."""
    assert read_ledger(tmp_path / "ledger") == ((), ())


@pytest.mark.parametrize("line", [0, 1, 2])
@pytest.mark.parametrize("change", ["a digit", "half a line", "binary"])
def test_a_line_that_was_changed_is_told_and_the_others_are_read(tmp_path: Path, line: int, change: str) -> None:
    """By its number; nothing else is lost, and no other line is blamed."""
    path = tmp_path / "ledger"
    lines = written(path, entry(reference=A), entry(reference=B, before=A), entry(reference=C, before=B))
    good = lines[line]
    lines[line] = {
        "a digit": good.replace(b"ada", b"eve"),
        "half a line": good[: len(good) // 2] + b"\n",
        "binary": b"\x00\xff\r\x00\n",
    }[change]
    path.write_bytes(b"".join(lines))
    ledger = read_ledger(path)

    assert [damage.line for damage in ledger.damages] == [line + 1]
    assert [one.reference for one in ledger.entries] == [one for k, one in enumerate((A, B, C)) if k != line]


@pytest.mark.parametrize("line", [0, 1])
def test_a_line_that_was_taken_out_is_told(tmp_path: Path, line: int) -> None:
    """Each line knows the one before it."""
    path = tmp_path / "ledger"
    lines = written(path, entry(reference=A), entry(reference=B), entry(reference=C))
    del lines[line]
    path.write_bytes(b"".join(lines))

    assert [damage.line for damage in read_ledger(path).damages] == [line + 1]


def test_a_torn_end_is_kept_and_written_after(tmp_path: Path) -> None:
    """A kill in the middle of a line: the next entry stands on a line of its own, and both facts are told."""
    path = tmp_path / "ledger"
    lines = written(path, entry(reference=A), entry(reference=B))
    path.write_bytes(lines[0] + lines[1][:-20])
    append(path, entry(reference=C))
    ledger = read_ledger(path)

    assert [one.reference for one in ledger.entries] == [A, C]
    assert [damage.line for damage in ledger.damages] == [2]
    assert path.read_bytes().startswith(lines[0] + lines[1][:-20] + b"\n")


def test_what_was_written_is_never_rewritten(tmp_path: Path) -> None:
    """Each append leaves all bytes of before as they are."""
    path = tmp_path / "ledger"
    before = b""
    for name in (A, B, C):
        append(path, entry(reference=name))
        after = path.read_bytes()

        assert after.startswith(before)
        before = after


def test_an_entry_of_a_later_version_is_told_apart_from_damage(tmp_path: Path) -> None:
    """Its checksum holds, and its action is not known here."""
    path = tmp_path / "ledger"
    append(path, entry())
    body = b'{"action":"merged","at":0,"by":"x","reason":"","reference":"y"}'
    before = sha256(path.read_bytes().rstrip()).hexdigest().encode()
    own = sha256(before + b"\n" + body).hexdigest().encode()
    line = b'{"before":"%s","entry":%s,"sha256":"%s"}\n' % (before, body, own)
    path.write_bytes(path.read_bytes() + line)

    assert [damage.what for damage in read_ledger(path).damages] == ["it was written by another version of Lanewatch"]


def write_many(path: Path, name: str) -> None:
    """One of several processes."""
    for number in range(25):
        append(path, entry(reference=name, reason=f"{number}"))


def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    """Four processes, a hundred entries: all are there, each once, with an unbroken chain."""
    path = tmp_path / "ledger"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_many, args=(path, str(k) * 12)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    ledger = read_ledger(path)

    assert [worker.exitcode for worker in workers] == [0] * 4
    assert ledger.damages == ()
    assert sorted((one.reference, int(one.reason)) for one in ledger.entries) == sorted(
        (str(k) * 12, number) for k in range(4) for number in range(25)
    )


def test_a_revert_goes_back_one_adoption_at_a_time(tmp_path: Path) -> None:
    """Adopted A, B; reverted to A; adopted C: before C was A."""
    path = tmp_path / "ledger"
    written(path, entry(reference=A), entry(reference=B, before=A))

    assert read_ledger(path).previous() == A
    append(path, entry(Action.REVERTED, A, before=B))
    assert read_ledger(path).adopted == A
    assert read_ledger(path).previous() is None
    append(path, entry(reference=C, before=A))
    assert read_ledger(path).previous() == A


def test_what_was_in_use_before_the_ledger_began_can_be_gone_back_to(tmp_path: Path) -> None:
    """The first adoption names it."""
    path = tmp_path / "ledger"
    append(path, entry(reference=B, before=A))

    assert read_ledger(path).previous() == A
