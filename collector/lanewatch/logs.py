"""The log: one line an event on standard error, as JSON or as text. Traced content is never in it.

Nothing else is written there: Python's warnings and what ends a thread become lines, and gRPC's C core, which has a format
of its own, is told to be quiet (`GRPC_VERBOSITY`) unless somebody asks for what it says.
"""

import json
import logging
import os
import sys
import threading
import time
from typing import Literal

from lanewatch.collector.error_place import place_of

logger = logging.getLogger(__name__)

STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, and the fields given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; control characters are escaped, so one event can't look like two."""
        fields = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {key: str(value) for key, value in record.__dict__.items() if key not in STANDARD}
        return json.dumps(fields, ensure_ascii=True)


class TextFormatter(logging.Formatter):
    """One line a person reads: time, level, message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """The line, with line ends escaped."""
        return super().format(record).replace("\r", "\\r").replace("\n", "\\n")


def configure_logging(level: str, form: Literal["json", "text"]) -> None:
    """Send everything that is logged to standard error in one form. To be called before gRPC is imported."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # Its own start and stop would tell of a server that only serves the pages.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    threading.excepthook = lambda failed: _tell(failed.exc_value, f"thread {getattr(failed.thread, 'name', '?')} ended")
    sys.unraisablehook = lambda failed: _tell(failed.exc_value, "in a destructor or callback")
    if os.environ.setdefault("GRPC_VERBOSITY", "NONE") == "NONE":
        logger.info("gRPC's own messages are off: they are no lines of this log. GRPC_VERBOSITY=ERROR shows them.")


def _tell(error: BaseException | None, where: str) -> None:
    """Without the error's message, which may hold content."""
    logger.error(
        "a fault of Lanewatch's own, %s: %s", where, type(error).__name__ if error is None else place_of(error)
    )
