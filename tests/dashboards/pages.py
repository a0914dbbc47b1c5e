"""The committed dashboards as data."""

import json
from pathlib import Path
from typing import Any

from dashboards.build import DASHBOARDS, FOLDER

PAGES: dict[str, dict[str, Any]] = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in DASHBOARDS}
PROVISIONING = Path(__file__).parents[2] / "dashboards" / "provisioning"
# Values as Grafana puts them in place of a variable: all of them, or one.
EVERY = ".+"
