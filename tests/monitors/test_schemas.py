"""Calls against schemas: each side by itself, counted by tool, and never valid without having been checked."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lanewatch.adapters.json_schema import Compiled, compile_schema
from lanewatch.adapters.records import Executed, Shape
from lanewatch.config.keys import Config
from lanewatch.monitors import schemas
from lanewatch.monitors.rule_readings import rule_readings
from lanewatch.monitors.schemas import SchemaChecker, SchemaKind, SchemaOutcome, Side
from lanewatch.monitors.tools import UNREGISTERED, Registry, Source, Tool
from lanewatch.replaying.playback import replay
from msgspec.structs import replace

from tests.monitors.records import dispatch, failure, record, request

CORPUS = Path(__file__).parent.parent / "corpus"
SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}},
    "additionalProperties": False,
}
REGISTRY = Registry([Tool("refund", arguments=SCHEMA, result={"type": "object", "required": ["ok"]})])


def outcomes(seen: Any, registry: Registry = REGISTRY) -> list[tuple[str, str, tuple[str, ...]]]:
    """(side, outcome, kinds) of every check."""
    return [
        (check.side, check.outcome, tuple(sorted(check.kinds, reverse=True)))
        for check in SchemaChecker(registry).check(seen)
    ]


def test_both_sides_and_the_result_are_checked_apart() -> None:
    """The model asked rightly, and the runtime called with something else."""
    seen = record(requests=(request(),), dispatches=(dispatch(arguments={"id": "1", "x": 2}, result='{"ok": true}'),))

    assert outcomes(seen) == [
        ("requested", "valid", ()),
        ("dispatched", "invalid", ("type", "additional")),
        ("result", "valid", ()),
    ]


@pytest.mark.parametrize(
    ("arguments", "kinds", "places"),
    [
        ({}, (SchemaKind.REQUIRED,), ("$",)),
        ({"id": "1"}, (SchemaKind.TYPE,), ("$.id",)),
        ({"id": 1, "x y": 2}, (SchemaKind.ADDITIONAL,), ("$",)),
        ({"id": True}, (SchemaKind.TYPE,), ("$.id",)),
    ],
)
def test_a_violation_names_kinds_and_places(arguments: Any, kinds: tuple[str, ...], places: tuple[str, ...]) -> None:
    """And nothing of the values."""
    (check,) = SchemaChecker(REGISTRY).check(record(requests=(request(arguments=arguments),)))

    assert (check.kinds, check.places, check.source) == (kinds, places, Source.CONFIGURED)


def test_text_that_is_no_json_is_a_violation_of_its_own_kind() -> None:
    """With a schema or without one."""
    broken = replace(request(arguments_raw='{"id": '), arguments=None)

    assert outcomes(record(requests=(broken,)), UNREGISTERED) == [("requested", "invalid", ("unparsable",))]


@pytest.mark.parametrize("state", ["absent", "redacted", "truncated"])
def test_what_is_not_seen_is_not_checked(state: str) -> None:
    """A text that a limit cut is no broken JSON of the model's."""
    hidden = replace(request(arguments_raw='{"id": ', arguments_state=state), arguments=None)
    run = dispatch(arguments_state=state, error=failure())

    assert outcomes(record(requests=(hidden,), dispatches=(run,))) == [
        ("requested", "not_seen", ()),
        ("dispatched", "not_seen", ()),
    ]


def test_runs_that_are_not_known_or_known_not_to_have_been_are_no_dispatches() -> None:
    """A refused call was not dispatched; a doubtful one can't be judged."""
    runs = (
        dispatch(executed=Executed.NO),
        dispatch(executed=Executed.UNKNOWN),
        dispatch(arguments="1", shape=Shape.BARE),
    )

    assert [outcome for _, outcome, _ in outcomes(record(dispatches=runs))][:2] == ["not_proved", "not_seen"]


@pytest.mark.parametrize(
    ("schema", "outcome"),
    [
        (None, SchemaOutcome.NO_SCHEMA),
        ({"type": "any"}, SchemaOutcome.UNUSABLE_SCHEMA),
        ("text", SchemaOutcome.UNUSABLE_SCHEMA),
        ({"type": "object"}, SchemaOutcome.VALID),
        ({"required": ["x"]}, SchemaOutcome.INVALID),
    ],
)
def test_a_learned_schema_is_used_and_none_is_never_valid(schema: Any, outcome: SchemaOutcome) -> None:
    """What models were offered stands in where nobody configured anything."""
    seen = record(requests=(request(),), tools={} if schema is None else {"refund": schema})
    (check,) = SchemaChecker(UNREGISTERED).check(seen)

    assert check.outcome is outcome
    assert check.source is (None if schema is None else Source.LEARNED)


