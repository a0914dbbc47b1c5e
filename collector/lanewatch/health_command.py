"""`lanewatch health`: whether a running sidecar works, or takes data, in one word and an exit status."""

import msgspec

from lanewatch.config_keys import Config
from lanewatch.page_client import PageClient, PagesUnreachableError

OK = 200


class _Verdict(msgspec.Struct):
    reasons: list[str] = []


def verdict(config: Config, metrics: str | None, *, ready: bool) -> tuple[bool, str]:
    """(whether it is well, what to say). Raises PageAddressError."""
    path = "/readyz" if ready else "/healthz"
    try:
        answer = PageClient(metrics, config).get(path)
    except PagesUnreachableError as error:
        return False, str(error)
    if answer.status == OK:
        return True, "ok"
    try:
        reasons = msgspec.json.decode(answer.body, type=_Verdict).reasons
    except msgspec.DecodeError:
        reasons = []
    return False, ", ".join(reasons) or f"{path} answers {answer.status}: is it Lanewatch that listens there?"
