"""`lanewatch diff`: two files of records, the differences between them, and the status."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lanewatch.config.keys import Config
from lanewatch.diffing.command import compare_files
from lanewatch.diffing.json_files import RecordFault, read_json
from lanewatch.diffing.record_files import read_artifact, read_dispatches, read_reference
from lanewatch.diffing.replayed_calls import replayed_calls
from lanewatch.replaying.lines import line_of
from lanewatch.replaying.playback import replay

CORPUS = Path(__file__).parents[1] / "corpus"
RAN: list[dict[str, Any]] = [
    {
        "name": "refund",
        "arguments": {"id": 1, "amount": 100},
        "call_id": "c1",
        "executed": "yes",
        "result": {"ok": True},
    },
    {"name": "mail", "arguments": {"to": "x"}, "call_id": "c2", "executed": "yes"},
    {"name": "close_account", "arguments": {}, "call_id": "c3", "executed": "no"},
]
TOLD: list[dict[str, Any]] = [
    {"type": "human", "content": "Refund it."},
    {"type": "ai", "content": "", "tool_calls": [{"name": "refund", "args": {"id": 1, "amount": 100}}]},
    {"type": "tool", "content": '{"ok": true}'},
    {"type": "ai", "content": "", "tool_calls": [{"name": "mail", "args": {"to": "x"}}]},
]


def run(folder: Path, ran: Any, told: Any, *options: str) -> "subprocess.CompletedProcess[str]":
    """Compare two values, each written to a file as it is, or as JSON."""
    paths = []
    for name, value in (("ran.json", ran), ("told.json", told)):
        paths.append(folder / name)
        paths[-1].write_text(value if isinstance(value, str) else json.dumps(value))
    command = [sys.executable, "-m", "lanewatch", "diff", *map(str, paths), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def lines(records: list[Any]) -> str:
    """JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize("ran", [RAN, lines(RAN), {"dispatches": RAN}], ids=["list", "lines", "object"])
@pytest.mark.parametrize(
    "told",
    [TOLD, lines(TOLD), {"messages": TOLD}, lines([{"user_input": TOLD, "reference": "x"}]),
     [call for message in TOLD for call in message.get("tool_calls", ())]],
    ids=["list", "lines", "pushed", "ragas sample", "bare calls"],
)  # fmt: skip
def test_files_that_tell_the_same_are_equal_in_every_form(tmp_path: Path, ran: Any, told: Any) -> None:
    """A call that did not run need not be told."""
    done = run(tmp_path, ran, told)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2 calls ran; the artifact tells them truly\n"


