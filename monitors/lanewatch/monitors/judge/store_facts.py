"""Small things that the store keeps by name beside its jobs: what the canary watch knows, and what a person asked of it."""

import sqlite3

from lanewatch.monitors.judge.store_file import faults, writing

CANARIES = "canaries"
ADOPT = "canaries_adopt"


def read_fact(db: sqlite3.Connection, name: str) -> bytes | None:
    """What was kept; None where nothing was. Raises StoreFault."""
    with faults():
        row = db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else bytes(row[0])


def write_fact(db: sqlite3.Connection, name: str, value: bytes) -> None:
    """Keep it, in the place of what was kept. Raises StoreFault."""
    with writing(db):
        db.execute(
            "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value)
        )


def take_fact(db: sqlite3.Connection, name: str) -> bytes | None:
    """Read it and forget it. Raises StoreFault."""
    value = read_fact(db, name)
    if value is not None:
        with writing(db):
            db.execute("DELETE FROM facts WHERE name = ?", (name,))
    return value
