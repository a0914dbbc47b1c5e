"""Outcomes told to a running sidecar, before and after their trace, and by a span's event."""

import json
from typing import Any

from tests.system.sidecar import Running, running
from tests.system.test_artifacts import JSON, recorded, send


def tell(sidecar: Running, **fields: Any) -> int:
    """Tell an outcome; the status."""
    return sidecar.post("/v1/outcomes", json.dumps({"name": "subscription", **fields}).encode(), Content_Type=JSON)


def lane(sidecar: Running, status: str) -> float:
    """Traces whose outcome lane has this status."""
    return sidecar.total("lanewatch_lane_status_total", lane="outcome", status=status)


def test_an_outcome_after_its_trace_revises_the_outcome_lane_alone() -> None:
    """Every call was right, and the state is not what was expected."""
    record = recorded()
    with running() as sidecar:
        send(sidecar)
        sidecar.wait_until_read(1)
        assert tell(sidecar, trace_id=record.trace_id, expected={"state": "on"}, observed={"state": "off"}) == 202
        sidecar.wait_for(lambda: lane(sidecar, "fail") == 1)

        assert sidecar.total("lanewatch_outcome_facts_total", fact="broken") == 1
        assert sidecar.total("lanewatch_lane_status_total", lane="tools", status="pass") == 1
        assert sidecar.total("lanewatch_requests_total", signal="outcomes") == 1


def test_an_outcome_before_its_trace_waits_for_it() -> None:
    """And one whose trace never comes is counted as unclaimed at the end at the latest."""
    record = recorded()
    with running() as sidecar:
        assert tell(sidecar, trace_id=record.trace_id.upper(), status="pass") == 202
        assert tell(sidecar, trace_id="f" * 32, status="fail") == 202
        sidecar.wait_for(lambda: sidecar.total("lanewatch_artifacts_waiting") == 2)
        send(sidecar)
        sidecar.wait_for(lambda: lane(sidecar, "pass") == 1)

        assert sidecar.total("lanewatch_artifacts_waiting") == 1
        assert sidecar.total("lanewatch_outcome_facts_total", fact="held") == 1


def test_what_tells_no_outcome_is_refused_and_counted() -> None:
    """As artifacts are: by reason, and without its content."""
    with running() as sidecar:
        assert tell(sidecar, status="maybe") == 400
        assert sidecar.post("/v1/outcomes", b"{}", Content_Type="application/x-protobuf") == 415

        assert sidecar.total("lanewatch_requests_refused_total", reason="no_outcome") == 1
