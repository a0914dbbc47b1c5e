"""The judge in a live sidecar: evaluations add up, restarts carry jobs on, and nothing heavy is loaded beside the receivers."""

import re
from collections import defaultdict
from pathlib import Path

from tests.judge_server.server import JudgeServer
from tests.system.captures import CORPUS, bodies
from tests.system.sidecar import Running, running

PROTOBUF = {"Content_Type": "application/x-protobuf"}
CAPTURES = [
    f"{stack}/{path.name}" for stack in ("langchain_oi", "llamaindex_oi") for path in sorted((CORPUS / stack).iterdir())
]
OFFLINE = {
    "LANEWATCH_JUDGE_ENABLED": "true",
    "LANEWATCH_SAMPLING_RATE": "1",
    "LANEWATCH_SAMPLING_PER_MINUTE": "1000",
    "LANEWATCH_JUDGE_CANARY_EVERY_SECONDS": "0",  # what is counted here is the traffic
    "LANEWATCH_JUDGE_METRICS": "number_support,lexical_support,negation_agreement",
}
HEAVY = ("ragas", "httpx", "onnxruntime", "langchain", "openai", "genai_prices", "scipy", "pandas")


def send(sidecar: Running, captures: list[str]) -> None:
    """Captures, read to their end."""
    before = sidecar.total("lanewatch_traces_read_total")
    for capture in captures:
        for kind, body in bodies(capture):
            assert sidecar.post(f"/v1/{kind}", body, **PROTOBUF) == 200
    sidecar.wait_for(
        lambda: sidecar.total("lanewatch_traces_open") == 0 and sidecar.total("lanewatch_traces_waiting") == 0
    )
    assert sidecar.total("lanewatch_traces_read_total") > before


def assert_evaluations_add_up(sidecar: Running) -> dict[str, float]:
    """For each metric: discovered = the sum of the outcomes + pending. Returns what was scored, by metric."""
    discovered: dict[str, float] = defaultdict(float)
    accounted: dict[str, float] = defaultdict(float)
    scored: dict[str, float] = {}
    for (name, labels), value in sidecar.samples().items():
        metric = dict(labels).get("metric", "")
        if name == "lanewatch_evaluations_discovered_total":
            discovered[metric] += value
        elif name in {"lanewatch_evaluations_total", "lanewatch_evaluations_pending"}:
            accounted[metric] += value
        if name == "lanewatch_evaluations_total" and dict(labels)["outcome"] == "scored":
            scored[metric] = value

    assert discovered == accounted
    return scored


def test_every_discovered_trace_ends_once_by_each_metric(tmp_path: Path) -> None:
    """Offline, over recordings of real agents; spans are conserved as ever, and nothing heavy is loaded in the sidecar."""
    with running(**OFFLINE, LANEWATCH_JUDGE_STORE=str(tmp_path / "judge")) as sidecar:
        send(sidecar, CAPTURES)
        sidecar.wait_for(lambda: sidecar.total("lanewatch_evaluations_pending") == 0)
        scored = assert_evaluations_add_up(sidecar)
        sidecar.assert_conserved()
        mapped = Path(f"/proc/{sidecar.process.pid}/maps").read_text()
        sidecar.wait_for(lambda: sidecar.total("lanewatch_judge_worker_memory_bytes") > 0)  # looked at each two seconds
        worker = sidecar.total("lanewatch_judge_worker_memory_bytes")

        assert scored["lexical_support"] > 0
        assert sidecar.total("lanewatch_evaluations_discovered_total", metric="lexical_support") >= len(CAPTURES)
        assert [name for name in HEAVY if re.search(rf"/{name}[/-]", mapped)] == []
        assert 0 < worker < 80e6
        assert sidecar.terminate() == 0
        text = "\n".join(sidecar.log_lines())
        assert "reading_thread_dead" not in text
        assert '"level": "error"' not in text


def test_jobs_that_wait_are_carried_on_after_a_kill(tmp_path: Path) -> None:
    """A sidecar that is killed while its judge hangs: the next one discovers the jobs anew, and judges them."""
    settings = {
        **OFFLINE,
        "LANEWATCH_JUDGE_METRICS": "entailment_support",
        "LANEWATCH_JUDGE_STORE": str(tmp_path / "judge"),
        "LANEWATCH_JUDGE_MODEL": "m",
        "LANEWATCH_JUDGE_TIMEOUT_SECONDS": "1",
        "LANEWATCH_JUDGE_MAX_IN_FLIGHT": "1",
    }
    with JudgeServer("hang") as server:
        settings["LANEWATCH_JUDGE_BASE_URL"] = server.url
        with running(**settings) as sidecar:
            send(sidecar, CAPTURES)
            assert server.heard.wait(30)
            pending = sidecar.total("lanewatch_evaluations_pending")
            sidecar.process.kill()
        server.mode = "ok"
        with running(**settings) as sidecar:
            sidecar.wait_for(lambda: sidecar.total("lanewatch_evaluations_discovered_total") >= 1)
            carried = sidecar.total("lanewatch_evaluations_discovered_total")
            sidecar.wait_for(lambda: sidecar.total("lanewatch_evaluations_pending") == 0)
            scored = assert_evaluations_add_up(sidecar)

            text = "\n".join(sidecar.log_lines())
            assert "judge: the price of m is not known" in text
            assert "judge: a sample by 1 metric takes about 2,860 tokens of m, at a price that is not known" in text
            assert 1 <= carried <= pending
            assert scored["entailment_support"] >= 1
            assert sidecar.total("lanewatch_judge_tokens_total") > 0
        assert set(server.answered.values()) == {1}


def test_a_store_that_can_t_be_used_costs_no_span(tmp_path: Path) -> None:
    """Receiving goes on; what is drawn is typed and counted."""
    (tmp_path / "judge").touch()
    with running(**OFFLINE, LANEWATCH_JUDGE_STORE=str(tmp_path / "judge")) as sidecar:
        send(sidecar, CAPTURES[9:13])
        sidecar.wait_for(lambda: sidecar.total("lanewatch_evaluations_pending") == 0)
        assert_evaluations_add_up(sidecar)
        sidecar.assert_conserved()

        assert "judge_store_unreadable" in "\n".join(sidecar.log_lines())
        assert sidecar.total("lanewatch_evaluations_total", reason="store_failed") > 0


def test_judging_that_is_off_starts_nothing(tmp_path: Path) -> None:
    """No process, no folder, no series."""
    with running(LANEWATCH_JUDGE_ENABLED="false", LANEWATCH_JUDGE_STORE=str(tmp_path / "judge")) as sidecar:
        send(sidecar, CAPTURES[:3])
        names = {name for name, _ in sidecar.samples()}

        assert not [name for name in names if "judge" in name or "evaluation" in name]
        assert not (tmp_path / "judge").exists()
