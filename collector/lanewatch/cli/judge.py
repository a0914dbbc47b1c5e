"""The commands of the judge: `lanewatch judge check`, `lanewatch judge compare` and `lanewatch judge adopt`.

Exit status: 0 done, and every judge is ok; 1 one has shifted or failed, or could not be compared; 2 wrong usage.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewatch.cli.exits import EXIT_FAILED, EXIT_USAGE, configuration_or_exit
from lanewatch.cli.options import ConfigFile, TextOrJson, path_given

if TYPE_CHECKING:
    from lanewatch.config.loading import Config

judge = typer.Typer(
    name="judge",
    help="Whether the judge of your traffic can be trusted: its canaries, and two judges side by side.",
    no_args_is_help=True,
)

Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", metavar="NAME", help="Only this metric; may be given again."),
]
Form = Annotated[TextOrJson, typer.Option("--format", help="To read, or one JSON object.")]


@judge.command("check")
def judge_check(metric: Metrics = None, form: Form = TextOrJson.TEXT, config: ConfigFile = None) -> None:
    """Judge the canaries once at the configured endpoint: what was sent, what came back, the cost, and a verdict for each metric.

    Without an endpoint, the signals that need no model are checked, and nothing leaves this machine. Costs what a round of the
    sidecar costs, within budget's limits. Status 1 where a judge has shifted against the reference in judge.store, or fails.
    """

    def run(settings: "Config") -> bool:
        from lanewatch.judging.check_command import check  # noqa: PLC0415

        return check(settings, metric or (), as_json=form is TextOrJson.JSON)

    _told(run, config)


@judge.command("compare")
def judge_compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A model's name, or a file that `judge check` wrote.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    frozen: Annotated[
        Path | None,
        typer.Option(
            "--set", metavar="FILE", parser=path_given, help="The cases, a JSON line each; canaries by default."
        ),
    ] = None,
    metric: Metrics = None,
    form: Form = TextOrJson.TEXT,
    config: ConfigFile = None,
) -> None:
    """Hold two judges against each other on one frozen set: agreement with its interval, and each case in which they differ.

    A model is asked at judge.base_url, or at judge.second_base_url where it is judge.second_model. Files are what
    `lanewatch judge check --format json` prints; with two of them nobody is asked. Status 1 where nothing was scored by both.
    """

    def run(settings: "Config") -> bool:
        from lanewatch.judging.compare_command import compare  # noqa: PLC0415

        return compare(settings, first, second, frozen, metric or (), as_json=form is TextOrJson.JSON)

    _told(run, config)


@judge.command("adopt")
def judge_adopt(metric: Metrics = None, config: ConfigFile = None) -> None:
    """The judge was changed on purpose: its last round of canaries is the reference from now on, and nothing is held back.

    For all metrics that drift, or those named. The running sidecar takes it up within seconds; needs judge.store.
    """

    def run(settings: "Config") -> bool:
        from lanewatch.judging.adopt_command import adopt  # noqa: PLC0415

        for name in adopt(settings, metric or ()):
            typer.echo(f"{name}: the last round is the reference from now on.")
        return True

    _told(run, config)


def _told(run: "Callable[[Config], bool]", path: Path | None) -> None:
    """Do it; what is wrong with what was asked is said, with status 2."""
    settings = configuration_or_exit(path)
    from lanewatch.judging.check_command import CheckFault  # noqa: PLC0415

    logging.getLogger("lanewatch").addHandler(logging.NullHandler())  # what failed is a line of the report
    try:
        done = run(settings)
    except CheckFault as fault:
        typer.echo(f"lanewatch: {fault}", err=True)
        raise typer.Exit(EXIT_USAGE) from None
    if not done:
        raise typer.Exit(EXIT_FAILED)