@pytest.mark.parametrize(
    ("result", "outcome"), [("<Result ok>", "not_seen"), (None, "not_seen"), ("[]", "invalid"), ({"ok": 1}, "valid")]
)
def test_a_result_s_text_is_read_as_json_or_not_checked(result: Any, outcome: str) -> None:
    """Instrumentors write objects in ways that prove nothing of the object."""
    assert outcomes(record(dispatches=(dispatch(result=result),)))[1][:2] == ("result", outcome)


def test_compiled_schemas_are_remembered_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same schema, told anew in every trace, is compiled once; the least recently used goes first."""
    compiled: list[Any] = []

    def counted(schema: Any) -> Compiled:
        compiled.append(schema)
        return compile_schema(schema)

    monkeypatch.setattr(schemas, "compile_schema", counted)
    checker = SchemaChecker(UNREGISTERED, max_compiled=2)
    for title in ("a", "a", "b", "a", "c", "a", "b"):
        checker.check(record(requests=(request(),), tools={"refund": {"title": title}}))

    assert [schema["title"] for schema in compiled] == ["a", "b", "c", "b"]


def test_compiled_schemas_are_remembered_within_a_bound_of_bytes() -> None:
    """A schema of two thousand parts takes a megabyte: five hundred of them are not kept."""
    checker = SchemaChecker(UNREGISTERED, max_compiled_bytes=2**21)
    for number in range(20):
        schema = {"anyOf": [{"minLength": number}] * 1000}
        checker.check(record(requests=(request(),), tools={"refund": schema}))

    assert 1 <= len(checker._compiled) <= 3


def test_readings_count_checks_and_kinds_by_side() -> None:
    """Numerator and denominator of a rate, and no content in a label."""
    seen = record(requests=(request(arguments={"id": "x", "card": 1}), request()))
    counts = Counter(rule_readings(seen, SchemaChecker(REGISTRY).check(seen)))

    assert counts == {
        ("lanewatch_schema_checks", ("shop", "refund", "requested", "invalid")): 1,
        ("lanewatch_schema_checks", ("shop", "refund", "requested", "valid")): 1,
        ("lanewatch_schema_violations", ("shop", "refund", "requested", "type")): 1,
        ("lanewatch_schema_violations", ("shop", "refund", "requested", "additional")): 1,
    }


@pytest.mark.parametrize("capture", sorted(CORPUS.glob("*/14a_bad_json")), ids=lambda path: path.parent.name)
def test_recorded_broken_json_is_found_wherever_its_text_was_recorded(capture: Path) -> None:
    """In every stack that keeps the text; where it is not kept, nothing is claimed valid."""
    checks = [check for seen in replay(capture, Config()).observations for check in seen.checks]
    asked = [check for check in checks if check.side is Side.REQUESTED]

    assert all(check.outcome is not SchemaOutcome.VALID or check.source is Source.LEARNED for check in checks)
    assert {check.outcome for check in asked} & {SchemaOutcome.INVALID, SchemaOutcome.NOT_SEEN} or not asked


@pytest.mark.parametrize(
    "capture",
    sorted(path.parent for path in CORPUS.glob("*/*/truth.json") if not path.parent.name.startswith(("14a", "14b"))),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_a_recorded_right_call_breaks_no_schema(capture: Path) -> None:
    """Schemas as frameworks write them, arguments as models send them: none of these is broken in truth."""
    checks = [check for seen in replay(capture, Config()).observations for check in seen.checks]

    assert [check for check in checks if check.outcome is SchemaOutcome.INVALID] == []


def test_recorded_calls_that_break_their_schema_are_found_in_most_stacks() -> None:
    """14b: an argument of the wrong type, or a missing one; where no schema is recorded, none is claimed valid."""
    found = {
        capture.parent.name
        for capture in CORPUS.glob("*/14b_bad_schema")
        for seen in replay(capture, Config()).observations
        for check in seen.checks
        if check.side is Side.REQUESTED and check.outcome is SchemaOutcome.INVALID
    }

    assert len(found) >= 15
