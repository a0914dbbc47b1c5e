"""A sidecar that has learnt what is usual of five services, then got a fault in one lane of each but one, and what
Prometheus answers to each expression of the dashboards.

The five get the same turns at the same times, so that panels of two of them differ by the fault alone.
"""

import json
import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from lanewatch.config.keys import Config
from lanewatch.replaying.playback import replay

from dashboards.queries import Span, Target, filled
from tests.system.alerting import Prometheus, wait_for
from tests.system.captures import CORPUS, bodies
from tests.system.lane_faults import FAULTS, turns
from tests.system.sidecar import Running
from tests.system.test_artifacts import push, without_a_call

PROTOBUF, JSON = "application/x-protobuf", "application/json"
SCRAPE_SECONDS = 1
LEARNERS = ("usual", "tools")  # 500 observations of a series make a reference, so only these two get that many turns
FIT, LEARNT, FAULTY = 440, 760, 24  # traces of both together; turns a service
SPACING = 10.0  # seconds between two turns of a service, by their own clock
# Longer than all that is learnt from: it is looked at once a minute, so one late turn ends it when the others are read.
LEARNING = {
    "LANEWATCH_JUDGE_ENABLED": "true",
    "LANEWATCH_DRIFT_FIT_TRACES": str(FIT),
    "LANEWATCH_DRIFT_LEARNING_SECONDS": str(LEARNT * SPACING),
}
LATE = FIT * SPACING
PAUSE = 120.0  # seconds after the faults, by their own clock: drift works out sizes once a minute
BATCH = 50
# What else the agents of the corpus do: errors, refusals, calls that are dropped, rewritten or break a schema.
STACK = "langchain_oi"
CAPTURES = (
    "03_parallel",
    "05_tool_error",
    "07_runtime_rewrite",
    "07b_rewrite_inside",
    "08_dropped",
    "09_refusal",
    "14b_bad_schema",
)


def post_all(sidecar: Running, made: Iterable[bytes]) -> None:
    """Send bodies, some in one request each: bodies of one message, one behind the other, are one message."""
    waiting = list(made)
    for first in range(0, len(waiting), BATCH):
        body = b"".join(waiting[first : first + BATCH])
        wait_for(lambda body=body: sidecar.post("/v1/traces", body, Content_Type=PROTOBUF) == 200, "traffic")  # type: ignore[misc]


def play(sidecar: Running, scraped: Prometheus, *, now: float) -> float:
    """Learn, then the faults, then the captures and a faulty artifact; returns when all of it is read, scraped and recorded.

    The moment from which on the faults came.
    """
    begin = (
        (now - (LEARNT + FAULTY) * SPACING - LATE - 2 * PAUSE) // SPACING * SPACING
    )  # a tick of drift, for all services alike
    times = [begin + number * SPACING + LATE * (number >= LEARNT) for number in range(LEARNT + FAULTY)]
    born = [body for service in FAULTS for _, body in turns(service, [begin - SPACING], faulty=False)]
    post_all(sidecar, born)
    sidecar.wait_until_read(len(born))
    wait_scraped(scraped, 2)  # every series is born with the same count, which increase() does not see
    usual = [body for at in times[:LEARNT] for service in LEARNERS for _, body in turns(service, [at], faulty=False)]
    post_all(sidecar, usual)
    read = len(born) + len(usual)
    wait_read(sidecar, read)
    post_all(
        sidecar, (body for service in FAULTS for _, body in turns(service, [times[LEARNT] - SPACING], faulty=False))
    )
    wait_read(sidecar, read := read + len(FAULTS))
    sidecar.wait_for(lambda: sidecar.total("lanewatch_drift_phase", phase="watching") == 1)
    wait_scraped(scraped, 2)  # every series was seen before it moves
    since = time.time()
    made = [(service, *one) for at in times[LEARNT:] for service in FAULTS for one in turns(service, [at], faulty=True)]
    for service, trace_id, _ in made:
        if service == "outcome":
            told = {"name": "state", "trace_id": trace_id, "status": "fail"}
            assert sidecar.post("/v1/outcomes", json.dumps(told).encode(), Content_Type=JSON) == 202
    post_all(sidecar, (body for _, _, body in made))
    for capture in CAPTURES:
        for signal, body in bodies(f"{STACK}/{capture}"):
            assert sidecar.post(f"/v1/{signal}", body, Content_Type=PROTOBUF) == 200
    wait_read(sidecar, read := read + len(made) + len(CAPTURES))
    # Of those without a reference: time passes for drift, and nothing is added to what it has seen of the others.
    others = [service for service in FAULTS if service not in LEARNERS]
    post_all(sidecar, (body for service in others for _, body in turns(service, [times[-1] + PAUSE], faulty=False)))
    wait_read(sidecar, read + len(others))
    record = replay(CORPUS / STACK / CAPTURES[0], Config()).observations[0].record
    assert push(sidecar, trace_id=record.trace_id, messages=without_a_call(record.messages)) == 202
    sidecar.wait_for(lambda: sidecar.total("lanewatch_artifact_divergences_total", producer="mine") > 0)
    lanes = "count(count by (lane) (lanewatch_drift_psi)) == 4"
    for expr in ("lanewatch:score_mean:1h", lanes, f'min(lanewatch_effective_n{{window="1h"}}) >= {FAULTY}'):
        wait_for(lambda expr=expr: bool(scraped.query(expr)), expr)  # type: ignore[misc]
    wait_scraped(scraped, 4)
    return since


def wait_read(sidecar: Running, traces: int) -> None:
    """Until so many traces were read: most of the time that the run takes, so it is given more than others."""
    wait_for(lambda: sidecar.total("lanewatch_traces_read_total") >= traces, f"{traces} traces")


def wait_scraped(scraped: Prometheus, times: int) -> None:
    """Until the sidecar was scraped so many times more, and the rules were worked out as often."""
    after = time.time()
    wait_for(lambda: len([at for at in scrapes(scraped) if at > after]) >= times, "scrapes")


def scrapes(scraped: Prometheus) -> list[float]:
    """When the sidecar was scraped in the last minutes."""
    return [float(at) for one in scraped.query("up[5m]") for at, value in one["values"] if value == "1"]


class Answers(msgspec.Struct, frozen=True):
    """A server, the moment at which it is asked, and from when on the faults came: the time shown, in one step."""

    scraped: Prometheus
    at: float
    since: float

    @property
    def shown(self) -> Span:
        """The time shown in one step, so that a rate is of all of it."""
        length = math.ceil(self.at - self.since) + SCRAPE_SECONDS  # with a scrape before the faults
        return Span(length=length, step=length - SCRAPE_SECONDS, scrape=SCRAPE_SECONDS)

    def of(self, target: Target, values: Mapping[str, str]) -> dict[tuple[tuple[str, str], ...], float]:
        """Values by their labels, but for the one of the service."""
        expr = filled(target.expr, {**self.shown.variables(), **values})
        found = self.scraped.get("/api/v1/query", query=expr, time=f"{self.at:.3f}")["result"]
        return {_labels(one["metric"]): float(one["value"][1]) for one in found}

    def exemplars(self, target: Target, values: Mapping[str, str]) -> set[str]:
        """Trace ids of the exemplars that Grafana gets for a curve."""
        expr = filled(target.expr, {**self.shown.variables(), **values})
        found = self.scraped.get(
            "/api/v1/query_exemplars", query=expr, start=f"{self.at - self.shown.length:.3f}", end=f"{self.at:.3f}"
        )
        return {one["labels"]["trace_id"] for series in found for one in series["exemplars"]}


def _labels(metric: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in metric.items() if name != "service"))
