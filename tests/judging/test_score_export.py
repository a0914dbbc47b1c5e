"""Scores go out as the GenAI event on the judged span; what can't be sent is counted, and what comes back is no traffic."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer

import msgspec
import pytest
from lanewatch import parts
from lanewatch.collector.decode import decode_protobuf
from lanewatch.collector.limits import DecodeLimits
from lanewatch.collector.spans import Signal
from lanewatch.judging.score_events import LONGEST_EXPLANATION, ScoreEvent, score_event
from lanewatch.judging.score_export import ScoreExport, otlp_sender
from lanewatch.monitors.judge.metrics import BY_NAME
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result, unscored
from lanewatch.monitors.judge.samples import Job, Sample
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

TRACE, SPAN = "0123456789abcdef0123456789abcdef", "0123456789abcdef"
SAMPLE = Sample(TRACE, 0, "shop", 1, span_id=SPAN, response_id="resp_1", question="q", answer="a")
JOB = Job("faithfulness", SAMPLE, weight=20.0)
METRIC = BY_NAME["faithfulness"]
SCORED = Result(EvaluationOutcome.SCORED, value=0.5, explanation="two of four claims", judge_model="m")


def event(result: Result = SCORED, job: Job = JOB) -> ScoreEvent:
    """The event of a live job."""
    found = score_event(job, METRIC, result, 7)
    assert found is not None
    return found


def test_an_event_tells_who_made_its_score_and_whether_that_is_of_the_answers_own_family() -> None:
    """Version of metric, evaluator and prompts, fingerprint, embedding model; a family that is not known is no flag."""
    made = msgspec.structs.replace(
        SCORED,
        judge_model="gpt-4o",
        fingerprint="fp_1",
        version="2/ragas-9",
        embedding_model="e-3",
        flags=("usage_estimated",),
    )
    alike = msgspec.structs.replace(JOB, sample=msgspec.structs.replace(SAMPLE, model="codex-mini-latest"))
    other = msgspec.structs.replace(JOB, sample=msgspec.structs.replace(SAMPLE, model="claude-sonnet-4"))
    told = event(made, alike).attributes

    assert told["lanewatch.evaluation.version"] == "2/ragas-9"
    assert told["lanewatch.judge.fingerprint"] == "fp_1"
    assert told["lanewatch.judge.embedding_model"] == "e-3"
    assert told["lanewatch.evaluation.flags"] == "usage_estimated,same_family"
    assert event(made, other).attributes["lanewatch.evaluation.flags"] == "usage_estimated"
    assert "lanewatch.evaluation.flags" not in event().attributes


class Backend:
    """An OTLP/HTTP endpoint that answers with the statuses it is given, then with 200."""

    def __init__(self, statuses: Sequence[int] = ()) -> None:
        self.requests: list[ExportLogsServiceRequest] = []
        self.paths: list[str] = []
        left = list(statuses)
        backend = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                backend.paths.append(self.path)
                status = left.pop(0) if left else 200
                if status == 200:
                    backend.requests.append(ExportLogsServiceRequest.FromString(body))
                self.send_response(status)
                self.send_header("retry-after", "0")
                self.send_header("location", "/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def backend() -> Iterator[Backend]:
    """One that takes everything."""
    one = Backend()
    yield one
    one.close()


def export(*events: ScoreEvent, send: object) -> Counter[str]:
    """What became of events that were offered, after the end."""
    counts: Counter[str] = Counter()
    one = ScoreExport(send, lambda outcome, n: counts.update({outcome: n}), batch_seconds=0.0)  # type: ignore[arg-type]
    one.start()
    for item in events:
        one.offer(item)
    one.stop(10)
    return counts


def test_a_score_is_an_event_on_the_span_it_is_of(backend: Backend) -> None:
    """A backend shows it beside the span, by the specification's names."""
    counts = export(event(), send=otlp_sender(backend.url, "1.0"))
    record = backend.requests[0].resource_logs[0].scope_logs[0].log_records[0]
    told = {pair.key: pair.value for pair in record.attributes}

    assert counts == {"exported": 1}
    assert backend.paths == ["/v1/logs"]
    assert (record.trace_id.hex(), record.span_id.hex()) == (TRACE, SPAN)
    assert record.event_name == "gen_ai.evaluation.result"
    assert told["gen_ai.evaluation.name"].string_value == "faithfulness"
    assert told["gen_ai.evaluation.score.value"].double_value == 0.5
    assert told["gen_ai.evaluation.explanation"].string_value == "two of four claims"
    assert told["gen_ai.response.id"].string_value == "resp_1"
    assert "error.type" not in told


