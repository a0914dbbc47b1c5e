"""The store as the worker uses it: jobs are claimed, and finished with a result; nothing that was begun is lost or done twice.

Invariants: a job belongs to one worker, since one at a time holds the lock; what a worker that died had begun is begun anew by the
next, unless a call of it was on its way: asking again might be paid twice, so it ends as interrupted. What kills its worker three
times ends as failed: what it held then is claimed alone, so that none of the others goes with it. A result that was found is the result of all jobs with the same key.
"""

import sqlite3
from collections.abc import Sequence
from functools import reduce
from hashlib import blake2b

import msgspec

from lanewatch.monitors.judge.metrics import Metric, Needs
from lanewatch.monitors.judge.results import FREE, Cost, EvaluationOutcome, Reason, Result, added, unscored
from lanewatch.monitors.judge.samples import LIVE, Job, Sample
from lanewatch.monitors.judge.store_file import faults, writing

MOST_TRIES = 3
KEPT = frozenset({EvaluationOutcome.SCORED, EvaluationOutcome.NOT_APPLICABLE})  # what another asking would find, too

_sample = msgspec.json.Decoder(Sample).decode
_cost = msgspec.json.Decoder(Cost).decode
_result = msgspec.json.Decoder(Result).decode
_encode = msgspec.json.Encoder().encode


class Claimed(msgspec.Struct, frozen=True):
    """A job that is being judged. `digest` is of its sample."""

    number: int
    job: Job
    digest: bytes


def recover(db: sqlite3.Connection, now: float) -> tuple[int, int]:
    """Put right what a worker that died left behind: (begun anew, ended). To be called by whoever holds the lock, before the first
    claim. Raises StoreFault.
    """
    with writing(db):
        under_way = [row[0] for row in db.execute(
            "SELECT DISTINCT job FROM calls JOIN jobs ON jobs.id = job WHERE response IS NULL AND state = 'running'"
        )]  # fmt: skip
        for number in under_way:
            _finish(db, number, unscored(Reason.INTERRUPTED, _paid(db, number)), now, None)
        killers = [row[0] for row in db.execute(
            "SELECT id FROM jobs WHERE state = 'running' AND tries >= ?", (MOST_TRIES,)
        )]  # fmt: skip
        for number in killers:
            _finish(db, number, unscored(Reason.WORKER_FAILED), now, None)
        again = db.execute("UPDATE jobs SET state = 'waiting' WHERE state = 'running'").rowcount
    return again, len(under_way) + len(killers)


def claim(
    db: sqlite3.Connection,
    n: int,
    *,
    metrics: Sequence[str] = (),
    besides: Sequence[str] = (),
    purpose: str = "",
    suspect: bool = False,
) -> list[Claimed]:
    """Up to `n` jobs, of these metrics where any are given, or of any but those of `besides`, the oldest first whatever their risk: were
    the risky taken out of a backlog, what is scored would be no fair picture of what was drawn, and no weight would mend it. A
    `suspect` was claimed before by a worker that then died; others are claimed without it. Those of one `purpose` alone where one is
    given. Raises StoreFault.
    """
    chosen = " AND tries > 0" if suspect else " AND tries = 0"
    chosen += f" AND metric IN ({','.join('?' * len(metrics))})" if metrics else ""
    chosen += f" AND metric NOT IN ({','.join('?' * len(besides))})" if besides else ""
    chosen += " AND purpose = ?" if purpose else ""
    with faults():
        if not db.execute("SELECT 1 FROM jobs WHERE state = 'waiting' LIMIT 1").fetchone():
            return []  # most looks find nothing, and need no lock
    with writing(db):
        rows = db.execute(
            "SELECT jobs.id, metric, purpose, stratum, weight, priority, sample, body FROM jobs"  # noqa: S608 - placeholders
            f" LEFT JOIN samples ON sample = digest WHERE state = 'waiting'{chosen}"
            " ORDER BY added, jobs.id LIMIT ?",
            (*metrics, *besides, *((purpose,) if purpose else ()), n),
        ).fetchall()
        db.executemany("UPDATE jobs SET state = 'running', tries = tries + 1 WHERE id = ?", [(row[0],) for row in rows])
    found = []
    for number, metric, its, stratum, weight, priority, digest, body in rows:
        try:
            job = Job(metric, _sample(body or b""), weight, stratum, priority, its)
        except msgspec.DecodeError:  # a disk that lost a part
            finish(db, number, unscored(Reason.STORE_FAILED), 0.0)
            continue
        found.append(Claimed(number, job, digest))
    return found


def finish(
    db: sqlite3.Connection, number: int, result: Result, now: float, key: bytes | None = None, took: float | None = None
) -> None:
    """A claimed job has its result, which is that of `key` from now on where another asking would give it too; `took` seconds were
    spent on it. Raises StoreFault.
    """
    with writing(db, durable=result.cost.calls > 0):
        _finish(db, number, result, now, key, took)


def give_back(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Claimed jobs that were not begun wait again. Raises StoreFault."""
    with writing(db):
        db.executemany(
            "UPDATE jobs SET state = 'waiting', tries = tries - 1 WHERE id = ? AND state = 'running'",
            [(number,) for number in numbers],
        )


def cached(db: sqlite3.Connection, key: bytes) -> Result | None:
    """A result that was found for the same key. It costs nothing now. Raises StoreFault."""
    with faults():
        row = db.execute("SELECT result FROM jobs WHERE key = ? ORDER BY id DESC LIMIT 1", (key,)).fetchone()
    if row is None or row[0] is None:
        return None
    try:
        found = _result(row[0])
    except msgspec.DecodeError:
        return None
    return msgspec.structs.replace(found, cached=True, cost=msgspec.structs.replace(found.cost, calls=0, input_tokens=0,
                                   output_tokens=0, dollars=0.0, seconds=0.0))  # fmt: skip


def cache_key(claimed: Claimed, metric: Metric, model: str, version: str, topics: Sequence[str]) -> bytes | None:
    """What its result depends on: the record's revision with all that is judged of it, metric, evaluator, model, prompts. None
    where it has to be asked anew each time, as canaries are.
    """
    if claimed.job.purpose != LIVE:
        return None
    sample = claimed.job.sample
    asked = topics if Needs.TOPICS in metric.needs else ()
    parts = [sample.trace_id, sample.revision, claimed.digest, metric.name, metric.version, metric.evaluator, model, version,
             list(asked)]  # fmt: skip
    return blake2b(_encode(parts), digest_size=16).digest()


def _paid(db: sqlite3.Connection, number: int) -> Cost:
    """What the answered calls of a job cost; that of the call that was on its way is not known, and no part of it."""
    rows = db.execute("SELECT cost FROM calls WHERE job = ? AND cost IS NOT NULL", (number,)).fetchall()
    return reduce(added, (_cost(row[0]) for row in rows), FREE)


def _finish(
    db: sqlite3.Connection, number: int, result: Result, now: float, key: bytes | None, took: float | None = None
) -> None:
    kept = key if result.outcome in KEPT and not result.cached else None
    db.execute(
        "UPDATE jobs SET state = 'finished', result = ?, ended = ?, key = ?, took = ? WHERE id = ? AND state = 'running'",
        (_encode(result), now, kept, took, number),
    )
    db.execute("DELETE FROM calls WHERE job = ?", (number,))
