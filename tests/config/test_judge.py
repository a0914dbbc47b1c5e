"""The judge's settings: half an endpoint, a metric that nobody has and an address that nobody can ask are faults."""

from pathlib import Path

import pytest
from lanewatch.config.faults import ConfigFaults
from lanewatch.config.keys import Config
from lanewatch.config.loading import load_config
from lanewatch.config.values import MIB
from lanewatch.judging.parts import rates, store_limits, summary, worker_settings
from lanewatch.monitors.judge.settings import Rates, StoreLimits, WorkerSettings

ENDPOINT = '[judge]\nbase_url = "http://127.0.0.1:8000/v1"\nmodel = "m"\n'


def written(folder: Path, text: str) -> Path:
    """A file with this text."""
    path = folder / "lanewatch.toml"
    path.write_text(text)
    return path


def faults(folder: Path, text: str) -> list[str]:
    """What is wrong with it."""
    try:
        load_config(written(folder, text), {})
    except ConfigFaults as found:
        return [str(fault) for fault in found.faults]
    return []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('base_url = "http://127.0.0.1/v1"', "judge.base_url: judge.model is not set; set judge.model, or take"),
        ('model = "m"', "judge.model: judge.base_url is not set"),
        ('api_key = "k"', "judge.api_key: judge.base_url is not set"),
        ('embeddings_model = "m"', "judge.embeddings_model: judge.base_url is not set"),
        ('second_model = "m"', "judge.second_model: judge.second_base_url is not set"),
        ('base_url = "ftp://h/v1"', "judge.base_url: the value is text; set an address that begins with http://"),
        ('base_url = "127.0.0.1:8000"', "judge.base_url: the value is text"),
        ('base_url = "http://u:p@h/v1"', "judge.base_url: the value is text"),
        ('base_url = "http://[::1/v1"', "judge.base_url: the value is text"),
        ('base_url = "http://h:99999/v1"', "judge.base_url: the value is text"),
        ('base_url = "http://"', "judge.base_url: the value is text"),
        ('scores_endpoint = "collector:4318"', "judge.scores_endpoint: the value is text"),
        ('metrics = "faithfullness"', "judge.metrics: a name in it is no metric's; did you mean faithfulness?"),
        ('topics = "orders,,returns"', "judge.topics: the value is text; set up to 20 topics"),
        ("max_in_flight = 0", "judge.max_in_flight: the value is an integer out of range"),
        ("second_share = 1.5", "judge.second_share: the value is a number out of range"),
        ("retention_seconds = 1", "judge.retention_seconds: the value is a number out of range"),
    ],
)
def test_what_would_judge_nothing_is_a_fault(tmp_path: Path, text: str, told: str) -> None:
    """A judge that is never asked must not look like traffic that is never bad."""
    assert any(fault.startswith(told) for fault in faults(tmp_path, f"[judge]\n{text}\n"))


def test_a_second_judge_needs_a_first(tmp_path: Path) -> None:
    """An agreement is of two."""
    second = '[judge]\nsecond_base_url = "http://127.0.0.1:8001/v1"\nsecond_model = "n"\n'

    assert faults(tmp_path, second)[0].startswith("judge.second_model: judge.model is not set")
    assert faults(tmp_path, ENDPOINT + second.removeprefix("[judge]\n")) == []


def test_an_endpoint_is_an_address_and_a_model(tmp_path: Path) -> None:
    """The two settings that make a model the judge reach the worker, the key among them."""
    config = load_config(written(tmp_path, ENDPOINT + 'api_key = "secret-key"\n'), {})
    told = worker_settings(config, "folder")

    assert (told.endpoint.base_url, told.endpoint.model, told.endpoint.api_key) == (
        "http://127.0.0.1:8000/v1",
        "m",
        "secret-key",
    )
    assert told.endpoint
    assert not told.second
    assert "secret-key" not in repr(told)
    assert "secret-key" not in repr(config)


def test_a_key_may_stand_in_a_file(tmp_path: Path) -> None:
    """As every secret may."""
    (tmp_path / "key").write_text("from-a-file\n")
    config = load_config(written(tmp_path, ENDPOINT + 'api_key_file = "key"\n'), {})

    assert worker_settings(config, "").endpoint.api_key == "from-a-file"


def test_a_key_in_the_clear_is_warned_of(tmp_path: Path) -> None:
    """A local endpoint needs no TLS; another one does."""
    far = ENDPOINT.replace("127.0.0.1", "judge.internal") + 'api_key = "k"\n'

    assert load_config(written(tmp_path, ENDPOINT + 'api_key = "k"\n'), {}).warnings() == []
    assert "in the clear" in load_config(written(tmp_path, far), {}).warnings()[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[judge]\nmetrics = "faithfulness"\n', "judge.metrics names faithfulness, which asks a model"),
        (
            ENDPOINT + 'metrics = "topic_adherence"\n',
            "judge.metrics names topic_adherence, and judge.topics is not set",
        ),
        (ENDPOINT + "[budget]\ntokens_per_minute = 5000\n", "budget.tokens_per_minute is less than one call may take"),
    ],
)
def test_what_could_never_end_in_a_score_is_warned_of(tmp_path: Path, text: str, told: str) -> None:
    """Before the first trace: each sample would be paid for by nobody, or end without a score."""
    found = load_config(written(tmp_path, text), {}).warnings()

    assert [warning.startswith(told) for warning in found] == [True]


def test_what_can_end_in_a_score_is_not_warned_of(tmp_path: Path) -> None:
    """The same with what was missing."""
    text = (
        ENDPOINT + 'metrics = "faithfulness,topic_adherence"\ntopics = "orders"\n[budget]\ntokens_per_minute = 60000\n'
    )

    assert load_config(written(tmp_path, text), {}).warnings() == []


def test_the_worker_s_own_defaults_are_those_of_the_settings() -> None:
    """A worker that is built in a test behaves as one that a sidecar starts."""
    config = Config()

    assert worker_settings(config, "f") == WorkerSettings("f")
    assert rates(config) == Rates()
    assert store_limits(config) == StoreLimits(max_bytes=256 * MIB)


def test_the_start_says_who_judges(tmp_path: Path) -> None:
    """Whoever reads the log knows whether a model is asked; nobody who switched it off is told anything."""
    off = load_config(written(tmp_path, "[judge]\nenabled = false\n"), {})
    asked = load_config(written(tmp_path, ENDPOINT), {})
    second = 'second_base_url = "http://127.0.0.1:8001/v1"\nsecond_model = "n"\nsecond_share = 0.5\n'
    both = load_config(written(tmp_path, ENDPOINT + second), {})

    assert summary(off) == []
    assert "no model" in summary(Config())[0]
    assert "m at http://127.0.0.1:8000/v1;" in summary(asked)[0]
    assert "m at http://127.0.0.1:8000/v1, and n of 50% of what it scores;" in summary(both)[0]
