"""Which metrics can be had: each that can't says what to do, and doing so helps."""

import pytest
from lanewatch.monitors.judge.active import EXTRAS, LOCAL_MODEL, NEEDS_INSTALLED, missing, remedy
from lanewatch.monitors.judge.metrics import METRICS, Evaluator, Metric
from lanewatch.monitors.judge.settings import EndpointSettings, WorkerSettings

ENDPOINT = EndpointSettings("http://127.0.0.1:1/v1", "m")
MODULES = {
    f"'.[{extra}]'": {NEEDS_INSTALLED[evaluator], *([LOCAL_MODEL] if extra == "local" else [])}
    for evaluator, extra in EXTRAS.items()
}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_following_the_remedies_makes_a_metric_possible(metric: Metric) -> None:
    """From an installation of the core alone without an endpoint, in at most three steps, none of which is said twice."""
    settings, installed, said = WorkerSettings(""), set[str](), list[str]()
    while (why := missing(metric, settings, installed.__contains__)) is not None:
        said.append(remedy(metric, why, installed.__contains__))
        if said[-1] == "set judge.base_url and judge.model":
            settings = WorkerSettings("", endpoint=ENDPOINT)
        else:
            installed |= next(modules for extra, modules in MODULES.items() if extra in said[-1])
        assert len(said) == len(set(said)) <= 3

    assert bool(said) == (metric.evaluator is not Evaluator.SUPPORT)
