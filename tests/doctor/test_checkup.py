"""What the doctor finds wrong, and what it says to do; nothing is guessed."""

import json
from typing import Any

import pytest
from lanewatch.config.keys import Drift, Metrics, Receivers
from lanewatch.config.loading import Config
from lanewatch.config.tools import ToolEntry
from lanewatch.doctor.check import Status
from lanewatch.doctor.checkup import Diagnosis, changed_settings, diagnose
from lanewatch.pages.client import Answer, PageAddressError, PageClient, PagesUnreachableError
from pydantic import SecretStr

WELL = Answer(200, b'{"ok":true}')
SERIES = {"service": "my shop", "lane": "tools", "signal": "tool_error", "state": "ok", "because": []}
DRIFT: dict[str, Any] = {
    "phase": "watching", "because": "", "reference": "abc", "false_alarms_per_30_days": 1.0, "budget_of": "instance",
    "storage": {}, "series": [SERIES], "learning": None,
}  # fmt: skip
COUNTERS = {
    "lanewatch_spans_received_total": 100,
    "lanewatch_spans_irrelevant_total": 10,
    "lanewatch_traces_read_total": 9,
    'lanewatch_judge_queue_jobs{state="waiting"}': 0,
}


class Pages(PageClient):
    """Answers as a sidecar would; what is not given is well."""

    def __init__(self, config: Config, answers: dict[str, Answer] | None = None, **counters: float) -> None:
        super().__init__(None, config)
        page = "\n".join(f"{name} {value}" for name, value in {**COUNTERS, **counters}.items()).encode()
        usual = {"/healthz": WELL, "/readyz": WELL, "/metrics": Answer(200, page), "/drift": drift()}
        self._answers = {**usual, **(answers or {})}

    def get(self, path: str) -> Answer:
        """The answer of that page."""
        answer = self._answers[path]
        if answer.status == 0:
            raise PagesUnreachableError("nobody answers")
        return answer


def drift(**fields: Any) -> Answer:
    """The page of drift."""
    return Answer(200, json.dumps({**DRIFT, **fields}).encode())


def looked(
    config: Config | None = None,
    answers: dict[str, Answer] | None = None,
    counters: dict[str, float] | None = None,
) -> Diagnosis:
    """A diagnosis where everybody listens."""
    config = config or Config()
    return diagnose(
        config, Pages(config, answers, **(counters or {})), connect=lambda _host, _port: True, clock=lambda: 1000.0
    )


def found(diagnosis: Diagnosis, name: str) -> Any:
    """The check of that name."""
    return next(check for check in diagnosis.checks if check.name == name)


def test_a_sidecar_that_works_is_sound() -> None:
    """Every check is there, and none is wrong."""
    diagnosis = looked()

    assert diagnosis.sound
    assert [check.name for check in diagnosis.checks] == [
        "configuration", "OTLP/gRPC", "OTLP/HTTP", "pages", "works", "takes data", "traffic", "judge", "drift", "drift state",
    ]  # fmt: skip
    assert "1 signal is watched against abc; 1 false alarm in 30 days at most, all" in found(diagnosis, "drift").found


def test_nobody_who_listens_is_wrong_and_names_the_setting() -> None:
    """A port of 0 can't be asked, which is no fault."""
    config = Config(receivers=Receivers(http_port=0))
    diagnosis = diagnose(config, Pages(config), connect=lambda _host, port: port != 4317)

    assert found(diagnosis, "OTLP/gRPC").status is Status.WRONG
    assert found(diagnosis, "OTLP/HTTP").status is Status.UNKNOWN
    assert not diagnosis.sound


def test_the_rules_that_are_set_are_named_by_their_versions() -> None:
    """Records carry them: two replicas with different ones judge differently."""
    config = Config(tools={"refund": ToolEntry(owner="payments")})
    diagnosis = looked(config)
    check = found(diagnosis, "configuration")

    assert check.found.startswith("valid; 0 settings differ from the defaults; Registry: 1 tool, version ")
    assert "Registry" not in found(looked(), "configuration").found


def test_a_sidecar_that_is_not_there_is_one_check() -> None:
    """Nothing is said of what could not be asked."""
    diagnosis = looked(answers={"/metrics": Answer(0, b"")})

    assert found(diagnosis, "sidecar").status is Status.WRONG
    assert diagnosis.checks[-1].name == "sidecar"


def test_what_the_sidecar_says_of_itself_is_repeated_with_its_remedies() -> None:
    """Healthz and readyz have reasons."""
    sick = Answer(503, b'{"ok":false,"reasons":["reading_stuck"],"remedies":{"reading_stuck":"restart it"}}')
    diagnosis = looked(answers={"/healthz": sick, "/readyz": Answer(500, b"?")})

    assert found(diagnosis, "works").found == "reading_stuck"
    assert "restart it" in found(diagnosis, "works").remedy
    assert found(diagnosis, "takes data").status is Status.UNKNOWN


