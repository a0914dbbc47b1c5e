"""The commands of drift: `lanewatch baseline ...` and `lanewatch drift ...`, their options and exit status.

Exit status: 0 done; 1 something could not be read (the rest is told), or a line of the ledger can't be trusted; 2 wrong
usage: no traffic, no reference, another population, too little data, each with what to do about it.
"""

import os
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewatch.cli.exits import EXIT_FAILED, EXIT_USAGE, configuration_or_exit
from lanewatch.cli.options import ConfigFile, Pages, TextOrJson, path_given

if TYPE_CHECKING:
    from lanewatch.drifting.baseline_command import Act
    from lanewatch.drifting.baseline_store import Store

baseline = typer.Typer(
    name="baseline",
    help="What traffic is held against: build a reference, and change the one in use with a record of who and why.",
    no_args_is_help=True,
)
drift = typer.Typer(
    name="drift",
    help="Whether traffic is still what it was, in recordings and in a running sidecar.",
    no_args_is_help=True,
)


Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH", parser=path_given, help="Recorded OTLP: files or folders.")
]
ReferenceFile = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        parser=path_given,
        help="The reference in use; drift.reference_file where it is not given.",
    ),
]


def _said(reason: str) -> str:
    if not reason.strip():
        raise typer.BadParameter("say why: whoever reads the ledger later has nothing else to go by")
    return reason


Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", callback=_said, help="Why; it is kept in the ledger.")]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who; the user of this process by default.")]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Traces from here on: 2026-11-03T10:00.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Traces before this time.")]
Form = Annotated[TextOrJson, typer.Option("--format", help="To read, or one JSON object.")]
# What `--format json` was called before; it still works.
Json = Annotated[bool, typer.Option("--json", hidden=True)]


class ReportFormat(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


@baseline.command("build")
def baseline_build(
    paths: Paths,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", parser=path_given, help="Where the reference is written.")
    ],
    since: Since = None,
    until: Until = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option("--leave-out", metavar="FROM/TO", help="A period that was not usual; may be given again."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="FILE",
            parser=path_given,
            help="Leave out what this reference would have raised an alarm on.",
        ),
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Whose hours of the week it has; drift.time_zone by default.")
    ] = None,
    form: Form = TextOrJson.TEXT,
    as_json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Make a reference of recorded traffic, or of a window of it, and say what it can and can't do yet."""
    settings = configuration_or_exit(config)

    def run() -> None:
        from lanewatch.drifting.baseline_build import build  # noqa: PLC0415

        build(
            paths,
            out,
            settings,
            now=int(time.time()),
            since=since,
            until=until,
            left_out=tuple(leave_out or ()),
            against=against,
            time_zone=time_zone or settings.drift.time_zone,
            as_json=as_json or form is TextOrJson.JSON,
        )

    _told(run)


@baseline.command("propose")
def baseline_propose(
    reason: Reason,
    candidate: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", parser=path_given, help="What lanewatch baseline build wrote.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Instead of a file: what a running sidecar has counted, by the hour.")
    ] = False,
    metrics: Pages = None,
    since: Since = None,
    until: Until = None,
    by: By = None,
    reference: ReferenceFile = None,
    config: ConfigFile = None,
) -> None:
    """Propose a reference as the next one: a copy is kept, and the ledger says who, when and why."""
    if live is (candidate is not None) or (not live and (metrics or since or until)):
        raise typer.BadParameter("give a FILE, or --live and with it, if you like, --metrics, --since and --until")

    def run() -> None:
        from lanewatch.drifting.baseline_command import propose  # noqa: PLC0415
        from lanewatch.drifting.baseline_live import live_reference  # noqa: PLC0415
        from lanewatch.drifting.inputs import reference_in  # noqa: PLC0415

        store = _store(config, reference)
        if candidate is not None:
            proposed = reference_in(candidate)
        else:
            proposed = live_reference(configuration_or_exit(config), metrics, since, until)
        propose(store, proposed, _act(by, reason))

    _told(run)


