"""`lanewatch judge check`, `compare` and `adopt`: what they print, and how they end."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lanewatch.cli.main import app
from lanewatch.judging.compare_command import compared_by
from lanewatch.judging.rounds import judge_round
from lanewatch.monitors.judge.canaries.items import Canary, canaries_of, shipped
from lanewatch.monitors.judge.canaries.rounds import Round
from lanewatch.monitors.judge.canaries.watch import Watched, WatchState, set_name
from lanewatch.monitors.judge.evaluators import Loaded, Means
from lanewatch.monitors.judge.metrics import Evaluator, Metric
from lanewatch.monitors.judge.results import Cost, EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.judge.settings import EndpointSettings, WorkerSettings
from lanewatch.monitors.judge.store_calls import spent_since
from lanewatch.monitors.judge.store_facts import ADOPT, CANARIES, take_fact, write_fact
from lanewatch.monitors.judge.store_file import open_store
from typer.testing import CliRunner

from tests.judge_server.server import JudgeServer

METRIC = "entailment_support"
SHIPPED = shipped()
ANCHORS = canaries_of(METRIC, SHIPPED)
MIB = 2**20


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command line, with settings by the environment."""
    for name in ("LANEWATCH_CONFIG", "LANEWATCH_JUDGE_BASE_URL", "LANEWATCH_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, **settings: str) -> Any:
        environment = {f"LANEWATCH_JUDGE_{name.upper()}": value for name, value in settings.items()}
        return CliRunner().invoke(app, ["judge", *arguments], env=environment)

    return run


@pytest.fixture
def sound_server() -> Iterator[JudgeServer]:
    """An endpoint whose model is sound: it says `supported` of what the anchors say is supported, and of nothing else."""
    supported = "\n".join(canary.answer or "" for canary in ANCHORS if canary.kind == "supported")

    def answers(title: str, given: Any, prompt: str) -> Any:
        words = ["supported" if claim["text"] in supported else "not_mentioned" for claim in given["claims"]]
        return {"verdicts": [{"claim": at, "verdict": word} for at, word in enumerate(words, 1)]}

    with JudgeServer("ok", answers) as server:
        yield server


def sound_round(shift: float = 0.0) -> Round:
    """A round of the middle of each band."""
    scores = {}
    for canary in ANCHORS:
        expected = canary.expect[METRIC]
        if expected.low is not None and expected.high is not None:
            scores[canary.id] = min(1.0, (expected.low + expected.high) / 2 + shift)
    return Round("1", 1000.0, scores, models=("judge-1",))


def test_without_an_endpoint_the_offline_signals_are_checked_and_it_is_said(run: Callable[..., Any]) -> None:
    """Nothing leaves the machine; every anchor ends as expected."""
    done = run("check", "--metric", "number_support", "--metric", "quote_support")

    assert done.exit_code == 0
    assert "No endpoint is configured" in done.output
    assert "nothing leaves this machine" in done.output
    assert done.output.count("OK ") == 2
    assert "There is no reference to tell a shift by" in done.output


def test_what_needs_no_model_is_sent_to_none(run: Callable[..., Any]) -> None:
    """An endpoint that is configured is not said to be asked where it is not."""
    done = run("check", "--metric", "number_support", base_url="http://127.0.0.1:1/v1", model="m-1")

    assert done.exit_code == 0
    assert "nothing leaves this machine" in done.output
    assert "m-1" not in done.output


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (["check", "--metric", "honesty"], {}, "there is no metric honesty"),
        (["check", "--metric", METRIC], {}, "set judge.base_url and judge.model"),
        (["check"], {"canaries": "nowhere.jsonl"}, "judge.canaries has faults"),
        (["compare", "judge-1", "judge-2"], {}, "nobody can be asked"),
        (["compare", "a.json", "b.json"], {}, "a.json: No such file"),
        (["adopt"], {}, "judge.store is not set"),
        (["adopt"], {"store": "nowhere"}, "there is no store in nowhere"),
    ],
)
def test_what_can_not_be_done_is_said_with_status_2(
    run: Callable[..., Any], arguments: list[str], settings: dict[str, str], said: str
) -> None:
    """And what to do about it."""
    done = run(*arguments, **settings)

    assert done.exit_code == 2
    assert said in done.output.replace("\n", " ")


