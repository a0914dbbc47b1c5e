"""The store as a call sees it: written down before it is sent and once it is answered, reserved and settled.

Invariants: `sent` is on the disk before it returns, so that no crash, of the process or of the machine, can lose that something was
asked; whatever was reserved when a worker died counts as spent, since it may have been.
"""

import secrets
import sqlite3
from collections.abc import Callable

import msgspec

from lanewatch.monitors.judge.calls import JOB
from lanewatch.monitors.judge.results import Cost
from lanewatch.monitors.judge.store_file import faults, writing

MINUTE = 60.0
DAY_MINUTES = 24 * 60


class StoredJournal:
    """`calls.Journal`: of the job that is being judged."""

    def __init__(self, db: sqlite3.Connection, now: Callable[[], float]) -> None:
        """`now` in Unix seconds."""
        self._db = db
        self._now = now

    def answered(self, key: str) -> bytes | None:
        """What came back for this key, to this process or one before it. Raises StoreFault."""
        with faults():
            row = self._db.execute("SELECT response FROM calls WHERE job = ? AND key = ?", (_job(), key)).fetchone()
        return None if row is None else row[0]

    def sent(self, key: str) -> bool:
        """It is about to be sent. False where it was before. Raises StoreFault: then it must not be sent."""
        with writing(self._db, durable=True):
            new = self._db.execute(
                "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, NULL, NULL)", (_job(), key, self._now())
            ).rowcount
        return bool(new)

    def store(self, key: str, response: bytes, cost: Cost) -> None:
        """What came back, and what it cost. Raises StoreFault."""
        with writing(self._db, durable=True):
            self._db.execute(
                "UPDATE calls SET response = ?, cost = ? WHERE job = ? AND key = ?",
                (response, msgspec.json.encode(cost), _job(), key),
            )


class Spent(msgspec.Struct, frozen=True):
    """What one metric took in one minute (Unix time / 60)."""

    minute: int
    metric: str
    dollars: float
    tokens: int
    unpriced_tokens: int = 0  # those of them whose price is not known: the dollars are without them


def store_name(db: sqlite3.Connection) -> str:
    """What this store is called, at random and for good: a part of its jobs' identity. Raises StoreFault."""
    with writing(db, durable=True):
        db.execute("INSERT OR IGNORE INTO facts VALUES ('name', ?)", (secrets.token_hex(8),))
        return str(db.execute("SELECT value FROM facts WHERE name = 'name'").fetchone()[0])


def _job() -> int:
    """The number of the job that is being judged: `calls.JOB` is STORE-NUMBER."""
    return int(JOB.get().rpartition("-")[2])


def hold(db: sqlite3.Connection, metric: str, dollars: float | None, tokens: int, now: float) -> int:
    """Reserve; the reservation's number. Raises StoreFault."""
    with writing(db, durable=True):
        return int(db.execute(
            "INSERT INTO held (at, metric, dollars, tokens) VALUES (?, ?, ?, ?)", (now, metric, dollars, tokens)
        ).lastrowid or 0)  # fmt: skip


def settle(db: sqlite3.Connection, number: int, spent: Spent) -> None:
    """Put what was spent in a reservation's place. Raises StoreFault."""
    with writing(db, durable=True):
        db.execute("DELETE FROM held WHERE number = ?", (number,))
        _add(db, spent)


class StoredBooks:
    """`budget.Books`."""

    def __init__(self, db: sqlite3.Connection, now: Callable[[], float]) -> None:
        """`now` in Unix seconds."""
        self._db = db
        self._now = now

    def hold(self, metric: str, dollars: float | None, tokens: int) -> int:
        """Reserve; the reservation's number. Raises StoreFault."""
        return hold(self._db, metric, dollars, tokens, self._now())

    def settle(self, number: int, spent: Spent) -> None:
        """Put what was spent in its place. Raises StoreFault."""
        settle(self._db, number, spent)


def charge_held(db: sqlite3.Connection) -> int:
    """What a worker that died had reserved counts as spent; how many reservations there were. Raises StoreFault."""
    with writing(db, durable=True):
        rows = db.execute("SELECT at, metric, dollars, tokens FROM held").fetchall()
        for at, metric, dollars, tokens in rows:
            unpriced = tokens if dollars is None else 0
            _add(db, Spent(int(at // MINUTE), metric, dollars or 0.0, tokens, unpriced))
        db.execute("DELETE FROM held")
    return len(rows)


def spend_now(db: sqlite3.Connection, minute: int) -> None:
    """Dollars, and tokens without a price, of minutes to come, by a clock that was set back since, count as spent now: else the budget would stay spent until they
    have passed. Raises StoreFault.
    """
    with writing(db):
        ahead = spent_since(db, minute + 1)
        db.execute("DELETE FROM spent WHERE minute > ?", (minute,))
        db.execute("DELETE FROM unpriced WHERE minute > ?", (minute,))
        for one in ahead:  # tokens of another minute are none of this one's
            _add(db, Spent(minute, one.metric, one.dollars, 0, one.unpriced_tokens))


def spent_since(db: sqlite3.Connection, minute: int) -> list[Spent]:
    """What was spent in this minute and later. Raises StoreFault."""
    with faults():
        rows = db.execute(
            "SELECT spent.minute, spent.metric, dollars, spent.tokens, coalesce(unpriced.tokens, 0) FROM spent"
            " LEFT JOIN unpriced ON unpriced.minute = spent.minute AND unpriced.metric = spent.metric"
            " WHERE spent.minute >= ?",
            (minute,),
        ).fetchall()
    return [Spent(*row) for row in rows]


def _add(db: sqlite3.Connection, spent: Spent) -> None:
    db.execute(
        "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT (minute, metric) DO UPDATE SET"
        " dollars = dollars + excluded.dollars, tokens = tokens + excluded.tokens",
        (spent.minute, spent.metric, spent.dollars, spent.tokens),
    )
    if spent.unpriced_tokens:
        db.execute(
            "INSERT INTO unpriced VALUES (?, ?, ?) ON CONFLICT (minute, metric) DO UPDATE SET tokens = tokens + excluded.tokens",
            (spent.minute, spent.metric, spent.unpriced_tokens),
        )
