"""A reference of what a running sidecar has counted lately, asked over its pages: counts come, and no text and no vectors."""

import msgspec

from lanewatch.config.keys import Config
from lanewatch.drifting.inputs import DriftFault, window
from lanewatch.monitors.drift.promotion import abilities
from lanewatch.monitors.drift.reference import LEAST_OBSERVATIONS, Reference
from lanewatch.pages.client import PageAddressError, PageClient, PagesUnreachableError, decoded

NANOSECONDS = 1_000_000_000
OK = 200


class _Refusal(msgspec.Struct):
    error: str = ""


def live_reference(config: Config, metrics: str | None, since: str | None, until: str | None) -> Reference:
    """What the sidecar at `metrics` (by default the configured one) counted between two times. Raises DriftFault."""
    wanted = window(since, until)
    asked = {"since": max(0, wanted.first_ns // NANOSECONDS), "until": wanted.last_ns // NANOSECONDS}
    try:
        client = PageClient(metrics, config)
        answer = client.post("/drift/window", msgspec.json.encode(asked))
    except (PageAddressError, PagesUnreachableError) as error:
        raise DriftFault(str(error)) from None
    if answer.status != OK:
        raise DriftFault(_why(answer.body) or f"{client.address} answers {answer.status}: is drift enabled there?")
    try:
        reference = decoded(answer.body, Reference)
    except msgspec.DecodeError:
        raise DriftFault(f"{client.address} is of another version of Lanewatch: what it gives can't be read") from None
    if not any(one.watched for one in abilities(reference)):
        raise DriftFault(
            f"in that time the sidecar counted too little: no series has {LEAST_OBSERVATIONS} observations. It keeps the hours "
            "of drift.window_days, without those in which a series stood in alarm; ask for a longer time, or later"
        )
    return reference


def _why(body: bytes) -> str:
    try:
        why = decoded(body, _Refusal).error
    except msgspec.DecodeError:
        return ""
    return why if why.isprintable() else ""
