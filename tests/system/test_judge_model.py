"""The judge with a model, end to end: recorded agents in, real Ragas in its process, scores in /metrics and out over OTLP."""

import contextlib
import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.judge_server.server import Call, JudgeServer
from tests.system.captures import bodies
from tests.system.leaking import Canaries, leaking_trace
from tests.system.sidecar import Running, running
from tests.system.test_judge import PROTOBUF, assert_evaluations_add_up, send

SCORED = ("llamaindex_oi/10_rag_only", "langchain_oi/10_rag_only", "langchain_oi/01_right_tool")
REFUSED, KEPT_OUT = "llamaindex_oi/01_right_tool", "llamaindex_oi/02_wrong_tool"
ASKED = {
    "faithfulness": "ragas",
    "response_groundedness": "ragas",
    "context_relevance": "ragas",
    "answer_relevancy": "ragas",
    "agent_goal_accuracy": "ragas",
    "entailment_support": "entailment",
}
METRICS = {**ASKED, "number_support": "support"}
LEAKING = "07" * 16
KEY = "judge-key-9f31c2"
CONFIG = """
[prices.judge-1]
input = 0.5
output = 2.0
[prices.vectors-1]
input = 0.02
output = 0
"""


Record = tuple[str, str, str, dict[str, Any]]


class Received:
    """Log records that came in at an OTLP/HTTP endpoint; `url` is its address."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.url = ""

    def take(self, body: bytes) -> None:
        """One request: each record as (event name, trace id, span id, attributes)."""
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
            for scope in resource.scope_logs:
                for record in scope.log_records:
                    told = {a.key: getattr(a.value, str(a.value.WhichOneof("value"))) for a in record.attributes}
                    self.records.append((record.event_name, record.trace_id.hex(), record.span_id.hex(), told))


@contextlib.contextmanager
def otlp_receiver() -> Iterator[Received]:
    """A small OTLP/HTTP endpoint on loopback."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/logs"
            received.take(raw)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    received.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()


def answering_spans(captures: tuple[str, ...]) -> dict[str, str]:
    """By trace id the span of the last model call, read from the bytes: whose answer is judged."""
    last: dict[str, tuple[int, str]] = {}
    for capture in captures:
        for _, body in bodies(capture):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        kind = {a.key: a.value.string_value for a in span.attributes}.get("openinference.span.kind")
                        if kind == "LLM":
                            known = last.get(span.trace_id.hex(), (0, ""))
                            last[span.trace_id.hex()] = max(known, (span.end_time_unix_nano, span.span_id.hex()))
    return {trace: span for trace, (_, span) in last.items()}


