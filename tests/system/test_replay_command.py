"""`lanewatch replay` as a process: problems in a file's words and told once, totals, --divergent, a reader that goes away."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lanewatch.adapters.producer_process import ProducerLimits
from lanewatch.config.keys import Config
from lanewatch.monitors.tools import UNREGISTERED
from lanewatch.producing.evaluators import Evaluators
from lanewatch.replaying.playback import replay

from tests.system.captures import CORPUS

REWRITE, RIGHT = CORPUS / "langchain_oi/07_runtime_rewrite", CORPUS / "openai_oi/01_right_tool"
ID = "5b8efff798038103d269b633813fc60c"


def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """The command until it ends."""
    return subprocess.run(
        [sys.executable, "-m", "lanewatch", "replay", *map(str, arguments)],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def span_line(**fields: object) -> str:
    """A line as the Collector's file exporter writes it, of one span."""
    span = {"traceId": ID, "spanId": "eee19b7ec3c1b174", "name": "n", **fields}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


def test_a_protobuf_file_that_is_no_request_is_told_once_and_in_words_of_a_file(tmp_path: Path) -> None:
    """No second line from the intake's log, which speaks of exporters and content types."""
    file = tmp_path / "bad.pb"
    file.write_bytes(b"garbage\xff")
    ended = run("--format", "jsonl", file)

    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert str(file) in ended.stderr
    assert "exporter" not in ended.stderr
    assert json.loads(ended.stdout)["problems"] == [ended.stderr.strip().removeprefix("not read: ")]


def test_equal_problems_of_a_file_are_one_line_with_their_number_and_the_first_place(tmp_path: Path) -> None:
    """Six thousand equal lines hide the one that differs."""
    file = tmp_path / "spans.jsonl"
    lines = [span_line(), *[span_line(traceId="00" * 16)] * 600, *[span_line(spanId="00" * 8)] * 2]
    file.write_text("\n".join(lines) + "\n")
    problems = replay(file, Config()).problems

    assert len(problems) == 2
    assert problems[0].startswith(f"{file}, line 2, and 599 more of the same: 600 spans ")
    assert "invalid_trace_id" in problems[0]
    assert problems[1].startswith(f"{file}, line 602, and 1 more of the same: 2 spans ")


def test_equal_problems_of_different_files_stay_apart(tmp_path: Path) -> None:
    """Each file has to be mended."""
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(span_line(traceId="00" * 16))

    assert [problem.split(":")[0] for problem in replay(tmp_path, Config()).problems] == [
        f"{tmp_path}/a.jsonl, line 1",
        f"{tmp_path}/b.jsonl, line 1",
    ]


def test_the_records_are_a_second_phase_that_reaches_its_end(tmp_path: Path) -> None:
    """Traces that are open when the file ends are read then: a bar of bytes would stand still at its end."""
    file = tmp_path / "open.jsonl"
    llm = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]
    lines = [span_line(traceId=f"{n:032x}", attributes=llm, parentSpanId="00f067aa0ba902b7") for n in range(1, 8)]
    file.write_text("\n".join(lines))
    phases: list[tuple[str, int, int]] = []
    replay(
        file,
        Config(),
        on_progress=lambda read, total: phases.append(("bytes", read, total)),
        on_records=lambda made, total: phases.append(("records", made, total)),
    )

    assert [phase for phase in phases if phase[0] == "records"] == [("records", n, 7) for n in range(1, 8)]
    assert [phase[0] for phase in phases] == sorted(phase[0] for phase in phases)


def test_artifacts_are_a_third_phase_that_reaches_its_end(tmp_path: Path) -> None:
    """A producer may take seconds a trace."""
    file = tmp_path / "pushed.jsonl"
    file.write_text(json.dumps({"producer": "mine", "trace_id": ID, "messages": []}))
    evaluators = Evaluators((), ProducerLimits(), file, UNREGISTERED)
    phases: list[tuple[int, int]] = []
    replayed = replay(CORPUS / "openai_oi/11_multi_turn", Config())
    evaluators.compare(replayed, on_compared=lambda done, total: phases.append((done, total)))
    n_traces = len(replayed.observations)

    assert phases == [(n, n_traces) for n in range(1, n_traces + 1)] != []