def test_a_round_at_an_endpoint_says_what_was_sent_and_what_came_back(
    run: Callable[..., Any], sound_server: JudgeServer
) -> None:
    """Requests, bytes, tokens, model, fingerprint, price unknown; the answers of each anchor in JSON."""
    done = run("check", "--metric", METRIC, "--format", "json", base_url=sound_server.url, model="m-1")
    told = json.loads(done.output)
    one = told["metrics"][METRIC]

    assert told["sent"]["calls"] == len(sound_server.calls) > len(ANCHORS) / 2
    assert told["sent"]["received_bytes"] > 0
    assert told["sent"]["sent_bytes"] > 10_000
    assert told["sent"]["unpriced"] == told["sent"]["calls"]
    assert (one["models"], one["fingerprints"]) == (["m-1"], ["fp_1"])
    assert len(one["scores"]) + len(one["missing"]) == len(ANCHORS)
    assert (one["verdict"], done.exit_code) == ("ok", 0), one["astray"]


def test_an_endpoint_that_fails_is_a_failed_check_and_no_score(run: Callable[..., Any]) -> None:
    """Typed and counted; status 1."""
    with JudgeServer("401") as server:
        done = run("check", "--metric", METRIC, base_url=server.url, model="m-1", max_in_flight="1")

    assert done.exit_code == 1
    assert f"FAILED   {METRIC}: {len(ANCHORS)} anchors of {len(ANCHORS)} could not be judged" in done.output
    assert "not judged: auth (the endpoint refuses the key" in done.output.replace("\n", " ")
    assert "api_key_file" in done.output
    assert "in no budget but that of this round" in done.output
    assert "astray" not in done.output


def test_a_judge_that_shifted_against_the_kept_reference_is_told(
    run: Callable[..., Any], sound_server: JudgeServer, tmp_path: Path
) -> None:
    """The sidecar's first round is in the store; this one supports nothing any more."""
    db = open_store(tmp_path, 64 * MIB, mend=True)
    kept = WatchState(set_name(SHIPPED), {METRIC: Watched(anchor=sound_round(0.0), last=sound_round(0.0))})
    write_fact(db, CANARIES, msgspec.json.encode(kept))
    db.close()
    sound_server.answers = lambda title, given, prompt: {
        "verdicts": [{"claim": at + 1, "verdict": "not_mentioned"} for at in range(len(given["claims"]))]
    }
    done = run("check", "--metric", METRIC, base_url=sound_server.url, model="m-1", store=str(tmp_path))

    assert done.exit_code == 1
    assert f"SHIFTED  {METRIC}: " in done.output
    assert "supported -0." in done.output


def test_what_a_round_by_hand_spends_is_in_the_sidecars_books_and_what_is_spent_stops_it(
    run: Callable[..., Any], sound_server: JudgeServer, tmp_path: Path
) -> None:
    """Where judge.store is there: tokens of its calls, and none are made where a metric's hour is spent."""
    open_store(tmp_path, 64 * MIB, mend=True).close()
    at_store = {"base_url": sound_server.url, "model": "m-1", "store": str(tmp_path)}
    first = run("check", "--metric", METRIC, **at_store)
    db = open_store(tmp_path, 64 * MIB, mend=True)
    spent, n_calls = spent_since(db, 0), len(sound_server.calls)
    db.execute("UPDATE unpriced SET tokens = 400000")
    db.close()
    second = run("check", "--metric", METRIC, **at_store)

    assert "It is booked in judge.store" in first.output
    assert sum(one.unpriced_tokens for one in spent) == 110 * n_calls
    assert len(sound_server.calls) == n_calls
    assert f"{len(ANCHORS)} anchors of {len(ANCHORS)} could not be judged" not in first.output
    assert "not judged: tokens" in second.output


