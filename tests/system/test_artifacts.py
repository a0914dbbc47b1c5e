"""Artifacts pushed to a running sidecar, before and after their trace, and producers that it asks itself."""

import copy
import gzip
import json
from typing import Any

import pytest
from lanewatch.config.keys import Config
from lanewatch.replaying.playback import replay

from tests.system.captures import CORPUS, bodies
from tests.system.sidecar import Running, running

CAPTURE = "langchain_oi/03_parallel"
JSON = "application/json"


def recorded(capture: str = CAPTURE) -> Any:
    """The record of a capture's first trace."""
    return replay(CORPUS / capture, Config()).observations[0].record


def send(sidecar: Running, capture: str = CAPTURE) -> None:
    """Send a capture, as its application did."""
    for signal, body in bodies(capture):
        assert sidecar.post(f"/v1/{signal}", body, Content_Type="application/x-protobuf") == 200


def push(sidecar: Running, **fields: Any) -> int:
    """Push an artifact; the status."""
    return sidecar.post("/v1/artifacts", json.dumps({"producer": "mine", **fields}).encode(), Content_Type=JSON)


def without_a_call(messages: Any) -> list[dict[str, Any]]:
    """The artifact of an adapter that loses the first of two parallel calls, and its result."""
    changed = copy.deepcopy(list(messages))
    asking = next(message for message in changed if message.get("tool_calls"))
    lost = asking["metadata"]["tool_call_ids"].pop(0)
    asking["tool_calls"].pop(0)
    return [m for m in changed if (m["metadata"] or {}).get("tool_call_id") != lost]


def artifacts(sidecar: Running, outcome: str, producer: str = "mine") -> float:
    """How many artifacts ended so."""
    return sidecar.total("lanewatch_artifacts_total", producer=producer, outcome=outcome)


def test_an_artifact_after_its_trace_revises_what_was_counted() -> None:
    """The tools lane passed; an adapter that loses a call makes it incomplete, and the correction is counted."""
    record = recorded()
    with running() as sidecar:
        send(sidecar)
        sidecar.wait_until_read(1)
        assert sidecar.total("lanewatch_lane_status_total", lane="tools", status="pass") == 1
        assert push(sidecar, trace_id=record.trace_id, messages=without_a_call(record.messages)) == 202
        sidecar.wait_for(lambda: artifacts(sidecar, "divergent") == 1)

        assert sidecar.total("lanewatch_divergences_total", boundary="artifact", kind="missing") == 1
        assert sidecar.total("lanewatch_artifact_divergences_total", producer="mine", kind="missing") == 1
        assert sidecar.total("lanewatch_lane_status_total", lane="tools", status="incomplete") == 1
        assert sidecar.total("lanewatch_corrections_total", metric="lanewatch_lane_status") == 1
        assert sidecar.total("lanewatch_tool_requests_total") == len(record.requests)


def test_an_artifact_before_its_trace_waits_for_it() -> None:
    """An evaluator that runs inside the application may be faster than the exporter's batch."""
    record = recorded()
    with running() as sidecar:
        assert push(sidecar, trace_id=record.trace_id.upper(), messages=list(record.messages)) == 202
        sidecar.wait_for(lambda: sidecar.total("lanewatch_artifacts_waiting") == 1)
        send(sidecar)
        sidecar.wait_for(lambda: artifacts(sidecar, "equal") == 1)

        assert sidecar.total("lanewatch_artifacts_waiting") == 0
        assert sidecar.total("lanewatch_artifact_divergences_total") == 0


def test_an_artifact_of_a_session_waits_for_all_its_turns() -> None:
    """Three turns, three traces, one artifact of the whole conversation with a changed argument in the last."""
    capture = "langchain_oi/11_multi_turn"
    seen = replay(CORPUS / capture, Config()).observations
    messages = copy.deepcopy([message for one in seen for message in one.record.messages])
    asking = [message for message in messages if message.get("tool_calls")]
    asking[-1]["tool_calls"][0]["args"]["city"] = "Elsewhere"
    with running() as sidecar:
        assert push(sidecar, session_id=seen[0].record.session_id, messages=messages) == 202
        send(sidecar, capture)
        sidecar.wait_for(lambda: artifacts(sidecar, "divergent") == 1)

        assert artifacts(sidecar, "equal") == len(seen) - 1
        assert sidecar.total("lanewatch_artifact_divergences_total", kind="arguments") == 1
        assert sidecar.total("lanewatch_artifact_divergences_total") == 1