def test_reference_calls_show_in_both_forms_of_a_replay(tmp_path: Path) -> None:
    """Beside the trace, and in neither its divergences nor its lanes."""
    record = replay(RIGHT, Config()).observations[0].record
    asked = [call for message in record.messages for call in message.get("tool_calls") or ()]
    body = {"producer": "mine", "trace_id": record.trace_id, "messages": list(record.messages)}
    file = tmp_path / "pushed.jsonl"
    file.write_text(json.dumps({**body, "reference_tool_calls": [*asked, {"name": "other", "args": {}}]}))
    report, line = run(RIGHT, "--artifacts", file), run(RIGHT, "--artifacts", file, "--format", "jsonl")
    trace = json.loads(line.stdout)["traces"][0]

    assert "missing other: expected, and not called" in report.stdout
    assert "Ragas: " in report.stdout
    assert [(one["producer"], one["outcome"]) for one in trace["references"]] == [("mine", "divergent")]
    assert trace["references"][0]["ragas"]["agreement"] in ("agree", "unsupported")
    assert trace["divergences"] == []
    assert trace["lanes"]["tools"]["status"] == "pass"


def test_outcomes_of_a_file_reach_their_traces(tmp_path: Path) -> None:
    """As they would have been told to the sidecar; one of no trace is a problem, and a broken line a wrong usage."""
    trace_id = replay(RIGHT, Config()).observations[0].record.trace_id
    file = tmp_path / "told.jsonl"
    told = [{"name": "sub", "trace_id": trace_id, "expected": "off", "observed": "on"},
            {"name": "sub", "trace_id": "f" * 32, "status": "fail"}]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, told)))
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"name": "sub"}')
    line = run(RIGHT, "--outcomes", file, "--format", "jsonl")
    trace = json.loads(line.stdout)["traces"][0]

    assert trace["lanes"]["outcome"] == {"status": "fail", "reasons": ["wrong_state"]}
    assert [(one["name"], one["held"], one["told_by"]) for one in trace["outcomes"]] == [("sub", False, "push")]
    assert (line.returncode, "an outcome is of no trace in it" in line.stderr) == (1, True)
    assert run(RIGHT, "--outcomes", broken).returncode == 2


def test_only_diverging_traces_are_shown_where_that_is_asked_and_all_are_counted() -> None:
    """The totals are of all paths."""
    ended = run("--divergent", REWRITE, RIGHT)

    assert ended.returncode == 0
    assert ended.stdout.count("trace ") == 1 + ended.stdout.count("1 trace ")
    assert "1 without a divergence, not shown" in ended.stdout
    assert ended.stdout.count(": 1 trace, ") == 2  # the one that is not shown was read as well
    assert "all 2 paths: 2 traces, 1 with a divergence" in ended.stdout


def test_divergences_are_summed_by_boundary_kind_tool_and_owner() -> None:
    """Over all paths: the same path twice is twice as many."""
    ended = run("--divergent", REWRITE, REWRITE)

    assert [line.split() for line in ended.stdout.splitlines() if line.strip().startswith("2 ")] == [
        ["2", "dispatch", "arguments", "issue_refund", "agent", "runtime"]
    ]


def test_divergent_json_lines_are_wrong_usage() -> None:
    """A line holds every trace, or its sessions would have gaps."""
    assert run("--divergent", "--format", "jsonl", RIGHT).returncode == 2


@pytest.mark.parametrize("arguments", [[], ["--format", "jsonl"]])
def test_a_reader_that_goes_away_ends_it_quietly(arguments: list[str]) -> None:
    """`| head`: status 141, as for any command that SIGPIPE ends, and not a word."""
    paths = [str(path) for path in sorted((CORPUS / "openai_oi").iterdir())]
    process = subprocess.Popen(
        [sys.executable, "-m", "lanewatch", "replay", *arguments, *paths],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    with process.stderr as errors:
        said = errors.read()

    assert process.wait(60) == 141
    assert said == b""


def test_the_help_names_every_status() -> None:
    """A script has to know them."""
    text = " ".join(run("--help").stdout.split())

    assert all(f"{status}" in text for status in ("Status 0", "; 1 where", "; 2 for", "141"))
