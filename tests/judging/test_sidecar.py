"""The judge's parts put together: what is said at the start of settings that judge less than they seem to."""

import pytest
from lanewatch.config.judge import Judge
from lanewatch.config.loading import Config
from lanewatch.judging.sidecar import SidecarJudge
from lanewatch.monitors.exposition import Exposition
from lanewatch.rules import rules_of

URL = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (Judge(base_url=URL, model="m", metrics="number_support"), "no metric that is judged here asks a model"),
        (Judge(base_url=URL, model="m", metrics="entailment_support"), ""),
        (Judge(metrics="number_support"), ""),
        (
            Judge(base_url=URL, model="gpt-4o", second_base_url=URL, second_model="codex-mini", metrics="entailment_support"),
            "The second judge (codex-mini) is of the first one's family (gpt-4o)",
        ),
        (Judge(metrics="faithfulness"), "faithfulness, which can't be had here (no_endpoint): set judge.base_url and judge.model"),
        (Judge(canaries="nowhere.jsonl"), "judge.canaries is not used: nowhere.jsonl: No such file"),
    ],
)  # fmt: skip
def test_what_judges_less_than_it_seems_to_is_said_at_the_start(
    judge: Judge, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With what to do about it; nothing is said of what judges as it was told to."""
    config = Config(judge=judge)
    SidecarJudge(config, rules_of(config), Exposition(max_services=10, max_tools=10), lambda: 0.0)

    assert said in caplog.text
    assert bool(said) == bool(caplog.text)
