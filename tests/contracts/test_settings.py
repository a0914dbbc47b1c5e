"""Settings and the code that obeys them: none is read by nobody."""

import re

from lanewatch.config_reference import describe

from tests.contracts.source_tree import modules


def test_every_setting_is_read() -> None:
    """A limit that can be set and changes nothing would be a promise broken in silence."""
    builders = {name: path for name, path in modules().items() if not name.startswith("lanewatch.config")}
    text = "\n".join(path.read_text() for name, path in builders.items() if name.count(".") == 1)

    assert [row.name for row in describe() if not re.search(rf"\.{row.key}\b", text)] == []
