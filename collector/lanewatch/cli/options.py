"""Options and arguments that several commands take, each said once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


def path_given(text: str) -> Path:
    """A path as it was given; an empty one is a variable that is not set, and not the current directory."""
    if not text:
        raise typer.BadParameter("the path is empty; `.` is the current directory")
    return Path(text)


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        envvar="LANEWATCH_CONFIG",
        metavar="FILE",
        parser=path_given,
        help="The configuration, a TOML file.",
    ),
]


Pages = Annotated[
    str | None,
    typer.Option(
        "--metrics", metavar="URL", help="Where the sidecar's pages are; metrics.host and metrics.port by default."
    ),
]


class TextOrJson(StrEnum):
    """How a command that has one answer prints it."""

    TEXT = "text"
    JSON = "json"
