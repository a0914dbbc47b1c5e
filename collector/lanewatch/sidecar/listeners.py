"""Faults of listening, told with the setting that changes the address."""

import contextlib
import os
from collections.abc import Iterator


class ListenerError(OSError):
    """An address can't be listened on; `str()` says for what, where, why, and which setting to change."""


@contextlib.contextmanager
def listening(what: str, host: str, port: int, setting: str) -> Iterator[None]:
    """Turn what binding an address raises into a ListenerError."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # gRPC's is a RuntimeError without a reason
        number = getattr(error, "errno", None) or 0
        why = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or "taken, or not of this machine"
        variable = f"LANEWATCH_{setting.replace('.', '_').upper()}"
        raise ListenerError(
            f"can't listen for {what} on {host}, port {port}: {why}. Set another {setting} ({variable})."
        ) from None
