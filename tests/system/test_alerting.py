"""The shipped rules and routes with real servers: recorded traffic gives data, a faulty adapter an alert to its owner."""

import copy
import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from lanewatch.config.keys import Config
from lanewatch.doctor.prometheus import prometheus as ask_prometheus
from lanewatch.pages.client import PageClient
from lanewatch.pages.samples import samples_of
from lanewatch.replaying.playback import replay

from tests.deploy.rule_files import RULES
from tests.system.alerting import INTERVAL_SECONDS, WINDOW_SECONDS, Prometheus, Webhook, alerting, wait_for
from tests.system.captures import CORPUS, bodies
from tests.system.drift_traffic import Traffic
from tests.system.sidecar import Running, running

MISSING = [name for name in ("prometheus", "prometheus-alertmanager") if not shutil.which(name)]
PROTOBUF, JSON = "application/x-protobuf", "application/json"
CAPTURES = ("01_right_tool", "03_parallel", "13_streaming", "17_same_args_parallel", "22_parallel_slow_first")
LEARNT, USUAL, HOURS = (
    1250,
    250,
    5,
)  # traces, and how long ago they begin: the reference is learnt from hours of traffic
LEARNING = {"LANEWATCH_DRIFT_FIT_TRACES": "600", "LANEWATCH_DRIFT_LEARNING_SECONDS": "3000"}
# Rules that the traffic of a minute can't move, by why; promtool's tests do.
NEEDS_A_DAY = {f"lanewatch:rate_{what}" for what in ("trials:1d", "trials:3h", "usual:1d", "usual:3h", "g:1d", "g:3h")}
NEEDS_A_FAULT = {"lanewatch:rate_risen:1h", "lanewatch:rate_fallen:1h"}
NEEDS_A_DAY |= {r.name for r in RULES if r.name.startswith("lanewatch:score_") and r.name.endswith((":1d", ":3h"))}
NEEDS_A_DAY |= {"lanewatch:evaluations_coverage:1d"}
FIRST_JUDGED = "10_rag_only"  # opens its service's scores at 0; of the captures some have contexts
JUDGING = {
    "LANEWATCH_JUDGE_ENABLED": "true",
    "LANEWATCH_SAMPLING_RATE": "1",
    "LANEWATCH_SAMPLING_PER_MINUTE": "100000",
}
ADAPTER = 'alertname="LanewatchAdapterDivergence"'


def without_a_call(messages: Any) -> list[dict[str, Any]]:
    """The artifact of an adapter that loses a call and its result."""
    changed = copy.deepcopy(list(messages))
    asking = next(message for message in changed if message.get("tool_calls"))
    lost = asking["metadata"]["tool_call_ids"].pop(0)
    asking["tool_calls"].pop(0)
    return [m for m in changed if (m["metadata"] or {}).get("tool_call_id") != lost]


def post_capture(sidecar: Running, capture: str) -> None:
    """Send its requests."""
    for signal, body in bodies(f"langchain_oi/{capture}"):
        assert sidecar.post(f"/v1/{signal}", body, Content_Type=PROTOBUF) == 200


def send(sidecar: Running) -> list[Any]:
    """Hours of usual traffic, then the captures; the captures' records."""
    traffic = Traffic(time.time() - HOURS * 3600)
    for count in (LEARNT, USUAL):
        for body in traffic.requests(count):
            wait_for(lambda body=body: sidecar.post("/v1/traces", body, Content_Type=PROTOBUF) == 200, "traffic")  # type: ignore[misc]
        if count == LEARNT:
            sidecar.wait_for(lambda: sidecar.total("lanewatch_drift_phase", phase="watching") == 1)
            post_capture(sidecar, FIRST_JUDGED)
            time.sleep(2 * INTERVAL_SECONDS)  # counters are seen at 0 before they move
    for capture in CAPTURES:
        post_capture(sidecar, capture)
    sidecar.wait_until_read(LEARNT + USUAL + 1 + len(CAPTURES))
    return [replay(CORPUS / "langchain_oi" / capture, Config()).observations[0].record for capture in CAPTURES]


def scraped(sidecar: Running, server: Prometheus) -> dict[str, str]:
    """What `lanewatch doctor --prometheus` finds."""
    client = PageClient(f"http://127.0.0.1:{server.port}", Config(), "--prometheus")
    samples = list(samples_of(sidecar.get("/metrics")[2]))
    return {check.name: check.status for check in ask_prometheus(client, samples)}


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"apt-get install {' '.join(MISSING)}")
def test_a_faulty_adapter_is_told_to_its_owner_and_to_nobody_else(tmp_path: Path) -> None:
    """Within two evaluations, by the shipped routes; it resolves when the adapter is whole again."""
    webhook = Webhook()
    try:
        with (
            running(**LEARNING, **JUDGING) as sidecar,
            alerting(tmp_path, sidecar.page_port, webhook.port) as prometheus,
        ):
            records = send(sidecar)
            recorded = {rule.name for rule in RULES if not rule.alert} - NEEDS_A_DAY - NEEDS_A_FAULT
            wait_for(lambda: not {name for name in recorded if not prometheus.query(name)}, "data of every rule")
            wait_for(lambda: bool(prometheus.query(f"up offset {WINDOW_SECONDS}s == 1")), "a window of scrapes")
            assert {rule["lastError"] for rule in prometheus.rules() if rule.get("lastError")} == set()
            assert prometheus.query('ALERTS{alertstate="firing"}') == []
            assert scraped(sidecar, prometheus) == {"scrape": "ok", "rules": "ok"}
            for record in records:
                pushed = {"producer": "mine", "trace_id": record.trace_id, "messages": without_a_call(record.messages)}
                assert sidecar.post("/v1/artifacts", json.dumps(pushed).encode(), Content_Type=JSON) == 202
            wait_for(lambda: bool(webhook.alerts("firing")), "the alert")
            counted = prometheus.first_time('lanewatch_artifacts_total{producer="mine", outcome="divergent"}', 3)
            fired = prometheus.first_time(f'ALERTS{{{ADAPTER}, alertstate="firing"}}')

            assert 0 <= fired - counted <= 2 * INTERVAL_SECONDS
            ((path, labels),) = webhook.alerts("firing")
            assert path == "/adapters"
            assert labels == {
                "alertname": "LanewatchAdapterDivergence",
                "severity": "warning",
                "lane": "tools",
                "owner": "producer mine",
                "producer": "mine",
                "service": records[0].service,
            }
            wait_for(lambda: bool(webhook.alerts("resolved")), "the end of the alert")
            assert webhook.alerts("resolved") == [("/adapters", labels)]
            assert {path for path, _ in webhook.received} == {"/adapters"}
            assert sidecar.terminate() == 0
    finally:
        webhook.close()