def test_a_missing_score_has_an_error_and_no_value(backend: Backend) -> None:
    """No backend may average a 0 that nobody gave."""
    export(event(unscored(Reason.TIMEOUT)), send=otlp_sender(backend.url, "1.0"))
    record = backend.requests[0].resource_logs[0].scope_logs[0].log_records[0]
    told = {pair.key: pair.value for pair in record.attributes}

    assert "gen_ai.evaluation.score.value" not in told
    assert told["error.type"].string_value == "timeout"
    assert told["gen_ai.evaluation.score.label"].string_value == "unscored"


@pytest.mark.parametrize(("value", "label"), [(0.0, "low"), (0.49, "low"), (0.5, "high"), (1.0, "high")])
def test_every_score_has_a_label(value: float, label: str) -> None:
    """A backend that groups by labels shows all metrics; where a verdict has its own that one stands."""
    scored = msgspec.structs.replace(SCORED, value=value)

    assert event(scored).attributes["gen_ai.evaluation.score.label"] == label
    assert event(msgspec.structs.replace(scored, label="mine")).attributes["gen_ai.evaluation.score.label"] == "mine"


@pytest.mark.parametrize("purpose", ["canary", "check", "compare"])
def test_what_is_no_traffic_is_not_sent(purpose: str) -> None:
    """A canary's score beside the product's would be taken for one."""
    assert score_event(msgspec.structs.replace(JOB, purpose=purpose), METRIC, SCORED, 7) is None


def test_a_long_explanation_is_cut() -> None:
    """An event stays small."""
    long = msgspec.structs.replace(SCORED, explanation="x" * 10_000)

    assert len(str(event(long).attributes["gen_ai.evaluation.explanation"])) == LONGEST_EXPLANATION


def test_an_endpoint_that_is_busy_is_asked_again() -> None:
    """503 with Retry-After is the endpoint's way to say later."""
    backend = Backend([503, 503])
    counts = export(event(), send=otlp_sender(backend.url, "1.0"))
    backend.close()

    assert counts == {"exported": 1}
    assert len(backend.paths) == 3


@pytest.mark.parametrize("status", [400, 401, 307])
def test_what_is_refused_is_counted_as_failed(status: int) -> None:
    """A refusal, or a redirect to somewhere that nobody named, loses the batch and nothing else."""
    backend = Backend([status])
    counts = export(event(), send=otlp_sender(backend.url, "1.0"))
    backend.close()

    assert counts == {"failed": 1}
    assert backend.paths == ["/v1/logs"]


def test_an_exporter_that_raises_does_not_end_the_thread() -> None:
    """The next batch is sent all the same."""
    asked = []

    def send(batch: Sequence[ScoreEvent]) -> bool:
        asked.append(len(batch))
        raise RuntimeError("broken")

    counts = export(event(), event(), send=send)

    assert counts == {"failed": 2}
    assert sum(asked) == 2


def test_what_finds_no_room_is_dropped_and_counted() -> None:
    """A dead endpoint must not take memory."""
    counts: Counter[str] = Counter()
    one = ScoreExport(lambda _: True, lambda outcome, n: counts.update({outcome: n}), max_waiting=3)
    for _ in range(5):
        one.offer(event())

    assert counts == {"dropped": 2}


def test_bytes_bound_what_waits() -> None:
    """Explanations may be long."""
    counts: Counter[str] = Counter()
    one = ScoreExport(lambda _: True, lambda outcome, n: counts.update({outcome: n}), max_bytes=event().size() * 2)
    for _ in range(3):
        one.offer(event())

    assert counts == {"dropped": 1}


def test_our_own_scores_that_come_back_are_no_traffic(backend: Backend) -> None:
    """A Collector that fans logs out sends them here too: they must not revise the trace that they judge."""
    export(event(), send=otlp_sender(backend.url, "1.0"))
    decoded = decode_protobuf(backend.requests[0].SerializeToString(), Signal.LOGS, parts.RELEVANCE, DecodeLimits())

    assert not decoded.logs
    assert decoded.unrelated_logs == 1
