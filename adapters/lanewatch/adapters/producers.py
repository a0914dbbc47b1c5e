"""Who makes artifacts: Lanewatch itself, Ragas' own converters, and a user's adapters by their entry points.

A user's adapter is a function in the entry point group `lanewatch.artifact_producers`:

    def produce(messages: list[dict], record: dict) -> list

`messages` are chat messages in OpenAI's form (`lanewatch.adapters.chat`), `record` is the trace's record as JSON has it;
it returns Ragas' messages, or their dictionaries. Everything but Lanewatch's own runs in a process of its own
(`producer_process`), so that what hangs, crashes or leaks is a finding and not an outage.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import msgspec

from lanewatch.adapters.artifact_messages import OWN, Artifact
from lanewatch.adapters.ragas_converters import CONVERTERS, Convert, load_converter, ragas_version
from lanewatch.adapters.records import TraceRecord

GROUP = "lanewatch.artifact_producers"


class UnknownProducerError(LookupError):
    """No producer has this name. `str()` lists those that exist."""


class Identity(msgspec.Struct, frozen=True):
    """A producer's name, who answers for it, and its version where that is known."""

    name: str
    owner: str
    version: str | None = None


def own_artifact(record: TraceRecord) -> Artifact:
    """The artifact that Lanewatch itself makes."""
    return Artifact(OWN, OWN, record.messages)


def producer_names() -> tuple[str, ...]:
    """Every producer that is known here, whether or not what it needs is installed."""
    return (OWN, *CONVERTERS, *sorted(_adapters()))


def identify(name: str) -> Identity:
    """Who a producer is, without loading it. Raises UnknownProducerError."""
    if name == OWN:
        return Identity(OWN, OWN)
    if name in CONVERTERS:
        release = ragas_version()
        return Identity(
            name, f"ragas {release} ({name.removeprefix('ragas.')} converter)" if release else "ragas", release
        )
    adapter = _adapters().get(name)
    if adapter is None:
        raise UnknownProducerError(f"no producer is named {name!r}; there are: {', '.join(producer_names())}")
    distribution = adapter.dist
    package = distribution.name if distribution is not None else "unknown distribution"
    return Identity(name, f"adapter {name} ({package})", distribution.version if distribution is not None else None)


def load_producer(name: str) -> Convert:
    """The function of a producer other than the own one. Imports what it needs; raises what the import raises."""
    if name in CONVERTERS:
        return load_converter(name)
    adapter = _adapters().get(name)
    if adapter is None:
        raise UnknownProducerError(name)
    loaded = adapter.load()
    if not callable(loaded):
        raise TypeError("the entry point is no function")

    def convert(chat: tuple[dict[str, Any], ...], record: dict[str, Any]) -> Any:
        return loaded(list(chat), record)

    return convert


def record_view(record: TraceRecord) -> dict[str, Any]:
    """The record as plain JSON values, for a producer in another process."""
    view: dict[str, Any] = msgspec.to_builtins(
        {
            "trace_id": record.trace_id,
            "session_id": record.session_id,
            "service": record.service,
            "conventions": record.conventions,
            "requests": record.requests,
            "dispatches": record.dispatches,
            "responses": record.responses,
            "evidence": record.evidence,
        },
        enc_hook=lambda value: f"<{type(value).__name__}>",
    )
    return view


def _adapters() -> dict[str, EntryPoint]:
    """Users' adapters by name; a name of ours is never theirs."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    return {name: point for name, point in found.items() if name != OWN and name not in CONVERTERS}
