"""The command line: help that teaches, exit status 2 for faults, and no traceback ever."""

import json
import os
import re
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from lanewatch.adapters.producer_process import ProducerUnavailable
from lanewatch.cli import main as cli
from lanewatch.config import files as config_files
from lanewatch.producing.producer_set import ProducerSet
from typer.testing import CliRunner

RUN = CliRunner(env={"TERM": "dumb", "COLUMNS": "200"})


def test_help_says_what_it_is_and_what_to_do_first() -> None:
    """A stranger learns the purpose and four commands."""
    result = RUN.invoke(cli.app, ["--help"])

    assert result.exit_code == 0
    assert "what the model asked for" in " ".join(result.output.split())
    assert all(
        word in result.output for word in ("lanewatch demo", "lanewatch replay", "lanewatch run", "check-config")
    )


def test_the_version_is_the_package_s() -> None:
    """One number, kept in one place."""
    assert RUN.invoke(cli.app, ["--version"]).output == f"lanewatch {version('lanewatch')}\n"


def test_a_valid_configuration_ends_with_0(tmp_path: Path) -> None:
    """Checking starts nothing."""
    path = tmp_path / "lanewatch.toml"
    path.write_text("[metrics]\nport = 9000\n")

    result = RUN.invoke(cli.app, ["check-config", "--config", str(path)])

    assert (result.exit_code, result.output) == (0, "The configuration is valid.\n")


def test_what_is_valid_and_tells_less_than_it_seems_to_is_said(tmp_path: Path) -> None:
    """Two judges of one family agree in what they get wrong."""
    path = tmp_path / "lanewatch.toml"
    two = 'model = "gpt-4o"\nbase_url = "http://h/v1"\nsecond_model = "o3-mini"\nsecond_base_url = "http://h/v1"\n'
    path.write_text(f"[judge]\n{two}")

    result = RUN.invoke(cli.app, ["check-config", "--config", str(path)])

    assert result.exit_code == 0
    assert "The second judge (o3-mini) is of the first one's family (gpt-4o)" in result.output


def test_the_registry_s_version_is_shown(tmp_path: Path) -> None:
    """It names the contracts that a record was judged by."""
    path = tmp_path / "lanewatch.toml"
    path.write_text('[tools.refund]\nowner = "payments"\n')

    result = RUN.invoke(cli.app, ["check-config", "--config", str(path)])

    assert result.exit_code == 0
    assert re.fullmatch(r"The configuration is valid\.\nRegistry: 1 tool, version [0-9a-f]{12}\.\n", result.output)


def test_faults_end_with_2_and_are_all_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard error, one a line, for file and environment together."""
    path = tmp_path / "lanewatch.toml"
    path.write_text("[metrics]\nprt = 9000\n")
    monkeypatch.setenv("LANEWATCH_LOG_LEVL", "info")

    result = RUN.invoke(cli.app, ["check-config", "--config", str(path)])

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "The configuration has 2 faults:",
        "  LANEWATCH_LOG_LEVL: no such variable; did you mean LANEWATCH_LOG_LEVEL?",
        "  metrics.prt: no such key; did you mean port?",
    ]


def test_the_file_can_be_named_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LANEWATCH_CONFIG stands for --config, as containers like it."""
    monkeypatch.setenv("LANEWATCH_CONFIG", str(tmp_path / "none.toml"))

    result = RUN.invoke(cli.app, ["check-config"])

    assert result.exit_code == 2
    assert "No such file" in result.stderr


def test_warnings_do_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is unwise is said, and allowed."""
    monkeypatch.setenv("LANEWATCH_RECEIVERS_GRPC_HOST", "0.0.0.0")

    result = RUN.invoke(cli.app, ["check-config"])

    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: receivers.grpc_host is not a loopback address")


def test_the_printed_defaults_pass_the_check(tmp_path: Path) -> None:
    """Round trip through the two forms of the command."""
    path = tmp_path / "lanewatch.toml"
    path.write_text(RUN.invoke(cli.app, ["check-config", "--defaults"]).output)

    assert RUN.invoke(cli.app, ["check-config", "-c", str(path)]).exit_code == 0


@pytest.mark.parametrize("arguments", [["nope"], ["check-config", "--nope"], ["check-config", "extra"], []])
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    """Scripts can tell wrong usage from failure."""
    assert RUN.invoke(cli.app, arguments).exit_code == 2


def test_an_unexpected_exception_shows_its_kind_and_place_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its text may hold traced content."""

    def fail() -> None:
        raise RuntimeError("canary")

    monkeypatch.setattr(cli, "app", fail)

    with pytest.raises(SystemExit) as caught:
        cli.main()

    told = capsys.readouterr().err
    assert caught.value.code == 1
    assert told.startswith("lanewatch: unexpected RuntimeError at test_check_config.py:")
    assert "canary" not in told