@baseline.command("compare")
def baseline_compare(
    paths: Paths,
    candidate: Annotated[
        str | None, typer.Option(metavar="ID", help="The candidate; the one proposed last by default.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="A note for the ledger.")] = "",
    by: By = None,
    form: Form = TextOrJson.TEXT,
    as_json: Json = False,
    reference: ReferenceFile = None,
    config: ConfigFile = None,
) -> None:
    """Run the reference in use and a proposed one side by side over the same recorded traffic, best of after both."""

    def run() -> None:
        from lanewatch.drifting.baseline_command import compare  # noqa: PLC0415

        settings = configuration_or_exit(config)
        wanted = as_json or form is TextOrJson.JSON
        compare(_store(config, reference), paths, settings, _act(by, reason), name=candidate, as_json=wanted)

    _told(run)


@baseline.command("adopt")
def baseline_adopt(
    reason: Reason,
    candidate: Annotated[
        str | None, typer.Argument(metavar="ID", help="The candidate; the one proposed last by default.")
    ] = None,
    without_comparison: Annotated[
        bool, typer.Option("--without-comparison", help="Though it was not run beside the one in use.")
    ] = False,
    by: By = None,
    reference: ReferenceFile = None,
    config: ConfigFile = None,
) -> None:
    """Make a proposed reference the one in use. Its id is the label `ref` of every series that it is used for."""

    def run() -> None:
        from lanewatch.drifting.baseline_command import adopt  # noqa: PLC0415

        adopt(_store(config, reference), _act(by, reason), name=candidate, uncompared=without_comparison)

    _told(run)


@baseline.command("revert")
def baseline_revert(
    reason: Reason,
    to: Annotated[str | None, typer.Option("--to", metavar="ID", help="Go back to this one.")] = None,
    by: By = None,
    reference: ReferenceFile = None,
    config: ConfigFile = None,
) -> None:
    """Go back to the reference that was in use before the last adoption."""

    def run() -> None:
        from lanewatch.drifting.baseline_command import revert  # noqa: PLC0415

        revert(_store(config, reference), _act(by, reason), name=to)

    _told(run)


@baseline.command("log")
def baseline_log(
    form: Form = TextOrJson.TEXT, as_json: Json = False, reference: ReferenceFile = None, config: ConfigFile = None
) -> None:
    """Show who did what and why, and the reference in use. Status 1 where a line of the ledger, or the file in use, can't be trusted."""

    def run() -> bool:
        from lanewatch.drifting.baseline_command import show_log  # noqa: PLC0415

        return show_log(_store(config, reference), as_json=as_json or form is TextOrJson.JSON)

    _told(run)


@drift.command("report")
def drift_report(
    paths: Paths,
    against: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            parser=path_given,
            help="The reference; without one, the first half of the recording.",
        ),
    ] = None,
    form: Annotated[
        ReportFormat, typer.Option("--format", help="To read, to process, or a page with pictures (on stdout).")
    ] = ReportFormat.TEXT,
    since: Since = None,
    until: Until = None,
    config: ConfigFile = None,
) -> None:
    """Run the sidecar's drift monitor over recorded traffic: what moved, since when, how sure that is.

    Status 0 whether or not anything drifts, 1 where something could not be read, 2 where there is nothing to go by.
    """
    settings = configuration_or_exit(config)

    def run() -> bool:
        from lanewatch.drifting.report import report  # noqa: PLC0415

        return report(paths, settings, form, baseline=against, since=since, until=until)

    _told(run)


def _told(run: Callable[[], bool | None]) -> None:
    """Do it; what is wrong with what was given is said in a line, with status 2. False is status 1."""
    from lanewatch.drifting.inputs import DriftFault  # noqa: PLC0415

    try:
        done = run()
    except DriftFault as fault:
        typer.echo(f"lanewatch: {fault}", err=True)
        raise typer.Exit(EXIT_USAGE) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""  # a full disk has no name
        typer.echo(f"lanewatch: {where}{error.strerror or 'it failed'}", err=True)
        raise typer.Exit(EXIT_USAGE) from None
    if done is False:
        raise typer.Exit(EXIT_FAILED)


def _store(config: Path | None, reference: Path | None) -> "Store":
    from lanewatch.drifting.baseline_store import store_of  # noqa: PLC0415

    return store_of(configuration_or_exit(config), reference)


def _act(by: str | None, reason: str) -> "Act":
    import getpass  # noqa: PLC0415

    from lanewatch.drifting.baseline_command import Act  # noqa: PLC0415

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        user = f"uid {os.getuid()}"
    return Act(by or user, int(time.time()), reason)
