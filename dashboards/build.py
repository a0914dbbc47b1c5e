"""Writes the dashboards as Grafana reads them, into dashboards/json; `--check` only compares.

python -m dashboards.build [--check] [--runbook ADDRESS] [--to FOLDER]
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import divergence, drift, frame, overview, retrieval_generation, sidecar

FOLDER = Path(__file__).parent / "json"
DASHBOARDS: dict[str, Callable[[], Dashboard]] = {
    "overview": overview.build,
    "divergence": divergence.build,
    "retrieval-generation": retrieval_generation.build,
    "drift": drift.build,
    "sidecar": sidecar.build,
}


def text_of(name: str, runbook: str = frame.RUNBOOK_ADDRESS) -> str:
    """A dashboard as JSON; its links to the runbook go to this address."""
    text = json.dumps(DASHBOARDS[name](), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False)
    return text.replace(json.dumps(frame.RUNBOOK_ADDRESS), json.dumps(runbook)) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Status 1 where `--check` finds a file that is not what the code builds."""
    parser = argparse.ArgumentParser(description="Build the dashboards.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--runbook", default=frame.RUNBOOK_ADDRESS, help="address of your copy of the runbook")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder to write to")
    asked = parser.parse_args(arguments)
    differ = False
    if not asked.check:
        asked.to.mkdir(parents=True, exist_ok=True)
    for name in DASHBOARDS:
        path, text = asked.to / f"{name}.json", text_of(name, asked.runbook)
        if not path.exists() or path.read_text() != text:
            differ = True
            if asked.check:
                sys.stderr.write(f"{path} is not what the code builds: make dashboards\n")
            else:
                path.write_text(text)
    return int(asked.check and differ)


if __name__ == "__main__":
    sys.exit(main())
