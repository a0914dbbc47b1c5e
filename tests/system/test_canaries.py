"""Secrets in every field of a trace, and none of them in a log, a label, a file or an error."""

import json
import re
from pathlib import Path

from tests.system.leaking import Canaries, leaking_trace
from tests.system.sidecar import running

PROTOBUF = "application/x-protobuf"


def test_secrets_in_every_field_are_seen_nowhere(tmp_path: Path) -> None:
    """Not in the log at its most talkative, not in a label, not in a file that is written, not in what is answered."""
    secret = Canaries()
    body = leaking_trace(secret)
    settings = {
        "LANEWATCH_LOG_LEVEL": "debug",
        "LANEWATCH_HANDOFF_FILE": str(tmp_path / "handoffs.jsonl"),
        "LANEWATCH_HANDOFF_UNSUPPORTED": "true",
        "LANEWATCH_REDACTION_KEY": "0123456789abcdef0123456789abcdef",
        "LANEWATCH_DRIFT_STATE_FOLDER": str(tmp_path),
        "LANEWATCH_DRIFT_SNAPSHOT_SECONDS": "0.2",
    }
    with running(**settings) as sidecar:
        assert sidecar.post("/v1/traces", body, Content_Type=PROTOBUF) == 200
        assert sidecar.post("/v1/traces", secret("{}").encode(), Content_Type="application/json") == 400
        pushed = json.dumps(
            {"producer": secret(), "trace_id": "07" * 16, "messages": [{"type": "human", "content": secret()}]}
        )
        assert sidecar.post("/v1/artifacts", pushed.encode(), Content_Type="application/json") in (202, 400)
        sidecar.wait_until_read(1)
        pages = [sidecar.get(path)[2] for path in ("/metrics", "/healthz", "/readyz")]
        pages.append(sidecar.get("/metrics", accept="application/openmetrics-text")[2])
        assert sidecar.terminate() == 0
        log = "\n".join(sidecar.log_lines())
    files = {path.name: path.read_bytes().decode(errors="replace") for path in tmp_path.rglob("*") if path.is_file()}

    assert secret.made >= 40
    assert '"trace_id":"' + "07" * 16 in files["handoffs.jsonl"]
    assert files["handoffs.jsonl"].count("<redacted:") > 20
    for text in (log, *pages, *files.values(), *files):
        assert re.findall(r".{0,40}CANARY\d\d", text) == []
    assert "0123456789abcdef" not in log + "".join(pages) + "".join(files.values())
