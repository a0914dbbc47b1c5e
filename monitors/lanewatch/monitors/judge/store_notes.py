"""What the worker tells the sidecar beside results: that it lives and how it stands, calls it made, and lines for the log.

All of it is by way of the store, so that a worker whose sidecar died has somebody to tell once there is one again. Each list is
bounded: what nobody fetches pushes the oldest out.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from lanewatch.monitors.judge.store_file import faults, writing

MOST_CALLS, MOST_LINES = 20_000, 200
FETCHED = 1_000


class ToldCall(msgspec.Struct, frozen=True):
    """One request to an endpoint, or (without a model) a result that the cache gave."""

    metric: str
    evaluator: str
    model: str
    outcome: str
    seconds: float
    input_tokens: int
    output_tokens: int
    dollars: float | None


class Status(msgspec.Struct, frozen=True):
    """How a worker stands. `spent` and `limits` are [metric, period, dollars], `circuits` by cause, `unpriced_tokens` [metric, period,
    tokens] that are in no dollars, `judges` [metric, evaluator, version, model, embedding model].
    """

    phase: str = "starting"  # or waiting (for another one to end), working, stopping
    memory_bytes: int | None = None
    missing: dict[str, str] = {}
    unpriced: tuple[str, ...] = ()
    spent: tuple[tuple[str, str, float], ...] = ()
    limits: tuple[tuple[str, str, float], ...] = ()
    circuits: dict[str, bool] = {}
    unpriced_tokens: tuple[tuple[str, str, float], ...] = ()
    judges: tuple[tuple[str, str, str, str, str], ...] = ()


class Beat(msgspec.Struct, frozen=True):
    """A sign of life: a number that grows, and how it stands."""

    number: int
    status: Status


_encode = msgspec.json.Encoder().encode
_status = msgspec.json.Decoder(Status).decode
_call = msgspec.json.Decoder(ToldCall).decode


def beat(db: sqlite3.Connection, instance: str, status: Status, calls: Sequence[ToldCall] = ()) -> None:
    """A sign of life, with the calls since the last one. Raises StoreFault."""
    with writing(db):
        db.execute(
            "INSERT INTO workers VALUES (?, 1, ?) ON CONFLICT (instance) DO UPDATE SET"
            " beat = beat + 1, status = excluded.status",
            (instance, _encode(status)),
        )
        if calls:
            db.executemany("INSERT INTO told_calls (body) VALUES (?)", [(_encode(call),) for call in calls])
            db.execute("DELETE FROM told_calls WHERE id <= (SELECT max(id) FROM told_calls) - ?", (MOST_CALLS,))


def last_beat(db: sqlite3.Connection, instance: str) -> Beat | None:
    """The worker's last sign of life; None before the first. Raises StoreFault."""
    with faults():
        row = db.execute("SELECT beat, status FROM workers WHERE instance = ?", (instance,)).fetchone()
    return None if row is None else Beat(row[0], _status(row[1]))


def forget_workers(db: sqlite3.Connection) -> None:
    """A new worker is started: signs of earlier ones tell nothing any more. Raises StoreFault."""
    with writing(db):
        db.execute("DELETE FROM workers")


def fetch_calls(db: sqlite3.Connection) -> list[ToldCall]:
    """Calls that were made since the last fetch. Raises StoreFault."""
    return [_call(body) for body in _fetch(db, "told_calls", "body")]


def say(db: sqlite3.Connection, level: int, text: str) -> None:
    """A line for the sidecar's log, which never holds traced content. Raises StoreFault."""
    with writing(db):
        db.execute("INSERT INTO said (level, text) VALUES (?, ?)", (level, text[:2000]))
        db.execute("DELETE FROM said WHERE id <= (SELECT max(id) FROM said) - ?", (MOST_LINES,))


def fetch_said(db: sqlite3.Connection) -> list[tuple[int, str]]:
    """(level, text) of lines since the last fetch. Raises StoreFault."""
    return [tuple(row) for row in _fetch(db, "said", "level, text", whole=True)]


def _fetch(db: sqlite3.Connection, table: str, columns: str, *, whole: bool = False) -> list[Any]:
    with faults():
        if not db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():  # noqa: S608 - our own names, here and below
            return []
    with writing(db):
        rows = db.execute(f"SELECT id, {columns} FROM {table} ORDER BY id LIMIT {FETCHED}").fetchall()  # noqa: S608
        db.execute(f"DELETE FROM {table} WHERE id <= ?", (rows[-1][0],))  # noqa: S608
    return [row[1:] if whole else row[1] for row in rows]
