"""The store as the sidecar uses it: jobs in, finished ones out, and what is too much or too old thrown away and counted.

Invariants: a job that was added ends as exactly one finished row; of jobs that don't fit the oldest of the lowest priority goes
first, and ends as throttled; a sample is stored once for all metrics that are asked of it, and deleted once the last of them has been
told; nothing outlives the retention.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b

import msgspec

from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.samples import LIVE, Job, Sample
from lanewatch.monitors.judge.settings import StoreLimits
from lanewatch.monitors.judge.states import QUEUE_STATES, Finished, QueueState
from lanewatch.monitors.judge.store_calls import DAY_MINUTES
from lanewatch.monitors.judge.store_file import faults, shrink, used_bytes, writing

TOLD_AT_ONCE = 200
LOOKED_BYTES = (
    64 * 1024
)  # that are added between two looks at how much the file holds, each of which costs what a row does
ROW_BYTES = 512  # of a job without its sample, with its places in the indexes
FREED_AT_ONCE, EVICTED_AT_ONCE = 500, 10  # results are small, and samples are not
AHEAD_SECONDS = 120.0  # of a time that was written down before the clock was set right
# As the partial indexes have them: what was told is by far the most, and is never searched.
UNTOLD = tuple(f"state = '{state}'" for state in QUEUE_STATES)
LOST = Sample("", 0, "", 0)

QUEUE_FULL = msgspec.json.encode(Result(EvaluationOutcome.THROTTLED, Reason.QUEUE_FULL))
EXPIRED = msgspec.json.encode(unscored(Reason.EXPIRED))

_encode = msgspec.json.Encoder().encode
_sample = msgspec.json.Decoder(Sample).decode
_result = msgspec.json.Decoder(Result).decode

Waiting = tuple[str, str, float]  # metric, service and weight of a live job


class _Served(msgspec.Struct):
    service: str


_served = msgspec.json.Decoder(_Served).decode


def add_jobs(
    db: sqlite3.Connection, jobs: Sequence[Job], limits: StoreLimits, now: float, told: Iterable[int] = ()
) -> Counter[str]:
    """Store jobs, forget those that were `told` (as `forget_told`), and throw out what is too much, all in one transaction. Returns
    how many were thrown out, by metric. Raises StoreFault.
    """
    digests: dict[int, bytes] = {}
    thrown: Counter[str] = Counter()
    unlooked = LOOKED_BYTES
    with writing(db):
        _forget(db, told)
        for job in jobs:
            # Not at the end alone: what came at once may be more than the file may grow by.
            if unlooked >= LOOKED_BYTES:
                unlooked = 0
                if used_bytes(db) > limits.max_bytes:
                    thrown += _throw_out(db, limits, now)
                    digests.clear()  # some of those samples are gone
            known = digests.get(id(job.sample))
            if known is None:
                known, size = _keep(db, job.sample)
                digests[id(job.sample)] = known
                unlooked += size
            unlooked += ROW_BYTES
            db.execute(
                "INSERT INTO jobs (metric, purpose, stratum, weight, priority, trace, sample, state, added)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?)",
                (job.metric, job.purpose, job.stratum, job.weight, job.priority, job.sample.trace_id, known, now),
            )
        return thrown + _throw_out(db, limits, now)


def revise_jobs(db: sqlite3.Connection, jobs: Sequence[Job]) -> list[bool]:
    """Put a later sample in the place of that of the job of the same trace and metric, where that still waits; whether it did, for
    each. Raises StoreFault.
    """
    revised = []
    with writing(db):
        for job in jobs:
            row = db.execute(
                "SELECT id, sample FROM jobs WHERE state = 'waiting' AND trace = ? AND metric = ? AND purpose = ?",
                (job.sample.trace_id, job.metric, job.purpose),
            ).fetchone()
            revised.append(row is not None)
            if row is not None:
                db.execute("UPDATE jobs SET sample = ? WHERE id = ?", (_keep(db, job.sample)[0], row[0]))
                _drop(db, row[1])
    return revised


def withdraw_jobs(db: sqlite3.Connection, purpose: str, but: Collection[str]) -> int:
    """Delete the jobs of a purpose that still wait, but those whose trace begins with one of these; how many. For what is none of live
    traffic's, which is counted nowhere. Raises StoreFault.
    """
    with faults():
        rows = db.execute(
            "SELECT id, trace, sample FROM jobs WHERE state = 'waiting' AND purpose = ?", (purpose,)
        ).fetchall()
    gone = [(number, sample) for number, trace, sample in rows if not trace.startswith(tuple(but))]
    if gone:
        with writing(db):
            taken = [
                sample
                for number, sample in gone
                if db.execute("DELETE FROM jobs WHERE id = ? AND state = 'waiting'", (number,)).rowcount
            ]
            for sample in set(taken):
                _drop(db, sample)
        return len(taken)
    return 0


def finished_jobs(db: sqlite3.Connection, limit: int = TOLD_AT_ONCE) -> list[Finished]:
    """Those that were not told yet, oldest first. Raises StoreFault."""
    with faults():
        rows = db.execute(
            "SELECT jobs.id, metric, purpose, stratum, weight, priority, sample, body, result, ended, took FROM jobs"
            " LEFT JOIN samples ON sample = digest WHERE state = 'finished' ORDER BY jobs.id LIMIT ?",
            (limit,),
        ).fetchall()
    samples: dict[bytes, Sample] = {}
    found = []
    for number, metric, purpose, stratum, weight, priority, digest, body, result, ended, took in rows:
        if digest not in samples:
            samples[digest] = _read_sample(body)
        job = Job(metric, samples[digest], weight, stratum, priority, purpose)
        found.append(Finished(job, _read_result(result), ended, took, number))
    return found


def forget_told(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Finished jobs were told: their content goes, results stay as a cache. Raises StoreFault."""
    with writing(db):
        _forget(db, numbers)


