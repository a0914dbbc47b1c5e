"""The line of a replay, field by field as docs/replay-output.md lists it: other programs read it by these names."""

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lanewatch.adapters.artifact_messages import Artifact
from lanewatch.adapters.facts import ErrorKind, Executed
from lanewatch.adapters.records import RECORD_KINDS, Disposition, DispositionSource, Evidence, Outcome, OutcomeFact
from lanewatch.config.loading import load_config
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome
from lanewatch.monitors.divergence import Boundary, Kind
from lanewatch.monitors.efficiency import FACTS
from lanewatch.monitors.policies import Criticality
from lanewatch.monitors.reference_calls import (
    Agreement,
    ReferenceCompared,
    beside_each_other,
    compare_reference,
)
from lanewatch.monitors.schemas import SchemaKind, Side
from lanewatch.monitors.tools import Source
from lanewatch.monitors.verdicts import Lane, Status
from lanewatch.replaying.lines import line_of
from lanewatch.replaying.playback import replay
from msgspec.structs import replace

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus"
POLICY = '[[policies]]\nname = "p"\nkind = "forbidden"\ntools = ["x"]\nrequirement = "r"\nlane = "tools"\nowner = "o"\n'
# Captures that together have every record: a retrieval, sessions, an error, a refused schema, a divergence.
SHOWN = ("langfuse/01_right_tool", "langchain_oi/14b_bad_schema", "openai_oi/08_dropped")
# Where a record holds others, and of which kind; each of them is a list, an object by name, or one.
NESTED = {
    ("line", "traces"): "trace",
    ("line", "sessions"): "session",
    ("trace", "requests"): "request",
    ("trace", "dispatches"): "dispatch",
    ("trace", "retrievals"): "retrieval",
    ("trace", "responses"): "response",
    ("trace", "divergences"): "divergence",
    ("trace", "artifacts"): "artifact",
    ("trace", "schema_violations"): "schema violation",
    ("trace", "outcomes"): "outcome",
    ("trace", "policies"): "policy",
    ("trace", "facts"): "amount",
    ("trace", "references"): "reference",
    ("trace", "lanes"): "lane",
    ("dispatch", "error"): "error",
    ("dispatch", "provenance"): "provenance",
    ("retrieval", "documents"): "document",
    ("reference", "differences"): "difference",
    ("reference", "ragas"): "ragas",
}
BY_NAME = ("facts", "lanes")


@cache
def page() -> dict[str, dict[str, tuple[str, str]]]:
    """By record, its fields in order with their type and meaning, as the page has them."""
    sections = re.split(r"^## ", (ROOT / "docs" / "replay-output.md").read_text(), flags=re.MULTILINE)[1:]
    return {
        section.partition("\n")[0]: {
            name: (kind, meaning)
            for name, kind, meaning in re.findall(r"^\| `(\w+)` \| (.*?) \| ?(.*?) ?\|$", section, re.MULTILINE)
        }
        for section in sections
    }


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Lines that have a record of every kind; what a replay is never given is added to its observations."""
    path = tmp_path_factory.mktemp("config") / "c.toml"
    path.write_text(POLICY)
    config = load_config(path, {})
    replayed = [replay(CORPUS / capture, config) for capture in SHOWN]
    told = tuple(
        replace(seen, outcomes=(OutcomeFact("state", held=True),), references=(expected(seen.record.messages),))
        for seen in replayed[0].observations
    )
    return [json.loads(line_of(one)) for one in (replace(replayed[0], observations=told), *replayed[1:])]


def expected(messages: tuple[dict[str, Any], ...]) -> ReferenceCompared:
    """An artifact against a call that it does not have."""
    compared = compare_reference(Artifact("mine", "me", messages), [{"name": "other", "args": {}}])
    return ReferenceCompared("mine", compared, beside_each_other(0, 0, 1))


def records(kind: str, record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A record and all that it holds, each with its kind."""
    yield kind, record
    for field, value in record.items():
        inner = NESTED.get((kind, field))
        if inner is not None and value is not None:
            held = value.values() if field in BY_NAME else value if isinstance(value, list) else [value]
            for one in held:
                yield from records(inner, one)


def test_every_record_has_exactly_the_fields_of_the_page(lines: list[dict[str, Any]]) -> None:
    """In their order, always all of them; and every record of the page was seen."""
    seen = [found for line in lines for found in records("line", line)]
    fields = {(kind, tuple(record)) for kind, record in seen}

    assert fields == {(kind, tuple(rows)) for kind, rows in page().items()}


def test_what_is_keyed_by_name_has_every_name(lines: list[dict[str, Any]]) -> None:
    """Four lanes, four kinds of evidence, each fact: one that is left out would read as fine."""
    for trace in (trace for line in lines for trace in line["traces"]):
        assert tuple(trace["lanes"]) == tuple(Lane)
        assert tuple(trace["evidence"]) == RECORD_KINDS
        assert tuple(trace["facts"]) == FACTS


@pytest.mark.parametrize(
    ("record", "field", "values"),
    [
        ("request", "outcome", Outcome),
        ("dispatch", "executed", Executed),
        ("error", "kind", ErrorKind),
        ("response", "disposition", Disposition),
        ("response", "disposition_source", DispositionSource),
        ("divergence", "boundary", Boundary),
        ("divergence", "kind", Kind),
        ("artifact", "outcome", ArtifactOutcome),
        ("schema violation", "side", Side),
        ("schema violation", "kinds", SchemaKind),
        ("schema violation", "schema", Source),
        ("policy", "lane", Lane),
        ("policy", "criticality", Criticality),
        ("policy", "status", Status),
        ("ragas", "agreement", Agreement),
        ("lane", "status", Status),
    ],
)
def test_a_field_of_few_words_lists_them_all(record: str, field: str, values: type[StrEnum]) -> None:
    """A reader who switches over the words has to know each."""
    assert set(re.findall(r"`(\w+)`", page()[record][field][1].partition(": ")[0])) == set(values)


def test_evidence_lists_its_states_and_kinds() -> None:
    """The states behind the kinds that they are told for."""
    words = re.findall(r"`(\w+)`", page()["trace"]["evidence"][1])

    assert words == [*RECORD_KINDS, *Evidence]


def test_the_fields_have_the_values_that_the_spans_tell(lines: list[dict[str, Any]]) -> None:
    """A name that holds another field's value would pass for right: session, attempt, owner, finish reason, answers."""
    first, refused, dropped = (line["traces"][0] for line in lines)

    assert lines[0]["input"] == str(CORPUS / SHOWN[0])
    assert first["session_id"] == lines[0]["sessions"][0]["session_id"]
    assert [d["attempt"] for d in refused["dispatches"]] == [1, 1]
    assert [d["answers"] for d in refused["dispatches"]] == [r["call_id"] for r in refused["requests"]]
    assert [d["owner"] for d in dropped["divergences"]] == ["agent runtime"]
    assert [r["finish_reason"] for r in dropped["responses"]] == ["stop"]
    assert {d["kind"] for d in first["references"][0]["differences"]} >= {"missing"}
