"""`lanewatch drift ack`: a person has seen an alarm; the running sidecar ends it and begins its evidence anew."""

import msgspec

from lanewatch.config.keys import Config
from lanewatch.pages.client import PageClient, decoded


class AckFault(Exception):  # noqa: N818 - it tells a person what is wrong
    """Why an alarm was not ended."""


class _Refusal(msgspec.Struct):
    error: str = ""


def acknowledge(config: Config, metrics: str | None, service: str, signal: str) -> None:
    """End the alarm. Raises AckFault, PagesUnreachableError, PageAddressError."""
    client = PageClient(metrics, config)
    body = msgspec.json.encode({"service": service, "signal": signal})
    answer = client.post("/drift/ack", body)
    if answer.status == 200:  # noqa: PLR2004 - HTTP's own
        return
    try:
        why = decoded(answer.body, _Refusal).error
    except msgspec.DecodeError:
        why = ""
    raise AckFault(why if why.isprintable() and why else f"{client.address} answers {answer.status}: is drift enabled?")
