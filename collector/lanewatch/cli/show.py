"""The command `lanewatch show`, its options and exit status."""

from pathlib import Path
from typing import Annotated

import typer

from lanewatch.cli.exits import configuration_or_exit
from lanewatch.cli.options import ConfigFile, TextOrJson


def show(
    trace_id: Annotated[str, typer.Argument(metavar="TRACE_ID", help="A trace id, or its first digits.")],
    config: ConfigFile = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="The file of handoffs, where not handoff.file."),
    ] = None,
    form: Annotated[
        TextOrJson, typer.Option("--format", help="A report to read, or a JSON object a trace.")
    ] = TextOrJson.TEXT,
) -> None:
    """Show the handoff of a trace: each lane that fails or can't be judged, who looks into it, and the calls side by side.

    A sidecar writes handoffs where handoff.file names a file. Secrets and sensitive arguments are hidden in it. Status 1
    where nothing is known of the trace.
    """
    from lanewatch.handoffs.show_command import ShowFault  # noqa: PLC0415
    from lanewatch.handoffs.show_command import show as show_trace  # noqa: PLC0415

    settings = configuration_or_exit(config)
    try:
        show_trace(trace_id, file, settings, as_json=form is TextOrJson.JSON)
    except ShowFault as fault:
        typer.echo(f"lanewatch: {fault}", err=True)
        raise typer.Exit(1) from None
