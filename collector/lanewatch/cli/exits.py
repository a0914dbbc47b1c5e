"""How a command ends early: the exit statuses, and the configuration that it can't do without."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from lanewatch.config.loading import Config

EXIT_FAILED, EXIT_USAGE, EXIT_UNKNOWN = 1, 2, 3


def configuration_or_exit(path: Path | None) -> "Config":
    """Load the configuration; print its warnings, or every fault and end with status 2."""
    config = settings_or_exit(path)
    for warning in config.warnings():
        typer.echo(f"Warning: {warning}", err=True)
    return config


def settings_or_exit(path: Path | None) -> "Config":
    """The same without warnings, for what is asked every few seconds, or logs them itself."""
    from lanewatch.config.loading import ConfigFaults, load_config  # noqa: PLC0415

    try:
        return load_config(path, os.environ)
    except ConfigFaults as error:
        count = len(error.faults)
        typer.echo(f"The configuration has {count} fault{'' if count == 1 else 's'}:", err=True)
        for fault in error.faults:
            typer.echo(f"  {fault}", err=True)
        raise typer.Exit(EXIT_USAGE) from None