def test_reference_calls_are_compared_by_us_and_by_ragas_and_counted_by_agreement() -> None:
    """Here the reference lacks an argument, which ToolCallAccuracy passes over; no lane is touched."""
    pytest.importorskip("ragas")
    record = recorded()
    reference = [call for m in record.messages for call in m.get("tool_calls") or ()]
    shorter = [{**call, "args": {}} if n else call for n, call in enumerate(reference)]
    with running(LANEWATCH_ARTIFACTS_PRODUCER_SECONDS="30") as sidecar:
        for expected in (reference, shorter[:1]):
            asked = {"trace_id": record.trace_id, "messages": list(record.messages), "reference_tool_calls": expected}
            assert push(sidecar, **asked) == 202
        send(sidecar)
        sidecar.wait_for(lambda: sidecar.total("lanewatch_ragas_tool_metrics_total") == 2)
        by = {"service": record.service, "producer": "mine"}

        assert sidecar.total("lanewatch_reference_tool_calls_total", outcome="equal", **by) == 1
        assert sidecar.total("lanewatch_reference_tool_calls_total", outcome="divergent", **by) == 1
        assert sidecar.total("lanewatch_ragas_tool_metrics_total", agreement="agree", **by) == 2
        assert sidecar.total("lanewatch_divergences_total") == 0
        assert sidecar.terminate() == 0


def test_an_artifact_whose_trace_never_comes_is_unclaimed() -> None:
    """Counted at the latest when the sidecar stops: nothing that was taken in vanishes."""
    with running(LANEWATCH_ARTIFACTS_MAX_WAITING="1") as sidecar:
        for trace_id in ("1" * 32, "2" * 32):
            assert push(sidecar, trace_id=trace_id, messages=[]) == 202
        sidecar.wait_for(lambda: artifacts(sidecar, "unclaimed") == 1)

        assert sidecar.total("lanewatch_artifacts_waiting") == 1


def test_what_is_no_artifact_is_refused_with_its_place_and_nothing_of_it_is_logged() -> None:
    """400 for the shape, 413 for the size, 415 for another encoding, 405 for another method."""
    big = json.dumps({"producer": "mine", "trace_id": "1" * 32, "messages": [], "version": "x" * 5000}).encode()
    with running(LANEWATCH_ARTIFACTS_MAX_ARTIFACT_BYTES="4096") as sidecar:
        assert push(sidecar, trace_id="1" * 32, messages=[{"type": "human", "content": ["secret-content"]}]) == 400
        assert push(sidecar, messages=[]) == 400
        assert push(sidecar, trace_id="1" * 32, session_id="s", messages=[]) == 400
        assert push(sidecar, trace_id="secret-content", messages=[]) == 400
        assert sidecar.post("/v1/artifacts", b"{", Content_Type=JSON) == 400
        assert sidecar.post("/v1/artifacts", b"[" * 3000, Content_Type=JSON) == 400
        assert sidecar.post("/v1/artifacts", b"", Content_Type="application/x-protobuf") == 415
        assert sidecar.post("/v1/artifacts", big, Content_Type=JSON) == 413
        assert sidecar.post("/v1/artifacts", gzip.compress(big), Content_Type=JSON, Content_Encoding="gzip") == 413

        assert sidecar.total("lanewatch_requests_refused_total", reason="no_artifact") == 6
        assert "secret-content" not in "".join(sidecar.log_lines())


def test_the_bearer_token_holds_for_artifacts_too() -> None:
    """Whoever may not send spans may not change what is said of them."""
    with running(LANEWATCH_RECEIVERS_BEARER_TOKEN="t0ken") as sidecar:
        body = json.dumps({"producer": "mine", "trace_id": "1" * 32, "messages": []}).encode()

        assert sidecar.post("/v1/artifacts", body, Content_Type=JSON) == 401
        assert sidecar.post("/v1/artifacts", body, Content_Type=JSON, Authorization="Bearer t0ken") == 202


def test_a_producer_of_ours_is_asked_for_every_trace() -> None:
    """Ragas' own converter loses the calls of current LangChain: seen live, by metric."""
    with running(LANEWATCH_ARTIFACTS_PRODUCERS="ragas.langgraph", LANEWATCH_SHUTDOWN_DRAIN_SECONDS="5") as sidecar:
        send(sidecar)
        sidecar.wait_for(lambda: artifacts(sidecar, "divergent", "ragas.langgraph") == 1)

        assert sidecar.total("lanewatch_artifact_divergences_total", producer="ragas.langgraph", kind="missing") == 2
        assert artifacts(sidecar, "equal", "lanewatch") == 1
        assert sidecar.terminate() == 0
