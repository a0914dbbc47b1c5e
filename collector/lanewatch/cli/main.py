"""The `lanewatch` command: its verbs, their help, and what each exit status means.

Exit status: 0 done; 1 something failed; 2 wrong usage or a faulty configuration; 74 standard output can't be written (a
full disk), 130 interrupted (Typer sees to that one); 141 the reader of the output went away (`| head`), as for any
command that a shell sees ended by SIGPIPE. A command imports what it needs inside its function, so that `lanewatch
--help` answers at once. No traceback is ever printed: an exception's text may hold traced content.
"""

import logging
import os
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewatch.cli.drift import baseline, drift
from lanewatch.cli.exits import EXIT_FAILED, EXIT_UNKNOWN, EXIT_USAGE, configuration_or_exit
from lanewatch.cli.judge import judge
from lanewatch.cli.options import ConfigFile, TextOrJson, path_given
from lanewatch.cli.show import show
from lanewatch.cli.sidecar import doctor, drift_ack, health, report
from lanewatch.shown_text import shown_line
from lanewatch.standard_streams import OutputGone, give_up_output, prepare_streams

# 130 traces at 5 s and a start each: an adapter that always hangs is still asked for every one.
TRIAL_SECONDS = 900.0

HELP = """
Watch RAG and agent traffic through its OpenTelemetry traces: what the model asked for, what the runtime really ran, and
what an evaluator was given. Where the three differ, Lanewatch says where first, and who owns that.

Four things to do first:

1. See it work: **lanewatch demo**

2. Read a recording: **lanewatch replay FOLDER**

3. Start the sidecar: **lanewatch run** (OTLP on 127.0.0.1:4317 and 4318, metrics on 127.0.0.1:9464), and set
OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 in the application

4. Set what you need: **lanewatch check-config --defaults > lanewatch.toml**
"""