def expire(db: sqlite3.Connection, limits: StoreLimits, now: float) -> None:
    """Delete what is older than the retention; what still waited ends as expired. To be called every minute. Raises StoreFault."""
    oldest = now - limits.retention_seconds
    with writing(db):
        # The clock was set back: what bears a time to come would outlive the retention.
        clock = {"now": now, "latest": now + AHEAD_SECONDS}
        db.execute("UPDATE jobs SET added = :now WHERE state = 'waiting' AND added > :latest", clock)
        db.execute("UPDATE jobs SET ended = :now WHERE state = 'told' AND ended > :latest", clock)
        db.execute(
            "UPDATE jobs SET state = 'finished', result = ?, ended = ? WHERE state = 'waiting' AND added < ?",
            (EXPIRED, now, oldest),
        )
        db.execute("DELETE FROM jobs WHERE state = 'told' AND ended < ?", (oldest,))
        db.execute(
            "DELETE FROM calls WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = job AND state IN ('waiting', 'running'))"
        )
        for table in ("spent", "unpriced"):
            db.execute(f"DELETE FROM {table} WHERE minute < ?", (now // 60 - 2 * DAY_MINUTES,))  # noqa: S608 - our own names
    shrink(db)


def waiting_jobs(db: sqlite3.Connection) -> Counter[Waiting]:
    """Jobs of live traffic whose outcome was not told yet. Raises StoreFault."""
    found: Counter[Waiting] = Counter()
    with faults():
        for state in UNTOLD:
            rows = db.execute(
                "SELECT metric, weight, n, body FROM (SELECT metric, weight, sample, count(*) AS n FROM jobs"  # noqa: S608 - our own words
                f" WHERE {state} AND purpose = '{LIVE}' GROUP BY metric, weight, sample) LEFT JOIN samples ON sample = digest"
            )
            for metric, weight, n, body in rows:
                found[metric, _service(body), weight] += n
    return found


def queue_state(db: sqlite3.Connection, now: float) -> QueueState:
    """How it stands. Raises StoreFault."""
    with faults():
        counts = [db.execute(f"SELECT count(*) FROM jobs WHERE {state}").fetchone()[0] for state in UNTOLD]  # noqa: S608
        oldest = [db.execute(f"SELECT min(added) FROM jobs WHERE {state}").fetchone()[0] for state in UNTOLD[:2]]  # noqa: S608
    waited = max((now - added for added in oldest if added is not None), default=0.0)
    return QueueState(dict(zip(QUEUE_STATES, counts, strict=True)), max(0.0, waited))


def _forget(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    ids = [(number,) for number in numbers]
    if not ids:
        return
    rows = [db.execute("SELECT sample FROM jobs WHERE id = ?", one).fetchone() for one in ids]
    db.executemany(f"UPDATE jobs SET state = 'told', sample = NULL WHERE id = ? AND purpose = '{LIVE}'", ids)  # noqa: S608
    db.executemany(f"DELETE FROM jobs WHERE id = ? AND purpose != '{LIVE}'", ids)  # noqa: S608 - our own word
    for sample in {row[0] for row in rows if row is not None and row[0] is not None}:
        _drop(db, sample)


def _throw_out(db: sqlite3.Connection, limits: StoreLimits, now: float) -> Counter[str]:
    """Results of old first, where they take much; then jobs, by number and by bytes."""
    thrown: Counter[str] = Counter()
    over = db.execute("SELECT count(*) FROM jobs WHERE state = 'waiting'").fetchone()[0] - limits.max_queue
    if over > 0:
        thrown += _evict(db, over, now)
    while used_bytes(db) > limits.max_bytes:
        freed = db.execute(
            "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state = 'told' ORDER BY ended LIMIT ?)",
            (FREED_AT_ONCE,),
        ).rowcount
        if not freed:
            evicted = _evict(db, EVICTED_AT_ONCE, now)
            thrown += evicted
            if not evicted:
                break
    return thrown


def _evict(db: sqlite3.Connection, n: int, now: float) -> Counter[str]:
    """The oldest of the lowest priority: each is finished, without its content."""
    rows = db.execute(
        "SELECT id, metric, sample FROM jobs WHERE state = 'waiting' ORDER BY priority, id LIMIT ?", (n,)
    ).fetchall()
    for number, _, sample in rows:
        slim = _slim(db, sample)
        db.execute(
            "UPDATE jobs SET state = 'finished', result = ?, ended = ?, sample = ? WHERE id = ?",
            (QUEUE_FULL, now, slim, number),
        )
        _drop(db, sample)
    return Counter(metric for _, metric, _ in rows)


def _read_sample(body: bytes | None) -> Sample:
    """What stands there. A row that can't be read, on a disk that lost a part, must not keep all others from being told."""
    try:
        return LOST if body is None else _sample(body)
    except msgspec.DecodeError:
        return LOST


def _service(body: bytes | None) -> str:
    """Of a sample, without reading the rest."""
    try:
        return LOST.service if body is None else _served(body).service
    except msgspec.DecodeError:
        return LOST.service


def _read_result(body: bytes | None) -> Result:
    try:
        return _result(body or b"")
    except msgspec.DecodeError:
        return unscored(Reason.STORE_FAILED)


def _slim(db: sqlite3.Connection, digest: bytes) -> bytes:
    """The sample without its texts: who is told of the eviction needs to know of which span it was, and no more."""
    row = db.execute("SELECT body FROM samples WHERE digest = ?", (digest,)).fetchone()
    whole = _read_sample(None if row is None else row[0])
    return _keep(db, msgspec.structs.replace(whole, question=None, answer=None, contexts=(), messages=()))[0]


def _keep(db: sqlite3.Connection, sample: Sample) -> tuple[bytes, int]:
    """Store a sample, unless it is there; its digest, and its bytes."""
    body = _encode(sample)
    digest = blake2b(body, digest_size=16).digest()
    db.execute("INSERT OR IGNORE INTO samples VALUES (?, ?)", (digest, body))
    return digest, len(body)


def _drop(db: sqlite3.Connection, digest: bytes) -> None:
    """Delete a sample that no job has any more."""
    unused = "DELETE FROM samples WHERE digest = :digest AND NOT EXISTS (SELECT 1 FROM jobs WHERE sample = :digest)"
    db.execute(unused, {"digest": digest})