def test_standing_alarms_and_held_back_signals_are_named_with_what_to_do() -> None:
    """The command can be copied, whatever the service is called."""
    series = [
        {**SERIES, "state": "alarm"},
        {**SERIES, "signal": "refusal", "state": "unsure", "because": ["evidence_responses:my shop"]},
    ]
    diagnosis = looked(answers={"/drift": drift(series=series)})

    assert "lanewatch drift ack 'my shop' tool_error" in found(diagnosis, "drift alarm").remedy
    assert "1 signal:" in found(diagnosis, "drift unsure").found
    assert diagnosis.sound


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({"phase": "no_reference", "because": "missing"}, Status.WRONG, "the reference that is set is missing"),
        (
            {
                "phase": "learning",
                "learning": {"fitted": 3, "fit_traces": 5, "counted_seconds": 0, "learning_seconds": 9},
            },
            Status.NOTE,
            "3 of 5 traces",
        ),
        (
            {
                "phase": "learning",
                "learning": {"fitted": 5, "fit_traces": 5, "counted_seconds": 86400, "learning_seconds": 604800},
            },
            Status.NOTE,
            "1.0 of 7.0 days",
        ),
    ],
)
def test_a_reference_that_is_not_there_yet_says_how_far_it_is(
    fields: dict[str, Any], status: Status, told: str
) -> None:
    """Learning is no fault; a file that can't be used is."""
    check = found(looked(answers={"/drift": drift(**fields)}), "drift")

    assert check.status is status
    assert told in check.found


@pytest.mark.parametrize(
    ("folder", "storage", "status"),
    [
        ("", {}, Status.NOTE),
        ("/var/lib/x", {"since": 990.0}, Status.OK),
        ("/var/lib/x", {"since": 10.0}, Status.WRONG),
        ("/var/lib/x", {"failed": 2}, Status.WRONG),
        ("/var/lib/x", {"set_aside": 1}, Status.NOTE),
    ],
)
def test_what_survives_a_restart_is_looked_at(folder: str, storage: dict[str, Any], status: Status) -> None:
    """A state that was written long ago is as good as none."""
    config = Config(drift=Drift(state_folder=folder))

    assert found(looked(config, {"/drift": drift(storage=storage)}), "drift state").status is status


def test_drift_that_is_off_or_of_another_version_is_not_read() -> None:
    """Off is a choice; a page of another shape is unknown."""
    off = Config(drift=Drift(enabled=False))

    assert found(looked(off, {"/drift": Answer(404, b"")}), "drift").status is Status.NOTE
    assert found(looked(answers={"/drift": Answer(200, b"{}")}), "drift").status is Status.UNKNOWN


@pytest.mark.parametrize(
    "page",
    [
        Answer(200, b'lanewatch_spans_received_total{a="'),
        Answer(502, b"lanewatch_spans_received_total 5"),
        Answer(200, b"<html>Welcome</html>"),
        Answer(200, b"go_goroutines 8"),
    ],
    ids=["half of one", "a proxy's", "a page that answers any path", "another exporter's"],
)
def test_what_has_no_counters_of_lanewatch_is_no_sidecar(page: Answer) -> None:
    """Whatever else it answers: no part of it is said to work, and the diagnosis is not sound."""
    diagnosis = looked(answers={"/metrics": page})

    assert found(diagnosis, "sidecar").status is Status.WRONG
    assert not diagnosis.sound
    assert "works" not in [check.name for check in diagnosis.checks]


def test_a_health_page_of_another_shape_is_unknown() -> None:
    """200 alone is not Lanewatch's word for it, however deep what comes with it is nested."""
    for body in (b"<html>", b"{}", b"[" * 100_000):
        assert found(looked(answers={"/healthz": Answer(200, body)}), "works").status is Status.UNKNOWN
        assert found(looked(answers={"/drift": Answer(200, body)}), "drift").status is Status.UNKNOWN


def test_settings_that_differ_are_shown_and_secrets_are_not() -> None:
    """A diagnosis is pasted into tickets."""
    config = Config(receivers=Receivers(bearer_token=SecretStr("s3cret")), metrics=Metrics(port=9000))

    assert changed_settings(config) == {"receivers.bearer_token": "set", "metrics.port": 9000}
    assert changed_settings(Config()) == {}


@pytest.mark.parametrize(
    "url",
    [
        *("9464", "ftp://x", "http://", "http://x:0", "http://[::1", "http://..", f"http://{'a' * 64}", "http://a b"),
        *("http://x/ü", "http://ada:s3cret@x", "http://x/?a=b", "http://x/#a"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Before anything is asked."""
    with pytest.raises(PageAddressError):
        PageClient(url, Config())


def test_the_pages_are_asked_where_the_configuration_has_them() -> None:
    """What listens everywhere is asked on this machine."""
    assert PageClient(None, Config(metrics=Metrics(host="0.0.0.0", port=1))).address == "http://127.0.0.1:1"
    assert PageClient(None, Config(metrics=Metrics(host="::1", port=1))).address == "http://[::1]:1"


@pytest.mark.parametrize(
    ("because", "remedy"),
    [("clock_went_back", "clock was set back"), ("judge_canaries", "canaries"), ("evidence_requests:shop", "to hide")],
)
def test_each_reason_to_be_unsure_has_a_remedy_of_its_own(because: str, remedy: str) -> None:
    """A clock is not put right by looking for what traces hide."""
    series = {**SERIES, "state": "unsure", "because": [because]}

    assert remedy in found(looked(answers={"/drift": drift(series=[series])}), "drift unsure").remedy


@pytest.mark.parametrize(
    ("storage", "status"),
    [({"written": 3, "since": 990.0}, Status.OK), ({"failed": 4}, Status.WRONG), ({}, Status.NOTE)],
)
def test_what_a_sidecar_writes_goes_before_the_settings_of_the_doctor(storage: dict[str, Any], status: Status) -> None:
    """Asked by its address alone, it may run with a state folder that this configuration does not have."""
    assert found(looked(answers={"/drift": drift(storage=storage)}), "drift state").status is status
