"""Resources and scopes that were decoded before: an exporter sends the same bytes with each of its requests.

Invariants: what is found was made of the same bytes within the same limits, and nothing of it was left out; at most `PARTS`
parts of at most `PART_BYTES` encoded bytes are remembered. Any thread may ask.
"""

from typing import Generic, TypeVar

from lanewatch.collector.limits import DecodeLimits

PARTS = 256
PART_BYTES = 4096  # a resource of a pod in Kubernetes with all that its detectors add takes a half of it

Part = TypeVar("Part")


class Repeated(Generic[Part]):
    """Decoded parts by their bytes, and by what was given beside these."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes | str, DecodeLimits], Part] = {}

    def find(self, raw: bytes, limits: DecodeLimits, beside: bytes | str = "") -> Part | None:
        """The part as it was decoded before, if it is remembered."""
        return self._known.get((raw, beside, limits))

    def keep(self, part: Part, raw: bytes, limits: DecodeLimits, beside: bytes | str = "") -> None:
        """Remember a part of which nothing was left out. Where there are too many all are forgotten: as a rule there are few,
        and whoever sends ever new ones gains nothing by an order among them.
        """
        if len(raw) + len(beside) > PART_BYTES:
            return
        if len(self._known) >= PARTS:
            self._known.clear()
        self._known[raw, beside, limits] = part
