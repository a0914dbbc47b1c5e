"""Calls held against their tools' JSON Schemas: what was asked for, what was run and what came back, each by itself.

Invariants: a call is valid only where a schema was there and it was checked; whatever could not be checked says why;
nothing of a value or a schema gets into a check but keywords and places.
"""

from collections import OrderedDict
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

from lanewatch.adapters.json_schema import Compiled, UnusableSchemaError, compile_schema
from lanewatch.adapters.records import Dispatch, Executed, Shape, ToolRequest, TraceRecord
from lanewatch.monitors.differences import step as step_of
from lanewatch.monitors.tools import Registry, Source

MAX_COMPILED = 500
MAX_COMPILED_BYTES = 32 * 2**20
MAX_PLACES = 20  # of one call; a long array could be wrong a million times


class Side(StrEnum):
    """Where the checked value stands."""

    REQUESTED = "requested"
    DISPATCHED = "dispatched"
    RESULT = "result"


class SchemaKind(StrEnum):
    """What is wrong with a value."""

    UNPARSABLE = "unparsable"  # no JSON
    TYPE = "type"
    REQUIRED = "required"
    ADDITIONAL = "additional"  # a key, or an item, that there may not be
    VALUE = "value"  # not one of those that may stand there
    RANGE = "range"
    FORM = "form"  # a text's pattern or format
    COMBINATION = "combination"  # anyOf, oneOf, not
    OTHER = "other"


class SchemaOutcome(StrEnum):
    """How a check ended; all but the first two mean that nothing was checked."""

    VALID = "valid"
    INVALID = "invalid"
    NO_SCHEMA = "no_schema"
    UNUSABLE_SCHEMA = "unusable_schema"  # invalid, remote, or too expensive
    NOT_SEEN = "not_seen"  # hidden, cut, or written in a way that lost names
    NOT_PROVED = "not_proved"  # nobody knows whether it ran
    TOO_EXPENSIVE = "too_expensive"


KEYWORDS = {
    "type": SchemaKind.TYPE,
    "required": SchemaKind.REQUIRED,
    "dependentRequired": SchemaKind.REQUIRED,
    "additionalProperties": SchemaKind.ADDITIONAL,
    "additionalItems": SchemaKind.ADDITIONAL,
    "unevaluatedProperties": SchemaKind.ADDITIONAL,
    "unevaluatedItems": SchemaKind.ADDITIONAL,
    "propertyNames": SchemaKind.ADDITIONAL,
    "enum": SchemaKind.VALUE,
    "const": SchemaKind.VALUE,
    **dict.fromkeys(
        (
            "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
            "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "contains",
        ),
        SchemaKind.RANGE,
    ),
    **dict.fromkeys(("pattern", "format", "contentEncoding", "contentMediaType"), SchemaKind.FORM),
    **dict.fromkeys(("anyOf", "oneOf", "not"), SchemaKind.COMBINATION),
}  # fmt: skip


class SchemaCheck(msgspec.Struct, frozen=True):
    """One call on one side. `kinds` are what is wrong, each once; `places` where, the first of them."""

    tool: str
    side: Side
    outcome: SchemaOutcome
    kinds: tuple[SchemaKind, ...] = ()
    places: tuple[str, ...] = ()
    source: Source | None = None
    call_id: str | None = None
    span_id: str | None = None


