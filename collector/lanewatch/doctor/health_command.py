"""`lanewatch health`: whether a running sidecar works, or takes data, in one word and an exit status."""

import msgspec

from lanewatch.config.keys import Config
from lanewatch.pages.client import PageClient, PagesUnreachableError, decoded

OK = 200


class _Verdict(msgspec.Struct):
    ok: bool
    reasons: list[str] = []


def verdict(config: Config, metrics: str | None, *, ready: bool) -> tuple[bool, str]:
    """(whether it is well, what to say). Raises PageAddressError."""
    path = "/readyz" if ready else "/healthz"
    try:
        answer = PageClient(metrics, config).get(path)
    except PagesUnreachableError as error:
        return False, str(error)
    try:
        told = decoded(answer.body, _Verdict)
    except msgspec.DecodeError:  # many a server answers any path with 200
        return False, f"{path} answers {answer.status}, and not as Lanewatch does: is it Lanewatch that listens there?"
    if answer.status == OK and told.ok:
        return True, "ok"
    return False, ", ".join(told.reasons) or f"{path} answers {answer.status}: is it Lanewatch that listens there?"
