"""Every expression of the dashboards asked of a real Prometheus that scrapes a sidecar with recorded traffic.

One run serves all tests here: 1,700 traces, of which most are for drift to learn what is usual.
"""

import math
import re
import shutil
import time
from collections.abc import Iterator

import pytest

from dashboards.lanes import LANES, lanes
from dashboards.queries import Target, targets
from tests.dashboards.pages import EVERY, PAGES
from tests.system.alerting import scraping
from tests.system.dashboard_run import LEARNING, SCRAPE_SECONDS, Answers, play
from tests.system.lane_faults import CONTROL
from tests.system.sidecar import running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("prometheus"), reason="apt-get install prometheus"),
]
TARGETS = [target for page in PAGES.values() for target in targets(page)]
# A signal of each lane that the traffic has bins of; each has a variable in Drift.
SIGNALS = {"retrieval": "contexts", "generation": "response_length", "tools": "tool", "outcome": "latency"}
VALUES = {f"{lane}_signal": signal for lane, signal in SIGNALS.items()} | dict.fromkeys(
    ("tool", "job", "instance", *(f"{lane}_score" for lane in SIGNALS)), EVERY
)
# Panels that this traffic leaves empty, and why, by the beginning of their name.
EMPTY = {
    "Lanewatch / Drift / Learnt so far": "there is no such series once a reference is learnt",
    "Lanewatch / Sidecar / Nobody is asked, because": "nothing is wrong with an endpoint",
}
# The same of what a judge says by a model, or after hours: a sidecar without an endpoint has the offline signals alone.
NEEDS_A_MODEL = (
    "Lanewatch / Retrieval and generation / Retrieval: ",
    "Lanewatch / Retrieval and generation / Outcome: ",
    "Lanewatch / Retrieval and generation / Judges that changed",
    "Lanewatch / Retrieval and generation / Anchors",
    "Lanewatch / Retrieval and generation / Age of the anchors",
    "Lanewatch / Retrieval and generation / Agreement of two judges",
    "Lanewatch / Retrieval and generation / Favours long answers?",
    "Lanewatch / Retrieval and generation / Verdicts that do not hold",
    "Lanewatch / Sidecar / Budget spent",
    "Lanewatch / Sidecar / Calls of the endpoint",
    "Lanewatch / Sidecar / Cost",
    "Lanewatch / Sidecar / Tokens",
    "Lanewatch / Sidecar / Calls without a price",
)
# What is drawn to be judged goes by what is wrong in any lane, so a score's estimate differs by chance between two services.
JUDGED = re.compile(r"lanewatch[_:](judge|score|evaluations)_")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """What Prometheus says after the run."""
    folder = tmp_path_factory.mktemp("dashboards")
    with (
        running(**LEARNING) as sidecar,
        scraping(folder, sidecar.page_port, interval_seconds=SCRAPE_SECONDS) as scraped,
    ):
        since = play(sidecar, scraped, now=time.time())
        yield Answers(scraped, time.time(), since)


def test_every_expression_gives_data_or_is_known_to_have_none(answers: Answers) -> None:
    """With variables as Grafana fills them in; an expression that never gives data is a panel that nobody can trust."""
    empty = {one.name for one in TARGETS if not answers.of(one, {**VALUES, "service": EVERY})}

    assert {name for name in empty if not name.startswith((*EMPTY, *NEEDS_A_MODEL))} == set()
    assert {begin for begin in EMPTY if not any(name.startswith(begin) for name in empty)} == set()


def of_lane(lane: str) -> list[Target]:
    """The expressions of a lane that go by service, but for what is drawn."""
    return [one for one in TARGETS if lanes(one) == {lane} and "$service" in one.expr and not JUDGED.search(one.expr)]


def moved(answers: Answers, lane: str, service: str) -> set[str]:
    """Panels of a lane that say something else of a service than of the one without its fault."""
    found = set()
    for target in of_lane(lane):
        told, healthy = (answers.of(target, {**VALUES, "service": one}) for one in (service, CONTROL[service]))
        same = told.keys() == healthy.keys() and all(
            math.isclose(told[key], healthy[key], rel_tol=1e-6, abs_tol=1e-9) for key in told
        )
        if not same:
            found.add(target.name)
    return found


@pytest.mark.parametrize("lane", sorted(LANES))
def test_a_fault_in_a_lane_moves_the_panels_of_that_lane_alone(answers: Answers, lane: str) -> None:
    """The service whose name is the lane's has a fault there, and is like the healthy one everywhere else."""
    others = {name for other in LANES - {lane} for name in moved(answers, other, lane)}

    assert moved(answers, lane, lane) != set()
    assert others == set()


def test_drift_is_among_what_a_fault_moves(answers: Answers) -> None:
    """The two services with a reference: one whose runtime rewrites arguments, and one whose does not."""
    told = moved(answers, "tools", "tools")

    assert {name for name in told if name.startswith("Lanewatch / Drift / Signals")} != set()


def test_the_curves_of_divergences_lead_to_traces(answers: Answers) -> None:
    """Prometheus has exemplars for each target that asks for them: ids of traces, as the sidecar saw them."""
    asking = [one for one in TARGETS if one.exemplar and not one.name.startswith(NEEDS_A_MODEL)]
    found = {one.name: answers.exemplars(one, {**VALUES, "service": EVERY}) for one in asking}

    assert len(asking) >= 5
    assert {name for name, ids in found.items() if not ids} == set()
    assert {len(trace_id) for ids in found.values() for trace_id in ids} == {32}


def test_a_first_event_is_counted(answers: Answers) -> None:
    """The only faulty artifact: its series was born with it, and increase() knows nothing of it."""
    (target,) = (one for one in TARGETS if one.panel.startswith("Each producer, tool and kind"))
    found = answers.of(target, {**VALUES, "service": EVERY})
    increase = 'sum(increase(lanewatch_artifact_divergences_total{producer="mine"}[5m]))'
    (alone,) = answers.scraped.get("/api/v1/query", query=increase, time=f"{answers.at:.3f}")["result"]

    assert sum(value for labels, value in found.items() if ("producer", "mine") in labels) >= 1
    assert float(alone["value"][1]) == 0