class SchemaChecker:
    """Checks records, and remembers compiled schemas, the least recently used of which go first. Belongs to one thread."""

    def __init__(
        self, registry: Registry, *, max_compiled: int = MAX_COMPILED, max_compiled_bytes: int = MAX_COMPILED_BYTES
    ) -> None:
        """`registry` holds the configured schemas; others come with the records. Then bounds on those remembered."""
        self._registry = registry
        self._max_compiled = max_compiled
        self._max_compiled_bytes = max_compiled_bytes
        self._compiled: OrderedDict[bytes, Compiled | None] = OrderedDict()
        self._bytes = 0  # of those that are remembered

    def check(self, record: TraceRecord) -> tuple[SchemaCheck, ...]:
        """Every request, then every run that is not known to have been refused, and its result."""
        return (
            *(self._request(request, record) for request in record.requests),
            *(
                check
                for run in record.dispatches
                if run.executed is not Executed.NO
                for check in self._run(run, record)
            ),
        )

    def _request(self, request: ToolRequest, record: TraceRecord) -> SchemaCheck:
        told = (request.call_id, request.span_id)
        if request.arguments_state != "captured":
            return _check(request.name, Side.REQUESTED, SchemaOutcome.NOT_SEEN, told)
        if request.arguments is None:
            kinds = (SchemaKind.UNPARSABLE,)
            return _check(request.name, Side.REQUESTED, SchemaOutcome.INVALID, told, kinds, ("$",))
        schema = self._registry.schema(request.name, record)
        return self._hold(request.name, Side.REQUESTED, request.arguments, schema, told)

    def _run(self, run: Dispatch, record: TraceRecord) -> Iterator[SchemaCheck]:
        told = (run.call_id, run.span_id)
        if run.executed is not Executed.YES:
            yield _check(run.name, Side.DISPATCHED, SchemaOutcome.NOT_PROVED, told)
            return
        if run.arguments_state != "captured" or run.shape is not Shape.OBJECT:
            yield _check(run.name, Side.DISPATCHED, SchemaOutcome.NOT_SEEN, told)
        else:
            schema = self._registry.schema(run.name, record, run.schema)
            yield self._hold(run.name, Side.DISPATCHED, run.arguments, schema, told)
        tool = self._registry.find(run.name)
        if tool is not None and tool.result is not None and run.error is None:
            yield self._result(run, tool.result, told)

    def _result(self, run: Dispatch, schema: dict[str, Any], told: tuple[str | None, str]) -> SchemaCheck:
        """A result stands in a span as a value, or as JSON text; any other text is what the instrumentor made of it."""
        result = run.result
        if isinstance(result, str) and schema.get("type") != "string":
            try:
                result = msgspec.json.decode(result)
            except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
                result = None
        if result is None:
            return _check(run.name, Side.RESULT, SchemaOutcome.NOT_SEEN, told)
        return self._hold(run.name, Side.RESULT, result, (schema, Source.CONFIGURED), told)

    def _hold(
        self, name: str, side: Side, value: Any, schema: tuple[Any, Source] | None, told: tuple[str | None, str]
    ) -> SchemaCheck:
        if schema is None:
            return _check(name, side, SchemaOutcome.NO_SCHEMA, told)
        compiled = self._compile(schema[0])
        if compiled is None:
            return _check(name, side, SchemaOutcome.UNUSABLE_SCHEMA, told, source=schema[1])
        try:
            errors = compiled.errors(value)
        except ValueError:  # what no JSON text could hold: bytes, a lone surrogate
            return _check(name, side, SchemaOutcome.NOT_SEEN, told, source=schema[1])
        if errors is None:
            return _check(name, side, SchemaOutcome.TOO_EXPENSIVE, told, source=schema[1])
        if not errors:
            return _check(name, side, SchemaOutcome.VALID, told, source=schema[1])
        kinds = tuple(dict.fromkeys(KEYWORDS.get(keyword, SchemaKind.OTHER) for keyword, _ in errors))
        places = tuple(dict.fromkeys(_path(place) for _, place in errors[:MAX_PLACES]))
        return _check(name, side, SchemaOutcome.INVALID, told, kinds, places, schema[1])

    def _compile(self, schema: Any) -> Compiled | None:
        """The compiled schema; None where it can't be used."""
        try:
            key = msgspec.json.encode(schema)
        except (TypeError, ValueError, RecursionError):
            return None
        if key in self._compiled:
            self._compiled.move_to_end(key)
            return self._compiled[key]
        try:
            compiled = compile_schema(schema)
        except UnusableSchemaError:
            compiled = None
        self._compiled[key] = compiled
        self._bytes += _remembered(key, compiled)
        while len(self._compiled) > self._max_compiled or (
            self._bytes > self._max_compiled_bytes and len(self._compiled) > 1
        ):
            self._bytes -= _remembered(*self._compiled.popitem(last=False))
        return compiled


def _remembered(key: bytes, compiled: Compiled | None) -> int:
    return len(key) + (compiled.size_bytes if compiled is not None else 0)


def _check(
    tool: str,
    side: Side,
    outcome: SchemaOutcome,
    told: tuple[str | None, str],
    kinds: tuple[SchemaKind, ...] = (),
    places: tuple[str, ...] = (),
    source: Source | None = None,
) -> SchemaCheck:
    return SchemaCheck(tool, side, outcome, kinds, places, source, *told)


def _path(place: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else step_of(step) for step in place)