app = typer.Typer(
    name="lanewatch",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _wrong(text: str) -> typer.Exit:
    """Say what is wrong with what was given; the exit to raise."""
    typer.echo(f"lanewatch: {shown_line(text)}", err=True)
    return typer.Exit(EXIT_USAGE)


def _file(flag: str, text: str) -> Any:
    """An option that names a file."""
    return typer.Option(flag, metavar="FILE", parser=path_given, help=text)


def _print_version(wanted: bool) -> None:
    """Print the version and end, where --version stands."""
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - the help must not wait for it

        typer.echo(f"lanewatch {version('lanewatch')}")
        raise typer.Exit


@app.callback()
def lanewatch(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options that stand before a command."""


@app.command("check-config")
def check_config(
    config: ConfigFile = None,
    defaults: Annotated[bool, typer.Option("--defaults", help="Print a complete file with every default.")] = False,
) -> None:
    """Check the configuration without starting: every fault at once, with its place and remedy; status 2 if any.

    Settings are those of the file, overridden by variables LANEWATCH_SECTION_KEY, over the defaults. To begin with a
    complete file: `lanewatch check-config --defaults > lanewatch.toml`.
    """
    if defaults:
        from lanewatch.config.reference import defaults_toml  # noqa: PLC0415

        typer.echo(defaults_toml(), nl=False)
        return
    settings = configuration_or_exit(config)
    typer.echo("The configuration is valid.")
    from lanewatch.parts import judge_concerns  # noqa: PLC0415
    from lanewatch.rules import summary  # noqa: PLC0415

    for line in (*summary(settings), *judge_concerns(settings)):
        typer.echo(line)


class Format(StrEnum):
    """How a replay is printed."""

    REPORT = "report"
    JSONL = "jsonl"


@app.command()
def run(config: ConfigFile = None) -> None:
    """Run the sidecar until SIGTERM or Ctrl-C: OTLP in on 4317 (gRPC) and 4318 (HTTP), /metrics on 9464.

    The first signal closes open traces within the drain time and ends with status 0, a second one ends at once (3).
    """
    from lanewatch.config.loading import ConfigFaults, load_config  # noqa: PLC0415
    from lanewatch.logs import configure_logging  # noqa: PLC0415

    try:
        settings = load_config(config, os.environ)
    except ConfigFaults as error:  # in the form of the log, too
        configure_logging("critical", error.log_format)
        for fault in error.faults:
            logging.getLogger("lanewatch").critical("the configuration is faulty: %s", fault)
        raise typer.Exit(EXIT_USAGE) from None
    configure_logging(settings.log.level, settings.log.format)
    from lanewatch.sidecar.app import ListenerError, UnknownProducerError, run_sidecar  # noqa: PLC0415 - gRPC, told to be quiet

    log = logging.getLogger("lanewatch")
    for warning in settings.warnings():
        log.warning(warning)
    try:
        run_sidecar(settings)
    except ListenerError as error:
        log.critical(str(error))
        raise typer.Exit(EXIT_USAGE) from None
    except UnknownProducerError as error:
        log.critical("artifacts.producers: %s", error)
        raise typer.Exit(EXIT_USAGE) from None
    except Exception as error:  # noqa: BLE001 - in the form of the log, which whoever collects it can read
        log.critical(_bug(error))
        raise typer.Exit(EXIT_FAILED) from None


@app.command()
def replay(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", parser=path_given, help="Recorded OTLP: files or folders.")
    ],
    form: Annotated[
        Format, typer.Option("--format", help="A readable report, or one JSON line per PATH.")
    ] = Format.REPORT,
    producer: Annotated[
        list[str] | None, typer.Option("--producer", help="Compare this producer's artifacts too; may be given again.")
    ] = None,
    artifacts: Annotated[
        Path | None, _file("--artifacts", "Compare these: a line each as POST /v1/artifacts takes it.")
    ] = None,
    outcomes: Annotated[
        Path | None, _file("--outcomes", "Take these in: a line each as POST /v1/outcomes takes it.")
    ] = None,
    divergent: Annotated[
        bool,
        typer.Option(
            "--divergent",
            help="Show only the traces with a divergence (in a report). Refusals and tool errors are none.",
        ),
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Read recorded OTLP and say what was asked, what ran, what an evaluator is told, and where these differ.

    Reads .pb (one export request), .json and .jsonl (OTLP/JSON, also the Collector's file exporter), and .gz of each;
    of a folder all such files in name order, without its subfolders.

    Status 0 where all was read, whether or not anything diverges; 1 where something could not be read (the rest is
    still printed); 2 for wrong usage or a faulty configuration; 74 where the output can't be
    written; 141 where its reader went away.
    """
    if divergent and form is Format.JSONL:
        raise typer.BadParameter("--divergent is for reports; a JSON line holds every trace")
    from lanewatch.producing.evaluators import ProducerFailed, RecordFault, UnknownProducerError  # noqa: PLC0415
    from lanewatch.replaying.command import replay_paths  # noqa: PLC0415

    settings = configuration_or_exit(config)
    named = tuple(producer or ())
    try:
        whole = replay_paths(
            paths,
            settings,
            jsonl=form is Format.JSONL,
            divergent=divergent,
            producers=named,
            artifacts=artifacts,
            outcomes=outcomes,
        )
    except (UnknownProducerError, ProducerFailed, RecordFault) as error:
        raise _wrong(str(error)) from None
    if not whole:
        raise typer.Exit(EXIT_FAILED)


@app.command()
def demo(
    stay: Annotated[
        bool, typer.Option("--stay", help="Keep the sidecar running for your own app, until Ctrl-C.")
    ] = False,
    endpoint: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Play into the sidecar that runs there (OTLP/HTTP: http://127.0.0.1:4318)."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where that sidecar's pages are; port 9464 of the same host by default."),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=1, max=86400, help="Play into it again after so long, until Ctrl-C or SIGTERM."
        ),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """See it work: start a sidecar, send recorded agent traces into it over real OTLP, and show what was found.

    With --endpoint they go into a sidecar that runs already, each time as new traces. Needs no key and no network.
    Status 0 also where a signal stopped it, 1 where it could not be shown, 2 for wrong usage.
    """
    if (endpoint is None and (metrics is not None or every is not None)) or (endpoint is not None and stay):
        raise typer.BadParameter("--metrics and --every go with --endpoint, and --stay without it")
    settings = configuration_or_exit(config)
    if endpoint is None:
        from lanewatch.demo.playing import run_demo  # noqa: PLC0415

        shown = run_demo(settings, stay=stay)
    else:
        from lanewatch.demo.elsewhere import AddressError, run_elsewhere  # noqa: PLC0415

        try:
            shown = run_elsewhere(settings, endpoint, metrics, every)
        except AddressError as error:
            raise _wrong(str(error)) from None
    if not shown:
        raise typer.Exit(EXIT_FAILED)


adapters = typer.Typer(
    name="adapters",
    help="Put evaluation adapters to the test: Lanewatch's own, Ragas' converters, and yours.",
    no_args_is_help=True,
)
app.add_typer(adapters)
app.command()(show)
app.add_typer(baseline)
app.add_typer(drift)
app.add_typer(judge)
drift.command("ack")(drift_ack)
app.command("doctor")(doctor)
app.command("health")(health)
app.command("report")(report)


@adapters.command("list")
def adapters_list() -> None:
    """Name the producers of artifacts that are known here, and who answers for each.

    A producer is what makes an evaluator's messages (the artifact) of a run: Lanewatch itself, a converter of Ragas, or an
    adapter of yours, which is a function under the entry point group `lanewatch.artifact_producers`.
    """
    from lanewatch.conformance.command import list_producers  # noqa: PLC0415

    list_producers()


@adapters.command("test")
def adapters_test(
    producer: Annotated[str, typer.Argument(metavar="PRODUCER", help="A name that `lanewatch adapters list` prints.")],
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", parser=path_given, help="Also write the findings as JUnit XML."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=1, help="After this time nothing more is tried, and what is left is told as not tried.")
    ] = TRIAL_SECONDS,
    config: ConfigFile = None,
) -> None:
    """Try a producer on recordings of real stacks and on hand-made shapes, and say what it loses and what it invents.

    Status 1 where it loses or invents anything or was not asked for everything, 2 where there is no such producer or
    what it needs is not installed.
    """
    from lanewatch.conformance.command import (  # noqa: PLC0415
        ProducerUnavailable,
        UnknownProducerError,
        test_producer,
    )

    settings = configuration_or_exit(config)
    try:
        told_truly = test_producer(producer, settings, junit, seconds)
    except (UnknownProducerError, ProducerUnavailable) as error:
        raise _wrong(str(error.args[0])) from None
    except OSError as error:
        raise _wrong(f"can't write {junit}: {error.strerror or 'it failed'}") from None
    if not told_truly:
        raise typer.Exit(EXIT_FAILED)


@app.command()
def diff(
    dispatches: Annotated[
        Path, typer.Argument(metavar="DISPATCHES", parser=path_given, help="What ran: dispatch records, or a replay.")
    ],
    artifact: Annotated[
        Path,
        typer.Argument(metavar="ARTIFACT", parser=path_given, help="What an evaluator was given: Ragas' messages."),
    ],
    form: Annotated[TextOrJson, typer.Option("--format", help="Lines to read, or one JSON object.")] = TextOrJson.TEXT,
    reference: Annotated[
        Path | None,
        _file(
            "--reference",
            "Also hold the artifact against the calls that a test expects; those in ARTIFACT itself by default.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="1 and 1.0 differ, as for a consumer that compares texts.")
    ] = False,
) -> None:
    """Compare two files of records (JSON or JSON lines) and name the calls that are lost, invented, changed, out of order.

    With reference calls (--reference, or Ragas' `reference_tool_calls` in ARTIFACT) it also says whether the artifact tells
    of these, and what Ragas' own ToolCallF1 and ToolCallAccuracy make of it, where ragas is installed.

    For example: `lanewatch replay --format jsonl FOLDER > ran.jsonl`, and `lanewatch diff ran.jsonl messages.json`.

    Status 0 where they tell the same, 1 where they differ, 2 where a file can't be read, 3 where what is seen does not
    differ, and not everything is seen: `incomplete` or `unsupported`.
    """
    from lanewatch.diffing.command import ArtifactOutcome, RecordFault, diff_files  # noqa: PLC0415

    try:
        verdict = diff_files(dispatches, artifact, reference, strict=strict, as_json=form is TextOrJson.JSON)
    except RecordFault as fault:
        raise _wrong(str(fault)) from None
    if verdict is ArtifactOutcome.DIVERGENT:
        raise typer.Exit(EXIT_FAILED)
    if verdict is not ArtifactOutcome.EQUAL:
        raise typer.Exit(EXIT_UNKNOWN)


def main() -> None:
    """Run the command line; the process ends here."""
    prepare_streams()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OutputGone as gone:
        give_up_output()
        if not gone.reader_left:
            sys.stderr.write(f"lanewatch: can't write to standard output: {gone}\n")
        sys.exit(gone.status)
    except Exception as error:  # noqa: BLE001 - the last resort, which keeps content off the terminal
        sys.stderr.write(f"lanewatch: {_bug(error)}\n")
        sys.exit(EXIT_FAILED)


def _bug(error: Exception) -> str:
    """What was raised and where, without its text."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return f"unexpected {type(error).__name__} at {place}. This is a bug: please report it."
