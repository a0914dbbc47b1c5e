"""Tells an error without its text, which may hold traced content: its kind, and where it arose.

It knows nobody, so that every part can use it; what is logged, counted once a place, or answered by a process is this.
"""

import traceback
from pathlib import PurePath


def place_of(error: BaseException) -> str:
    """`TypeError at langgraph.py:37 in convert`; the kind alone of an error that was never raised."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    last = frames[-1]
    return f"{type(error).__name__} at {PurePath(last.filename).name}:{last.lineno} in {last.name}"
