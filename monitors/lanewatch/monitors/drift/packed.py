"""Arrays as short bytes in a JSON file: whole numbers as int64, others as float64, deflated.

What is read is bounded by the length that is expected, and None where it is not that.
"""

import zlib

import numpy as np

from lanewatch.monitors.drift.distances import Floats

_WHOLE, _REAL = b"i", b"f"


def pack(values: Floats) -> bytes:
    """An array as bytes.

    >>> unpack(pack(np.array([1.0, 2.5])), 2).tolist()
    [1.0, 2.5]
    """
    whole = bool((values == np.rint(values)).all() and (np.abs(values) < 2**62).all())
    body = values.astype("<i8" if whole else "<f8").tobytes()
    return (_WHOLE if whole else _REAL) + zlib.compress(body, 6)


def unpack(data: bytes, length: int) -> Floats | None:
    """The array again, or None where the bytes are not an array of so many finite numbers."""
    inflater = zlib.decompressobj()
    try:
        body = inflater.decompress(data[1:], 8 * length + 1)
    except zlib.error:
        return None
    if len(body) != 8 * length or data[:1] not in {_WHOLE, _REAL}:
        return None
    values = np.frombuffer(body, "<i8" if data[:1] == _WHOLE else "<f8").astype(float)
    return values if np.isfinite(values).all() else None
