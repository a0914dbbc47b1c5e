"""`lanewatch health`: what a container's health check goes by."""

import pytest
from lanewatch.config.loading import Config
from lanewatch.doctor.health_command import verdict
from lanewatch.pages.client import Answer, PageClient, PagesUnreachableError


@pytest.mark.parametrize(
    ("answer", "well", "told"),
    [
        (Answer(200, b'{"ok":true}'), True, "ok"),
        (Answer(503, b'{"ok":false,"reasons":["reading_stuck","stopping"]}'), False, "reading_stuck, stopping"),
        (Answer(404, b"nothing"), False, "answers 404"),
        (Answer(200, b"<html>Welcome</html>"), False, "not as Lanewatch does"),
        (Answer(200, b"[" * 100_000), False, "not as Lanewatch does"),
        (None, False, "nobody"),
    ],
)
def test_it_is_well_where_the_page_says_so(
    monkeypatch: pytest.MonkeyPatch, answer: Answer | None, well: bool, told: str
) -> None:
    """Anything else is not: a sidecar that does not answer, and another server on its port."""

    def get(self: PageClient, path: str) -> Answer:
        if answer is None:
            raise PagesUnreachableError("nobody answers")
        return answer

    monkeypatch.setattr(PageClient, "get", get)
    found = verdict(Config(), None, ready=False)

    assert found[0] is well
    assert told in found[1]


@pytest.mark.parametrize(("ready", "path"), [(False, "/healthz"), (True, "/readyz")])
def test_alive_and_ready_are_pages_of_their_own(monkeypatch: pytest.MonkeyPatch, ready: bool, path: str) -> None:
    """A health check that asked for readiness would kill a sidecar that stops well."""
    asked: list[str] = []

    def get(self: PageClient, path: str) -> Answer:
        asked.append(path)
        return Answer(200, b"")

    monkeypatch.setattr(PageClient, "get", get)
    verdict(Config(), None, ready=ready)

    assert asked == [path]
