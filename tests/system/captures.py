"""Recorded captures of tests/corpus as request bodies."""

import gzip
from collections.abc import Iterator
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "corpus"


def bodies(capture: str) -> Iterator[tuple[str, bytes]]:
    """(traces or logs, protobuf body) of a capture, in the order in which replay reads them."""
    for file in sorted((CORPUS / capture).glob("*.pb.gz")):
        yield ("logs" if file.name.startswith("logs") else "traces"), gzip.decompress(file.read_bytes())
