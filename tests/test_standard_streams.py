"""Standard output that is full, closed or of another encoding, for every command; and widths that can't be."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CORPUS = Path(__file__).parent / "corpus"
CAPTURE = str(CORPUS / "openai_oi" / "01_right_tool")
PARTS = [{"type": "text", "content": "é"}]
MESSAGES = json.dumps([{"role": "assistant", "parts": PARTS, "finish_reason": "stop"}])
ATTRIBUTES = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": MESSAGES}
SPAN = {
    "traceId": "5b8efff798038103d269b633813fc60c",
    "spanId": "eee19b7ec3c1b174",
    "name": "chat",
    "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in ATTRIBUTES.items()],
}
RECORDED = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]})
COMMANDS = (
    ("replay", CAPTURE),
    ("replay", "--format", "jsonl", CAPTURE),
    ("check-config",),
    ("check-config", "--defaults"),
    ("adapters", "list"),
    ("--version",),
    ("replay", "--help"),
)


def shell(line: str, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """A shell's line, in which "$@" is the command."""
    command = ["bash", "-c", line, "bash", sys.executable, "-m", "lanewatch", *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LANEWATCH_")}
    clean |= environ
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=clean)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_disk_is_told_as_one_and_has_a_status_of_its_own(arguments: tuple[str, ...]) -> None:
    """Neither a bug, nor a difference (1), nor wrong usage (2)."""
    done = shell('"$@" > /dev/full', *arguments)

    assert done.returncode == 74
    assert done.stderr == "lanewatch: can't write to standard output: No space left on device\n"


@pytest.mark.parametrize("arguments", COMMANDS[:3], ids=" ".join)
def test_a_closed_output_is_told_and_no_file_takes_its_place(arguments: tuple[str, ...]) -> None:
    """The first file that is opened would get the number 1."""
    done = shell('"$@" >&-', *arguments)

    assert done.returncode == 74
    assert done.stderr == "lanewatch: can't write to standard output: Bad file descriptor\n"


@pytest.mark.parametrize("arguments", COMMANDS[2:], ids=" ".join)
def test_a_reader_that_went_away_is_no_word_and_the_same_for_all_commands(arguments: tuple[str, ...]) -> None:
    """141, as for any command that SIGPIPE ends."""
    done = shell('set -o pipefail; (sleep 0.1; exec "$@") | exec 0<&-', *arguments)

    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("line", ['"$@" 2>&-', '"$@" 2>/dev/full'])
def test_where_errors_can_t_be_written_the_output_is_whole(line: str) -> None:
    """And the status tells the failure."""
    done = shell(line, "replay", "--format", "jsonl", "nowhere")

    assert done.returncode == 1
    assert done.stdout.startswith('{"input":"nowhere"')


@pytest.mark.parametrize(
    "environ", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {}]
)
@pytest.mark.parametrize("form", ["report", "jsonl"])
def test_every_terminal_can_show_every_text(tmp_path: Path, environ: dict[str, str], form: str) -> None:
    """A file's name that is no UTF-8 is text in no encoding, and é is not in ASCII."""
    file = tmp_path / os.fsdecode(b"a\xff.jsonl")
    file.write_text(RECORDED)
    done = shell('"$@"', "replay", "--format", form, os.fspath(file), **environ)

    assert (done.returncode, done.stderr) == (0, "")
    assert "\\udcff" in done.stdout
    assert any(form in done.stdout for form in ("é", "\\xe9", "\\u00e9"))


@pytest.mark.parametrize("columns", ["0", "99999999999"])
def test_a_width_that_can_t_be_is_none(columns: str) -> None:
    """COLUMNS=0 is how a terminal says that it does not know."""
    done = shell('"$@"', "replay", CAPTURE, COLUMNS=columns)

    assert done.returncode == 0
    assert "asked by the model" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
