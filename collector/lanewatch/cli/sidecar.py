"""The commands that ask a running sidecar: `lanewatch doctor`, `lanewatch health`, `lanewatch report` and `lanewatch drift ack`.

Exit status: 0 done, or nothing is wrong; 1 something is wrong, or nobody answers; 2 wrong usage.
"""

from pathlib import Path
from typing import Annotated

import typer

from lanewatch.cli.exits import EXIT_FAILED, EXIT_USAGE, configuration_or_exit, settings_or_exit
from lanewatch.cli.options import ConfigFile, Pages, TextOrJson
from lanewatch.shown_text import shown_line


def doctor(
    metrics: Pages = None,
    prometheus: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A Prometheus that is to scrape it: http://127.0.0.1:9090. It is asked too."),
    ] = None,
    form: Annotated[TextOrJson, typer.Option("--format", help="To read, or one JSON object.")] = TextOrJson.TEXT,
    config: ConfigFile = None,
) -> None:
    """Look at a running sidecar: what is set, who listens, what comes in, what drift says; what to do where it is not well.

    Status 1 where something is wrong. It sends nothing but requests for the sidecar's own pages, and for those of Prometheus
    where --prometheus names one.
    """
    from lanewatch.doctor.command import doctor as look  # noqa: PLC0415
    from lanewatch.pages.client import PageAddressError  # noqa: PLC0415

    settings = configuration_or_exit(config)
    try:
        sound = look(settings, metrics, prometheus, as_json=form is TextOrJson.JSON)
    except PageAddressError as error:
        raise _ended(str(error), EXIT_USAGE) from None
    if not sound:
        raise typer.Exit(EXIT_FAILED)


def health(
    metrics: Pages = None,
    ready: Annotated[
        bool, typer.Option("--ready", help="Whether it takes data (/readyz), instead of whether it works (/healthz).")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Ask a running sidecar whether it works, for the health check of a container: status 0 or 1, and one line that says why."""
    from lanewatch.doctor.health_command import verdict  # noqa: PLC0415
    from lanewatch.pages.client import PageAddressError  # noqa: PLC0415

    settings = settings_or_exit(config)
    try:
        well, told = verdict(settings, metrics, ready=ready)
    except PageAddressError as error:
        raise _ended(str(error), EXIT_USAGE) from None
    typer.echo(shown_line(told), err=not well)
    if not well:
        raise typer.Exit(EXIT_FAILED)


def report(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Recorded OTLP, instead of a running sidecar.")
    ] = None,
    metrics: Pages = None,
    form: Annotated[TextOrJson, typer.Option("--format", help="To read, or one JSON object.")] = TextOrJson.TEXT,
    config: ConfigFile = None,
) -> None:
    """Tell the rates of a running sidecar, or of recordings, with 95 % intervals: per service and lane, never added up.

    Refusals, abstentions, tool errors, schema violations, divergences; and each lane's traces by status. What could not be
    told is in no rate, and stands beside it. Status 1 where nothing can be said, or a path could not be read.
    """
    from lanewatch.pages.client import PageAddressError, PagesUnreachableError  # noqa: PLC0415
    from lanewatch.replaying.rates_report import ReportFault  # noqa: PLC0415
    from lanewatch.replaying.rates_report import report as tell  # noqa: PLC0415

    settings = configuration_or_exit(config)
    try:
        whole = tell(paths or [], metrics, settings, as_json=form is TextOrJson.JSON)
    except PageAddressError as error:
        raise _ended(str(error), EXIT_USAGE) from None
    except (ReportFault, PagesUnreachableError) as error:
        raise _ended(str(error), EXIT_FAILED) from None
    if not whole:
        raise typer.Exit(EXIT_FAILED)


def drift_ack(
    service: Annotated[str, typer.Argument(metavar="SERVICE", help="As the label `service` has it.")],
    signal: Annotated[str, typer.Argument(metavar="SIGNAL", help="As the label `signal` has it.")],
    metrics: Pages = None,
    config: ConfigFile = None,
) -> None:
    """End a standing alarm of a running sidecar, since somebody has seen to it; its evidence begins anew.

    What has changed and stays so will alarm again: then the new traffic is what is usual, and the reference is to be
    changed. Status 1 where no such alarm stands or nobody answers.
    """
    from lanewatch.drifting.ack_command import AckFault, acknowledge  # noqa: PLC0415
    from lanewatch.pages.client import PageAddressError, PagesUnreachableError  # noqa: PLC0415

    settings = configuration_or_exit(config)
    try:
        acknowledge(settings, metrics, service, signal)
    except PageAddressError as error:
        raise _ended(str(error), EXIT_USAGE) from None
    except (AckFault, PagesUnreachableError) as error:
        raise _ended(str(error), EXIT_FAILED) from None
    typer.echo("The alarm has ended.")


def _ended(text: str, status: int) -> typer.Exit:
    typer.echo(f"lanewatch: {shown_line(text)}", err=True)
    return typer.Exit(status)