def test_adopting_leaves_a_note_for_the_sidecar(run: Callable[..., Any], tmp_path: Path) -> None:
    """Of all that drift, or of those named; of one without a whole round there is nothing to adopt."""
    db = open_store(tmp_path, 64 * MIB, mend=True)
    drifting = Watched(anchor=sound_round(), last=sound_round(0.2), drifts=True)
    write_fact(db, CANARIES, msgspec.json.encode(WatchState("set", {METRIC: drifting, "faithfulness": Watched()})))
    done = run("adopt", store=str(tmp_path))
    note = take_fact(db, ADOPT)
    none = run("adopt", "--metric", "faithfulness", store=str(tmp_path))
    db.close()

    assert (done.exit_code, note) == (0, b'["entailment_support"]')
    assert none.exit_code == 2
    assert "no whole round of canaries of faithfulness" in none.output


def written(path: Path, model: str, scores: dict[str, float]) -> str:
    """A file as `judge check --format json` writes it."""
    path.write_text(
        json.dumps({"model": model, "metrics": {METRIC: {"scores": scores, "missing": {"gone": "timeout"}}}})
    )
    return str(path)


def test_two_results_are_compared_case_by_case(run: Callable[..., Any], tmp_path: Path) -> None:
    """Agreement with intervals, ties, families, and the cases that differ; the rest is not listed."""
    one = sound_round().scores
    astray = next(canary.id for canary in ANCHORS if canary.kind == "unsupported")
    other = {**one, astray: 1.0}
    first = written(tmp_path / "a.json", "gpt-4o-mini", {**one, "mine": 1.0})
    second = written(tmp_path / "b.json", "gpt-4.1", other)
    done = run("compare", first, second)

    assert done.exit_code == 0
    assert "Both are of one family" in done.output
    assert f"{METRIC}: {len(one)} anchors scored by both, 1 by the first alone, 0 by the second alone" in done.output
    assert f"{len(one) - 1} ties" in done.output
    assert f"{astray} (unsupported): 0.20 and 1.00, within its band: first" in done.output
    assert done.output.count(" and ") < 12