class Run(msgspec.Struct):
    """What was left of one: samples and files while it ran, the log and what others received once it had ended."""

    samples: dict[tuple[str, tuple[tuple[str, str], ...]], float]
    scored: dict[str, float]
    pages: str
    stored: bytes
    environ: bytes
    log: str
    calls: list[Call]
    keys: Counter[str]
    records: list[Record]

    def by(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """A metric's values that are not 0, by these labels, summed over the others."""
        found: dict[tuple[str, ...], float] = defaultdict(float)
        for (sample, have), value in self.samples.items():
            if sample == name and value:
                found[tuple(dict(have)[label] for label in labels)] += value
        return dict(found)


def wait_for_scores(sidecar: Running) -> None:
    """Until nothing waits; a first one takes Ragas' import, for which a busy machine was seen to need half a minute."""
    for _ in range(2):
        with contextlib.suppress(AssertionError):
            return sidecar.wait_for(lambda: sidecar.total("lanewatch_evaluations_pending") == 0)
    return sidecar.wait_for(lambda: sidecar.total("lanewatch_evaluations_pending") == 0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Traffic that is judged well, then one trace whose judge refuses, then one whose key is refused."""
    folder = tmp_path_factory.mktemp("judged")
    (folder / "lanewatch.toml").write_text(CONFIG)
    with JudgeServer() as server, otlp_receiver() as received:
        settings = {
            "LANEWATCH_CONFIG": str(folder / "lanewatch.toml"),
            "LANEWATCH_LOG_LEVEL": "debug",
            "LANEWATCH_JUDGE_ENABLED": "true",
            "LANEWATCH_JUDGE_BASE_URL": server.url,
            "LANEWATCH_JUDGE_MODEL": "judge-1",
            "LANEWATCH_JUDGE_EMBEDDINGS_MODEL": "vectors-1",
            "LANEWATCH_JUDGE_API_KEY": KEY,
            "LANEWATCH_JUDGE_METRICS": ",".join(METRICS),
            "LANEWATCH_JUDGE_MAX_RETRIES": "0",
            "LANEWATCH_JUDGE_STORE": str(folder / "judge"),
            "LANEWATCH_JUDGE_SCORES_ENDPOINT": received.url,
            "LANEWATCH_JUDGE_CANARY_EVERY_SECONDS": "0",
            "LANEWATCH_SAMPLING_RATE": "1",
            "LANEWATCH_SAMPLING_PER_MINUTE": "1000",
            "LANEWATCH_BUDGET_TOKENS_PER_MINUTE": "0",
        }
        with running(**settings) as sidecar:
            assert sidecar.post("/v1/traces", leaking_trace(Canaries()), **PROTOBUF) == 200
            send(sidecar, list(SCORED))
            wait_for_scores(sidecar)
            server.mode = "refusal_field"
            send(sidecar, [REFUSED])
            wait_for_scores(sidecar)
            server.mode = "401"
            send(sidecar, [KEPT_OUT])
            sidecar.wait_for(lambda: sidecar.total("lanewatch_judge_circuit_open", cause="auth") == 1)
            sidecar.wait_for(lambda: sidecar.total("lanewatch_evaluations_total", reason="auth") >= 1)
            scored = assert_evaluations_add_up(sidecar)
            sidecar.assert_conserved()
            pages = "".join(
                sidecar.get("/metrics", accept)[2] for accept in ("text/plain", "application/openmetrics-text")
            )
            found = sidecar.samples()
            stored = b"".join(path.read_bytes() for path in (folder / "judge").iterdir())
            environ = Path(f"/proc/{worker_of(sidecar)}/environ").read_bytes()
            assert sidecar.terminate() == 0
            log = "\n".join(sidecar.log_lines())
    return Run(found, scored, pages, stored, environ, log, server.calls, server.keys, received.records)


def worker_of(sidecar: Running) -> int:
    """The process id of the judging process."""
    children = [
        int(child)
        for task in Path(f"/proc/{sidecar.process.pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]

    assert len(children) == 1
    return children[0]


def test_each_metric_scores_under_its_own_evaluator(run: Run) -> None:
    """As many scores as evaluations that ended as scored, in one series a metric; every trace that was to be judged has one."""
    counted = run.by("lanewatch_score_count", "metric", "evaluator")

    assert counted == {(metric, METRICS[metric]): n for metric, n in run.scored.items() if n}
    assert run.scored["agent_goal_accuracy"] == len(SCORED)  # of the leaking one not all is known
    assert {run.scored[metric] for metric in ASKED if metric != "agent_goal_accuracy"} == {len(SCORED) + 1}
    assert run.by("lanewatch_score_sum", "metric")["faithfulness",] == len(SCORED) + 1
    assert '# {trace_id="' in run.pages


def test_scores_that_are_missing_say_why(run: Run) -> None:
    """What the judge refused, and what the endpoint refused, each in its own word; the circuit's cause is shown, and none is a 0."""
    why = run.by("lanewatch_evaluations_total", "outcome", "reason")

    assert why["unscored", "judge_refused"] == len(ASKED)
    assert 1 <= why["unscored", "auth"] <= len(ASKED)
    assert run.by("lanewatch_judge_circuit_open", "cause") == {("auth",): 1}
    assert "the judge pauses for 300 seconds (auth)" in run.log


def test_what_was_asked_is_what_was_counted(run: Run) -> None:
    """Calls, tokens and dollars are those that the endpoint saw; no call was made twice."""
    chats = [call for call in run.calls if call.path.endswith("/chat/completions")]
    answered = sum(call.mode != "401" for call in chats)
    texts = sum(len(call.body["input"]) for call in run.calls if call.path.endswith("/embeddings"))
    tokens = run.by("lanewatch_judge_tokens_total", "model", "direction")

    assert set(run.keys.values()) == {1}
    assert sum(run.by("lanewatch_judge_calls_total", "metric").values()) == len(run.calls)
    assert tokens == {
        ("judge-1", "input"): 100 * answered,
        ("judge-1", "output"): 10 * answered,
        ("vectors-1", "input"): 5 * texts,
    }
    assert sum(run.by("lanewatch_judge_cost_dollars_total", "metric").values()) == pytest.approx(
        (100 * answered * 0.5 + 10 * answered * 2.0 + 5 * texts * 0.02) / 1e6
    )
    assert {call.headers["authorization"] for call in run.calls} == {f"Bearer {KEY}"}


def test_scores_go_out_on_the_span_whose_answer_was_judged(run: Run) -> None:
    """An event for each evaluation that ended, with its value or with the reason in its place, in the trace's own context."""
    ended = run.by("lanewatch_evaluations_total", "metric", "outcome", "reason")
    spans = answering_spans((*SCORED, REFUSED, KEPT_OUT))
    told = Counter((e["gen_ai.evaluation.name"], e["lanewatch.evaluation.outcome"], e.get("error.type", ""))
                   for _, _, _, e in run.records)  # fmt: skip

    assert {name for name, *_ in run.records} == {"gen_ai.evaluation.result"}
    assert told >= Counter({how: int(n) for how, n in ended.items()})  # some may have ended since
    for metric in ASKED:
        assert told[metric, "scored", ""] == run.scored[metric]
        assert told[metric, "unscored", "judge_refused"] == 1
    assert told["agent_goal_accuracy", "unscored", "incomplete_evidence"] == 1  # which nobody was asked of
    spans[LEAKING] = "05" * 8
    for _, trace, span, event in run.records:
        assert spans[trace] == span
        assert ("gen_ai.evaluation.score.value" in event) == (event["lanewatch.evaluation.outcome"] == "scored")


def test_a_secret_in_the_traffic_reaches_nobody(run: Run) -> None:
    """Not the endpoint, the file of the store, the scores, a page or the log; nor is the endpoint's key anywhere but in its header."""
    sent = json.dumps([call.body for call in run.calls])
    out = json.dumps(run.records)

    assert sent.count("<redacted>") > len(ASKED)
    for text in (sent, out, run.pages, run.log, run.stored.decode(errors="replace")):
        assert re.findall(r".{0,40}CANARY\d\d", text) == []
    for place in (sent, out, run.pages, run.log, run.stored.decode(errors="replace"), run.environ.decode()):
        assert KEY not in place
    assert '"level": "critical"' not in run.log
