"""The demonstration that stays up: what it leaves behind for the application that is watched afterwards."""

import pytest
from lanewatch.collector.closing import AssemblerLimits
from lanewatch.config.keys import Config, Metrics, Receivers
from lanewatch.demo import playing
from lanewatch.sidecar.app import Sidecar

from tests.collector.gathering import decoded, span


def test_who_is_watched_after_the_demonstration_is_waited_for_as_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings come whole and close soon; an application's processes hand their spans on up to five seconds apart."""
    due: list[float | None] = []

    def look(sidecar: Sidecar, *_: object) -> None:
        sidecar.assembler.add(decoded(span(1, 1)), 1e9)
        due.append(sidecar.assembler.next_due())
        sidecar.stop()

    monkeypatch.setattr(playing, "_show", lambda *_: True)
    monkeypatch.setattr(playing, "_say_where", look)
    config = Config(receivers=Receivers(grpc_port=0, http_port=0), metrics=Metrics(port=0))

    assert playing.run_demo(config, stay=True)
    assert due == [1e9 + AssemblerLimits().quiet_after_root_seconds]