def test_a_file_that_is_none_and_results_without_a_common_metric_are_refused(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    """Status 2."""
    nonsense = tmp_path / "a.json"
    nonsense.write_text("[]")
    empty = tmp_path / "b.json"
    empty.write_text('{"metrics": {}}')

    assert run("compare", str(nonsense), str(empty)).exit_code == 2
    assert "no metric in common" in run("compare", str(empty), str(empty)).output


@pytest.mark.parametrize("score", [5, -3, 1e308])
def test_scores_that_no_judge_gives_are_refused_by_name_and_line(
    run: Callable[..., Any], tmp_path: Path, score: float
) -> None:
    """Status 2: means of them were of any size, or `-Infinity`, which is no JSON."""
    sound = written(tmp_path / "a.json", "m", {"x": 1.0})
    faulty = tmp_path / "b.json"
    metrics = {
        METRIC: {"missing": {'a "b"': "timeout"}, "scores": {"x": 1.0, 'a "b"': score}},
        "of_old": {"scores": {"x": 9}},
    }
    faulty.write_text(json.dumps({"model": "n", "metrics": metrics}, indent=1))
    line = 1 + next(n for n, text in enumerate(faulty.read_text().splitlines()) if text.endswith(f": {score}"))
    done = run("compare", sound, str(faulty), "--format", "json")

    assert done.exit_code == 2
    assert f'line {line}: {METRIC} of a "b" is {score:g}, which is not from 0 to 1' in done.output
    assert done.output.count("line ") == 1


def test_figures_that_are_not_finite_are_null(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Infinity` is no JSON."""
    monkeypatch.setattr("lanewatch.judging.compare_command.fmean", lambda _: -math.inf)
    sound = written(tmp_path / "a.json", "m", {"x": 1.0})
    done = run("compare", sound, sound, "--format", "json")

    assert json.loads(done.output, parse_constant=pytest.fail)["metrics"][METRIC]["difference"] is None


def test_files_of_either_kind_are_read_whole_or_not_at_all(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set that is cut would be another set, and nobody would know."""
    monkeypatch.setattr("lanewatch.judging.compare_command.MAX_FILE_BYTES", 1_000)
    frozen = tmp_path / "set.jsonl"
    frozen.write_bytes(b"\n".join(msgspec.json.encode(canary) for canary in ANCHORS[:4]))
    large = written(tmp_path / "a.json", "m", {f"anchor-{n}": 1.0 for n in range(100)})
    by_set = run("compare", large, large, "--set", str(frozen))
    by_file = run("compare", large, large)

    assert (by_set.exit_code, by_file.exit_code) == (2, 2)
    assert "set.jsonl is larger than 1000 bytes" in by_set.output
    assert "a.json is larger than 1000 bytes" in by_file.output


def test_two_models_are_asked_the_same_set(run: Callable[..., Any], sound_server: JudgeServer, tmp_path: Path) -> None:
    """A set of the user's own, in the form of canaries; each model by its name."""
    frozen = tmp_path / "set.jsonl"
    frozen.write_bytes(b"\n".join(msgspec.json.encode(canary) for canary in ANCHORS[:4]))
    done = run(
        "compare", "m-1", "m-2", "--set", str(frozen), "--metric", METRIC, "--format", "json",
        base_url=sound_server.url, model="m-1",
    )  # fmt: skip
    told = json.loads(done.output)

    assert done.exit_code == 0
    assert {call.body["model"] for call in sound_server.calls} == {"m-1", "m-2"}
    assert told["same_family"] is None
    assert told["metrics"][METRIC]["kappa"] is None  # four cases say nothing
    assert told["metrics"][METRIC]["ties"] == told["metrics"][METRIC]["n"]


def test_no_common_score_is_status_1(run: Callable[..., Any], tmp_path: Path) -> None:
    """There was nothing to compare."""
    first = written(tmp_path / "a.json", "a", {"x": 1.0})
    second = written(tmp_path / "b.json", "b", {"y": 1.0})

    assert run("compare", first, second).exit_code == 1


def test_disagreements_come_largest_first_and_say_who_is_sound() -> None:
    """Those on two sides of a half, and those a quarter apart."""
    first = Round("1", 0, {"a": 0.9, "b": 0.45, "c": 0.1, "d": 0.5})
    second = Round("2", 0, {"a": 0.2, "b": 0.55, "c": 0.2, "d": 0.5})
    found = compared_by(METRIC, first, second, [])

    assert [case.item for case in found.cases] == ["a", "b"]
    assert (found.n, found.ties, found.kappa) == (4, 1, None)


class Plays:
    """An evaluator that answers by the anchor."""

    def __init__(self, answer: Callable[[Sample], Result]) -> None:
        self._answer = answer

    async def evaluate(self, metric: Metric, sample: Sample) -> Result:
        """As it was told."""
        return self._answer(sample)


def test_a_round_by_hand_ends_every_anchor_whatever_its_evaluator_does() -> None:
    """One that raises, one that is out of range and one that fails are typed; cost and models add up."""
    ends: list[Result | Exception] = [
        RuntimeError("traced text"),
        Result(EvaluationOutcome.SCORED, value=7.0),
        unscored(Reason.TIMEOUT),
        Result(EvaluationOutcome.SCORED, value=0.5, judge_model="m", cost=Cost(calls=1, dollars=0.25)),
    ]

    def answer(_: Sample) -> Result:
        end = ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    def factory(_: Means) -> Loaded:
        return Loaded(Plays(answer))

    canaries: tuple[Canary, ...] = ANCHORS[:4]
    settings = WorkerSettings("", endpoint=EndpointSettings("http://127.0.0.1:9/v1", "m"))
    done: list[str] = []
    found = judge_round(settings, [METRIC], canaries, done.append, {Evaluator.ENTAILMENT: factory})

    assert done == [METRIC] * 4
    assert sorted(found.rounds[METRIC].missing.values()) == ["judge_invalid", "timeout", "worker_failed"]
    assert (list(found.rounds[METRIC].scores.values()), found.rounds[METRIC].cost.dollars) == ([0.5], 0.25)


def test_an_evaluator_that_can_not_be_loaded_is_said() -> None:
    """Its anchors end as worker_failed."""

    def factory(_: Means) -> Loaded:
        raise ImportError

    settings = WorkerSettings("", endpoint=EndpointSettings("http://127.0.0.1:9/v1", "m"))
    found = judge_round(settings, [METRIC], ANCHORS[:2], factories={Evaluator.ENTAILMENT: factory})

    assert found.unloaded == {"entailment": "ImportError"}
    assert set(found.rounds[METRIC].missing.values()) == {"worker_failed"}