def test_files_may_be_pipes() -> None:
    """As a shell's `<(...)` makes them; what was read of one can't be read again."""
    pipes = []
    for value in (RAN, TOLD):
        reading, writing = os.pipe()
        pipes.append(reading)
        os.write(writing, json.dumps(value).encode())
        os.close(writing)
    command = [sys.executable, "-m", "lanewatch", "diff", *(f"/dev/fd/{one}" for one in pipes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, pass_fds=pipes)
    for one in pipes:
        os.close(one)

    assert (done.returncode, done.stderr) == (0, "")


def test_differences_are_lines_to_read_and_end_with_status_1(tmp_path: Path) -> None:
    """A sign, the kind, the call, and both values at the path."""
    told = [TOLD[0], {**TOLD[1], "tool_calls": [{"name": "refund", "args": {"id": 1, "amount": 50}}]}, TOLD[2]]
    told.append({"type": "ai", "content": "", "tool_calls": [{"name": "wire", "args": {"to": "y"}}]})
    done = run(tmp_path, RAN, told)

    assert done.returncode == 1
    assert "~ arguments     refund  c1  told with other arguments\n    at $.amount ran 100, told 50\n" in done.stdout
    assert '- missing       mail {"to": "x"}' in done.stdout
    assert '+ unexpected    wire {"to": "y"}' in done.stdout
    assert done.stdout.endswith("2 calls ran; 3 differences\n")


def test_differences_as_one_json_object(tmp_path: Path) -> None:
    """Fields as in the replay output."""
    done = run(tmp_path, RAN, TOLD[:3], "--format", "json")
    value = json.loads(done.stdout)

    assert done.returncode == 1
    assert (value["outcome"], value["ran"]) == ("divergent", 2)
    assert [(d["kind"], d["tool"], d["call_id"]) for d in value["divergences"]] == [("missing", "mail", "c2")]


def test_one_and_one_point_zero_differ_on_request(tmp_path: Path) -> None:
    """As for Ragas' ToolCallAccuracy, which compares texts."""
    ran, told = [{"name": "f", "arguments": {"x": 1}}], [{"name": "f", "args": {"x": 1.0}}]

    assert run(tmp_path, ran, told).returncode == 0
    assert "representation" in run(tmp_path, ran, told, "--strict").stdout


def test_a_file_compared_with_itself_is_no_proof(tmp_path: Path) -> None:
    """The same spans on both sides: the reference was fed in as the actual."""
    ran = [{"name": "f", "arguments": {"x": 1}, "span_id": "ab" * 8}]
    done = run(tmp_path, ran, ran)

    assert done.returncode == 1
    assert "provenance" in done.stdout


def test_a_replay_s_line_holds_both_sides(tmp_path: Path) -> None:
    """Its dispatches against its own messages: equal."""
    line = line_of(replay(CORPUS / "langchain_oi" / "03_parallel", Config())).decode()

    assert run(tmp_path, line, line).returncode == 0


REFERENCE = [{"name": "refund", "args": {"id": 1}}, {"name": "mail", "args": {"to": "x"}}]


def test_an_artifact_is_held_against_the_calls_that_its_own_sample_expects(tmp_path: Path) -> None:
    """What ran is told truly, and is not what the test expects: status 1. ToolCallAccuracy passes over `amount`."""
    pytest.importorskip("ragas")
    done = run(tmp_path, RAN, {"user_input": TOLD, "reference_tool_calls": REFERENCE}, "--format", "json")
    value = json.loads(done.stdout)

    assert done.returncode == 1
    assert (value["outcome"], value["reference"]["outcome"]) == ("equal", "divergent")
    assert [(d["kind"], d["path"]) for d in value["reference"]["differences"]] == [("arguments", "$.amount")]
    assert value["reference"]["ragas"] == {
        "agreement": "disagree",
        "tool_call_f1": 0.5,
        "tool_call_accuracy": 1.0,
        "tool_call_accuracy_flexible": 1.0,
        "reason": None,
    }


def test_reference_calls_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    """A list of calls, Ragas' samples, or what ran once when it was right, also as a replay's line."""
    (tmp_path / "calls.json").write_text(json.dumps(RAN[:2]))
    (tmp_path / "sample.jsonl").write_text(lines([{"user_input": [], "reference_tool_calls": REFERENCE}]))

    calls = read_reference(read_json(tmp_path / "calls.json"), needed=True)
    assert calls == ({"name": "refund", "args": {"id": 1, "amount": 100}}, {"name": "mail", "args": {"to": "x"}})
    assert read_reference(read_json(tmp_path / "sample.jsonl"), needed=True) == tuple(REFERENCE)
    assert read_reference(read_json(tmp_path / "calls.json"), needed=False) is None
    (tmp_path / "replay.jsonl").write_bytes(line_of(replay(CORPUS / "langchain_oi" / "08_dropped", Config())))
    ran = read_reference(read_json(tmp_path / "replay.jsonl"), needed=True) or ()
    assert [call["name"] for call in ran] == ["weather_lookup"]  # one of two that were asked for


@pytest.mark.parametrize("wrong", [{"reference_tool_calls": 5}, [{"args": {}}], [{"name": "f", "args": ["secret"]}]])
def test_reference_calls_that_are_none_are_a_fault_with_its_place(tmp_path: Path, wrong: Any) -> None:
    """And no value."""
    (tmp_path / "calls.json").write_text(json.dumps(wrong))
    with pytest.raises(RecordFault, match=r"reference_tool_calls|\$\[0\]") as caught:
        read_reference(read_json(tmp_path / "calls.json"), needed=True)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("ran", "told", "place"),
    [
        ("{", TOLD, "no JSON (line 1, column 2)"),
        ('{"name": "f"}\n{', TOLD, "line 2: no JSON"),
        ([5], TOLD, "$[0]: expected an object or a list, found int"),
        ([{"arguments": {}}], TOLD, "$[0]: a dispatch needs the text `name`"),
        ([{"name": "f", "executed": "secret"}], TOLD, "$[0].executed"),
        (RAN, [{"type": "human", "content": ["secret"]}], "messages[0].content"),
        (RAN, [{"args": {}}], "tool_calls[0]"),
        (RAN, "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_can_t_be_read_ends_with_status_2_and_its_place(
    tmp_path: Path, ran: Any, told: Any, place: str
) -> None:
    """Never with a traceback, and never with a value."""
    done = run(tmp_path, ran, told)

    assert (done.returncode, done.stdout) == (2, "")
    assert place in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_file_and_bytes_that_are_no_text_are_faults(tmp_path: Path) -> None:
    """Each is named."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(RecordFault, match="No such file"):
        read_json(tmp_path / "nothing")
    with pytest.raises(RecordFault, match="not UTF-8"):
        read_json(tmp_path / "bytes")


@pytest.mark.parametrize(
    ("run_", "reason"),
    [
        ({"name": "refund", "arguments": None}, "arguments_not_recorded"),
        ({"name": "refund"}, "arguments_not_recorded"),
        ({"name": "refund", "arguments": {}, "executed": "unknown"}, "executed_unknown"),
    ],
    ids=["null", "not there", "may not have run"],
)
def test_what_is_not_known_of_a_run_is_no_pass(tmp_path: Path, run_: dict[str, Any], reason: str) -> None:
    """Null is not `{}`: nothing that is seen differs, and the status is 3."""
    done = run(tmp_path, [run_], [{"name": "refund", "args": {}}], "--format", "json")
    value = json.loads(done.stdout)

    assert done.returncode == 3
    assert (value["outcome"], value["reason"], value["divergences"]) == ("incomplete", reason, [])
    told = run(tmp_path, [run_], [{"name": "refund", "args": {}}])
    assert told.stdout.endswith(f"1 call ran; incomplete: {reason}\n")


def test_arguments_that_an_artifact_does_not_know_are_no_pass_either(tmp_path: Path) -> None:
    """As in a dispatch record that stands for an artifact."""
    done = run(tmp_path, [{"name": "f", "arguments": {}}], [{"name": "f", "arguments": None}], "--format", "json")

    assert (done.returncode, json.loads(done.stdout)["reason"]) == (3, "arguments_not_recorded")


def test_what_is_proved_to_differ_counts_beside_what_is_not_known(tmp_path: Path) -> None:
    """Status 1: one call was lost, whatever the other's arguments were."""
    done = run(tmp_path, [{"name": "f"}, {"name": "g", "arguments": {}}], [{"name": "f", "args": {}}])

    assert done.returncode == 1
    assert "- missing       g" in done.stdout
    assert "? a call's arguments were not recorded" in done.stdout


def test_a_replay_s_line_of_partial_evidence_convicts_nobody(tmp_path: Path) -> None:
    """Its spans lost the names of the arguments, which its own messages tell."""
    line = line_of(replay(CORPUS / "google-adk" / "03_parallel", Config())).decode()
    done = run(tmp_path, line, line, "--format", "json")
    value = json.loads(done.stdout)

    assert done.returncode == 3
    assert (value["outcome"], value["reason"], value["divergences"]) == ("incomplete", "dispatches_partial", [])


def test_a_run_that_answers_a_request_without_an_id_must_be_told(tmp_path: Path) -> None:
    """`answers` is null for it as well; the rule by which it was paired tells it from a run that nobody asked for."""
    asked: dict[str, Any] = {"name": "f", "arguments": {}, "answers": None, "match_rule": "R5"}

    assert run(tmp_path, [asked], []).returncode == 1
    assert run(tmp_path, [{**asked, "match_rule": None}], []).returncode == 0


def test_an_expected_call_needs_its_arguments(tmp_path: Path) -> None:
    """A record of a run whose arguments are not known is no reference."""
    (tmp_path / "calls.json").write_text(json.dumps([{"name": "f", "arguments": None}]))
    with pytest.raises(RecordFault, match=r"\$\[0\]: an expected call needs its arguments"):
        read_reference(read_json(tmp_path / "calls.json"), needed=True)


def test_hidden_arguments_are_unsupported(tmp_path: Path) -> None:
    """Whether the artifact tells what is hidden nobody can say."""
    ran = [{"name": "f", "arguments": {"order": "[REDACTED]", "n": 1}}]
    done = run(tmp_path, ran, [{"name": "f", "args": {"order": "A-7", "n": 1}}], "--format", "json")

    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (3, "unsupported")


TRUE_IN_PART = (
    "langchain_oi/08_dropped", "langchain_oi/07_runtime_rewrite", "langchain_oi/14a_bad_json", "langfuse/06_runtime_alias",
    "langfuse/03b_parallel_same", "langsmith-otel/04_retry", "pydantic-ai-fmt6/01_right_tool", "openai_agents_oi/16_handoff",
    "semantic-kernel/12_hard_args",
)  # fmt: skip


@pytest.mark.parametrize("capture", TRUE_IN_PART)
def test_a_replay_s_own_messages_are_true_to_its_line(tmp_path: Path, capture: str) -> None:
    """What was asked for and dropped may be told, what ran otherwise may be told as asked, a result as the model saw it:
    where these differ first is no artifact.
    """
    path = tmp_path / "replay.jsonl"
    path.write_bytes(line_of(replay(CORPUS / capture, Config())))
    file = read_json(path)
    compared = compare_files(read_dispatches(file), read_artifact(file, strict=False))

    assert (compared.verdict, compared.divergences) == ("equal", ())


def test_a_call_that_an_artifact_loses_of_a_replay_is_missing(tmp_path: Path) -> None:
    """And one that it changes has other arguments, beside one that was dropped."""
    line = json.loads(line_of(replay(CORPUS / "langchain_oi" / "08_dropped", Config())))
    messages = line["traces"][0]["messages"]
    asked = next(message for message in messages if message.get("tool_calls"))
    (ran,) = (call for call in asked["tool_calls"] if call["name"] == "weather_lookup")
    ran["args"] = {"city": "Nowhere"}
    changed = run(tmp_path, json.dumps(line), messages)
    lost = run(tmp_path, json.dumps(line), [one for one in messages if one["type"] == "human"])

    assert (changed.returncode, changed.stdout.endswith("1 call ran; 1 difference\n")) == (1, True)
    assert (lost.returncode, "- missing       weather_lookup" in lost.stdout) == (1, True)


@pytest.mark.parametrize("wrong", [{"request": 7}, {"inside": -1}, {"request": "0"}])
def test_places_that_are_none_are_not_relied_on(wrong: dict[str, Any]) -> None:
    """The dispatches alone are then what is known."""
    dispatch = {"name": "f", "span_id": "ab", "executed": "yes", "arguments": {}, "request": 0, **wrong}
    good = {"requests": [{"name": "f", "span_id": "aa", "arguments": {}}], "dispatches": [{**dispatch, "request": 0}]}

    assert replayed_calls([{**good, "dispatches": [dispatch]}]) is None
    assert [
        call.ran
        for call in replayed_calls([{**good, "dispatches": [{**dispatch, "request": 0, "inside": None}]}]) or ()
    ] == [True]


def test_a_replay_that_met_problems_may_lack_calls(tmp_path: Path) -> None:
    """A file that it could not read may have held any: no pass, with status 3."""
    line = json.loads(line_of(replay(CORPUS / "langchain_oi" / "03_parallel", Config())))
    messages = line["traces"][0]["messages"]
    whole = run(tmp_path, json.dumps(line), messages, "--format", "json")
    part = run(tmp_path, json.dumps({**line, "problems": ["lost.pb: not read"]}), messages, "--format", "json")

    assert (whole.returncode, json.loads(whole.stdout)["reason"]) == (0, None)
    assert (part.returncode, json.loads(part.stdout)["reason"]) == (3, "replay_problems")


def test_evidence_that_is_no_text_is_a_fault(tmp_path: Path) -> None:
    """With its place and status 2, as all that can't be read."""
    ran = [{"name": "f", "arguments": {}}]
    done = run(tmp_path, {"traces": [{"dispatches": ran, "evidence": {"requests": ["secret"]}}]}, ran)

    assert done.returncode == 2
    assert "evidence.requests: expected a text" in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"evidence": {"dispatches": "partial"}}, "dispatches_partial"),
        ({"dispatches": [{"name": "f", "arguments": {}, "executed": "unknown"}]}, "whether this call ran is not known"),
    ],
    ids=["calls may be missing", "may not have run"],
)
def test_what_may_lack_calls_is_no_reference(tmp_path: Path, changed: dict[str, Any], fault: str) -> None:
    """A partial list of what is expected would pass for the whole of it; that requests are partial does not matter."""
    trace = {
        "dispatches": [{"name": "f", "arguments": {}}],
        "evidence": {"dispatches": "complete", "requests": "partial"},
    }
    path = tmp_path / "replay.json"
    path.write_text(json.dumps({"traces": [trace]}))
    assert read_reference(read_json(path), needed=True) == ({"name": "f", "args": {}},)
    path.write_text(json.dumps({"traces": [{**trace, **changed}]}))
    with pytest.raises(RecordFault, match=fault):
        read_reference(read_json(path), needed=True)

    path.write_text(json.dumps({"traces": [trace], "problems": ["lost"]}))
    with pytest.raises(RecordFault, match="replay_problems"):
        read_reference(read_json(path), needed=True)