def test_a_pipe_that_nobody_writes_into_is_a_fault_and_one_with_a_writer_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a pipe blocks by itself; `<(...)` of a shell is one that has a writer."""
    monkeypatch.setattr(config_files, "PIPE_SECONDS", 0.05)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    nobody = RUN.invoke(cli.app, ["check-config", "-c", str(pipe)])
    assert nobody.exit_code == 2
    assert "a pipe that nobody writes into" in nobody.stderr
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY)
    os.write(writer, b"[metrics]\nport = 9000\n")
    os.close(writer)
    assert RUN.invoke(cli.app, ["check-config", "-c", f"/dev/fd/{reader}"]).exit_code == 0
    os.close(reader)


@pytest.mark.parametrize(
    "arguments", [["replay", ""], ["diff", "", "x"], ["check-config", "-c", ""], ["replay", "x", "--artifacts", ""]]
)
def test_an_empty_path_is_wrong_usage(arguments: list[str]) -> None:
    """It is a variable that is not set; the current directory is `.`."""
    ended = RUN.invoke(cli.app, arguments)

    assert ended.exit_code == 2
    assert "the path is empty" in ended.output


def test_a_producer_that_can_t_be_started_is_wrong_usage_of_a_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the remedy, and before anything is read: a report without it would look as if it told the truth."""

    def fail(_self: ProducerSet) -> None:
        raise ProducerUnavailable("ragas is not installed: pip install it")

    monkeypatch.setattr(ProducerSet, "start", fail)
    ended = RUN.invoke(cli.app, ["replay", "nowhere", "--producer", "ragas.swarm"])

    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr == "lanewatch: ragas is not installed: pip install it\n"


@pytest.mark.parametrize("command", [[], ["replay"], ["diff"], ["demo"], ["adapters", "list"], ["check-config"]])
def test_help_loses_no_word_to_markup(command: list[str]) -> None:
    """Neither brackets nor stars of the source are left, and none of its words in brackets is taken for a style."""
    text = RUN.invoke(cli.app, [*command, "--help"]).output

    assert not re.search(r"\*\*|`|\[/?bold\]", text)
    assert re.search(r"\bStatus\b|Usage", text)


def test_every_line_of_a_sidecar_that_can_t_start_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the log is: whoever collects it reads no other lines. Warnings too."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = {"METRICS_PORT": str(taken.getsockname()[1]), "RECEIVERS_GRPC_HOST": "0.0.0.0"}
        environ = {**os.environ, **{f"LANEWATCH_{key}": value for key, value in settings.items()}}
        command = [sys.executable, "-m", "lanewatch", "run"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environ)
    lines = [json.loads(line) for line in ended.stderr.splitlines()]

    assert ended.returncode == 2
    assert [line["level"] for line in lines if line["logger"] == "lanewatch"] == ["warning", "critical"]
    assert "metrics.port" in lines[-1]["message"]


@pytest.mark.parametrize("form", ["json", "text"])
def test_faults_of_the_configuration_are_lines_of_the_log(form: str) -> None:
    """A sidecar that is wrongly configured says so where it says everything, in the format that the rest of it names."""
    settings = {"LANEWATCH_METRICS_PORT": "x", "LANEWATCH_LIMITS_NOPE": "1", "LANEWATCH_LOG_FORMAT": form}
    command = [sys.executable, "-m", "lanewatch", "run"]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **settings}
    )
    lines = ended.stderr.splitlines()

    assert (ended.returncode, ended.stdout, len(lines)) == (2, "", 2)
    assert all("the configuration is faulty: LANEWATCH_" in line for line in lines)
    assert [json.loads(line)["level"] for line in lines if form == "json"] == ["critical"] * 2 * (form == "json")
    assert all(line.startswith("{") == (form == "json") for line in lines)


def test_help_loads_no_part_of_the_pipeline() -> None:
    """`lanewatch --help` answers at once because nothing heavy is imported for it."""
    code = (
        "import json, sys\nfrom lanewatch.cli.main import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "print(); print(json.dumps(sorted(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(json.loads(result.stdout.splitlines()[-1]))

    assert not loaded & {"grpc", "google.protobuf", "numpy", "ragas", "uvicorn", "starlette", "prometheus_client"}
    assert not [name for name in loaded if name.startswith(("lanewatch.collector", "lanewatch.adapters"))]


def test_the_package_runs_as_a_module() -> None:
    """`python -m lanewatch` is the same command."""
    command = [sys.executable, "-m", "lanewatch", "--version"]

    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.startswith(
        "lanewatch "
    )
