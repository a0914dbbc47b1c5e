"""What the judge's thread sees is counted: every figure has somebody who moves it."""

from pathlib import Path
from types import SimpleNamespace

import lanewatch.judging.figures
import lanewatch.monitors.judge.figures
import pytest
from lanewatch.judging.figures import JudgeFigures
from lanewatch.monitors.judge.figures import FIGURES, Figures
from lanewatch.monitors.judge.results import INJECTION_SUSPECTED, EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.states import Finished
from lanewatch.monitors.judge.store_notes import Beat, Status
from msgspec.structs import replace

from tests.monitors.judge.stores import PAID, a_job

DECLARED = Path(lanewatch.monitors.judge.figures.__file__)
SOURCES = Path(lanewatch.judging.figures.__file__).parent, DECLARED.parents[1]


def counted(result: Result, purpose: str = "live") -> dict[str, float]:
    """The figures of one metric that one finished job has moved."""
    figures = Figures([PAID])
    JudgeFigures(figures).finished(Finished(replace(a_job("t", PAID), purpose=purpose), result, 0.0))
    return {one.name: values[PAID,] for one, values in figures.values() if values.get((PAID,))}


def test_a_text_that_speaks_to_the_judge_is_counted_with_or_without_a_score() -> None:
    """Of live traffic; an anchor of ours is none."""
    scored = Result(EvaluationOutcome.SCORED, value=1.0, flags=(INJECTION_SUSPECTED, "usage_estimated"))

    assert counted(scored) == {"lanewatch_judge_injection_suspected": 1}
    assert counted(unscored(Reason.JUDGE_INVALID, flags=(INJECTION_SUSPECTED,))) == {
        "lanewatch_judge_injection_suspected": 1
    }
    assert counted(scored, "canary") == {}


def test_a_verdict_that_another_order_changes_is_counted() -> None:
    """As the evaluation that it left without a score is."""
    assert counted(unscored(Reason.UNSTABLE)) == {"lanewatch_judge_unstable": 1}
    assert counted(unscored(Reason.TIMEOUT)) == {}


def test_what_was_spent_at_a_price_that_nobody_knows_is_absent_and_not_0() -> None:
    """Also where it was known before; the tokens stand in a family of their own."""
    figures = Figures([PAID])
    told = JudgeFigures(figures)
    worker = SimpleNamespace(instance="w", running=True, memory_bytes=1)
    key = (PAID, "hour")

    def spent(status: Status) -> dict[str, float]:
        told.worker(worker, Beat(1, status))  # type: ignore[arg-type]
        return {one.name: values[key] for one, values in figures.values() if key in values}

    assert spent(Status(spent=((*key, 0.5),))) == {"lanewatch_judge_budget_spent_dollars": 0.5}
    assert spent(Status(unpriced_tokens=((*key, 700),))) == {"lanewatch_judge_budget_unpriced_tokens": 700}


def test_who_scores_a_metric_is_told_and_no_longer_told_once_another_does() -> None:
    """One series a metric: a version that stood beside the next would be joined to its scores."""
    figures = Figures([PAID])
    told = JudgeFigures(figures)
    worker = SimpleNamespace(instance="w", running=True, memory_bytes=1)
    judges = [(PAID, "ragas", f"1/ragas-{n}", "m", "") for n in (1, 2)]
    for one in judges:
        told.worker(worker, Beat(1, Status(judges=(one,))))  # type: ignore[arg-type]
    found = next(values for one, values in figures.values() if one.name == "lanewatch_judge_info")

    assert found == {judges[1]: 1}


@pytest.mark.parametrize("name", [one.name for one in FIGURES])
def test_every_figure_is_moved_somewhere(name: str) -> None:
    """A series that nobody counts stands at 0, which reads as that nothing ever happened."""
    texts = (path.read_text() for folder in SOURCES for path in folder.rglob("*.py") if path != DECLARED)

    assert any(f'"{name}"' in text for text in texts)