@pytest.mark.parametrize("form", ["[{}]", "{}\n{}"], ids=["a value", "lines"])
def test_an_object_that_names_an_argument_twice_is_a_fault(tmp_path: Path, form: str) -> None:
    """Readers differ in which of the two counts, and the place is told without a value."""
    twice = '{"name": "f", "arguments": {"x": "secret", "x": 2}}'
    (tmp_path / "calls.json").write_text(form.replace("{}", twice))
    with pytest.raises(RecordFault, match=r"(\$|line 1): an object names a member twice") as caught:
        read_json(tmp_path / "calls.json")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("ran", "told"), [("NaN", "NaN"), ("1e999", "1e998"), ("1", "-Infinity"), ("1e999", "1")])
def test_numbers_that_no_double_holds_are_not_compared(tmp_path: Path, ran: str, told: str) -> None:
    """All that are beyond it are read as one infinity, and NaN as itself: status 3."""
    call = '[{"name": "f", "arguments": {"x": [N]}}]'
    done = run(tmp_path, call.replace("[N]", ran), call.replace("[N]", told), "--format", "json")

    assert (done.returncode, json.loads(done.stdout)["reason"]) == (3, "arguments_not_exact")


@pytest.mark.parametrize("form", ["[C]", '{"reference_tool_calls": [C]}'])
def test_numbers_that_no_double_holds_are_not_expected(tmp_path: Path, form: str) -> None:
    """NaN would equal itself."""
    (tmp_path / "calls.json").write_text(form.replace("C", '{"name": "f", "args": {"x": NaN}}'))
    with pytest.raises(RecordFault, match="an expected call has NaN"):
        read_reference(read_json(tmp_path / "calls.json"), needed=True)
