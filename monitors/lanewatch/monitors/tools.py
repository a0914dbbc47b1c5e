"""The tool registry: what is known of each tool by contract, and which names are one tool's.

Invariants: without an entry a tool is compared exactly and nothing is assumed of it; what a span's tool definition says
is marked as learned, holds for its trace alone, and never overrides what is configured; the version changes with the
configured entries and with nothing else.
"""

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from hashlib import sha256
from typing import Any

import msgspec

from lanewatch.adapters.identity import SEPARATORS, fold, same, same_name
from lanewatch.adapters.name_index import NameIndex
from lanewatch.adapters.records import Dispatch, ErrorInfo, Executed, TraceRecord
from lanewatch.monitors.contracts import EXACT, Contract, Place, contract_differences, values_at
from lanewatch.monitors.redaction.comparing import behind, undecided
from lanewatch.monitors.redaction.tokens import Key

VERSION_LENGTH = 12  # hexadecimal digits


class Risk(StrEnum):
    """What a run can do to the world."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


class Source(StrEnum):
    """Who says what is known of a tool."""

    CONFIGURED = "configured"
    LEARNED = "learned"  # a tool definition in a span


class ErrorShape(msgspec.Struct, frozen=True):
    """A result that means failure: the value at `place` is one of `values`, or anything but null, false, 0 and empty."""

    place: Place
    values: tuple[Any, ...] = ()

    def fits(self, result: Any) -> bool:
        """Whether the result fails by this shape. Steps into an array's items fit if one of them does."""
        return any(self._is_failure(value) for value in values_at(result, self.place))

    def _is_failure(self, value: Any) -> bool:
        return any(same(value, one) for one in self.values) if self.values else bool(value)


class Tool(msgspec.Struct, frozen=True):
    """One tool. `arguments` and `result` are JSON Schemas; `sensitive` are places of arguments that must be hidden."""

    name: str
    aliases: tuple[str, ...] = ()
    arguments: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    risk: Risk | None = None
    owner: str | None = None
    contract: Contract = EXACT
    sensitive: tuple[Place, ...] = ()
    errors: tuple[ErrorShape, ...] = ()
    source: Source = Source.CONFIGURED

    @property
    def names(self) -> tuple[str, ...]:
        """The canonical name and the aliases."""
        return (self.name, *self.aliases)


class Registry:
    """The configured tools. Belongs to nobody: it never changes."""

    def __init__(self, tools: Iterable[Tool] = (), key: Key | None = None) -> None:
        """Of two tools with one name the first counts; the configuration allows none such. By `key` hidden values compare."""
        self.key = key
        self.tools = tuple(tools)
        self.version = _version(self.tools)
        self._by_name: dict[str, Tool] = {}
        # The tools of the record that was asked for last, by name: a record asks for each of its calls.
        self._offers: tuple[dict[str, Any], NameIndex[str]] | None = None
        for tool in self.tools:
            for name in tool.names:
                self._by_name.setdefault(fold(name), tool)

    def find(self, name: str) -> Tool | None:
        """The tool of a name as any side spells it: in its own case, or with a plugin's or server's prefix."""
        if not self._by_name:
            return None
        return self._by_name.get(fold(name)) or self._by_name.get(fold(SEPARATORS.split(name)[-1]))

    def same(self, a: str, b: str) -> bool:
        """Whether two names are one tool's. Two configured tools are never the same, however alike their names are."""
        if a == b or not self._by_name:
            return same_name(a, b)
        exact_a, exact_b = self._by_name.get(fold(a)), self._by_name.get(fold(b))
        if exact_a is not None and exact_b is not None:
            return exact_a is exact_b
        if same_name(a, b):
            return True
        # At most one side may need its prefix taken off: `shop-refund` and `billing-refund` stay two tools.
        return exact_a is not exact_b and self.find(a) is self.find(b)

    def contract(self, *names: str) -> Contract:
        """The contract of the first of these names that has an entry."""
        return next((tool.contract for name in names if (tool := self.find(name)) is not None), EXACT)

    def owner(self, name: str) -> str:
        """Who answers for what the tool does."""
        tool = self.find(name)
        return tool.owner if tool is not None and tool.owner else f"tool {name}"

    def schema(self, name: str, record: TraceRecord, own: dict[str, Any] | None = None) -> tuple[Any, Source] | None:
        """The JSON Schema of a tool's arguments, and who says so. `own` is the one that the run's span carries."""
        tool = self.find(name)
        if tool is not None and tool.arguments is not None:
            return tool.arguments, Source.CONFIGURED
        if own is not None:
            return own, Source.LEARNED
        offered = record.tools.get(name)
        if offered is None:
            other = self._offered_as(name, record.tools)
            offered = record.tools[other] if other is not None else None
        return None if offered is None else (offered, Source.LEARNED)

    def _offered_as(self, name: str, tools: dict[str, Any]) -> str | None:
        """The name under which models were offered a tool, in another spelling."""
        if self._offers is None or self._offers[0] is not tools:
            index: NameIndex[str] = NameIndex()
            for other in tools:
                index.add(other, other)
            self._offers = tools, index
        alike = next((other for other in self._offers[1].find(name) if self.same(name, other)), None)
        if alike is None and self.find(name) is not None:  # an alias, which no spelling tells
            alike = next((other for other in tools if self.same(name, other)), None)
        return alike

    def differences(self, asked: str, ran: str, a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
        """Where the arguments of a request and a run differ beyond what the tool's contract allows. Of hidden values only
        those that are proved to differ; where names are hidden, no member is proved to be missing.
        """
        found = contract_differences(self.contract(ran, asked), a, b)
        return (one for one, same in behind(found, a, b, self.key) if same is False)

    def undecided(self, asked: str, ran: str, a: Any, b: Any) -> bool:
        """Whether the arguments hide a value that does not compare, where the tool's contract does not excuse it."""
        contract = self.contract(ran, asked)
        return undecided(a, b, self.key, contract.ignores if contract.rules else None)


def with_error_shapes(record: TraceRecord, registry: Registry) -> TraceRecord:
    """The record in which a run whose result means failure by its tool's contract carries an error."""
    if not any(tool.errors for tool in registry.tools):
        return record
    dispatches = tuple(_judged(run, registry) for run in record.dispatches)
    changed = any(new is not old for new, old in zip(dispatches, record.dispatches, strict=True))
    return msgspec.structs.replace(record, dispatches=dispatches) if changed else record


def _judged(run: Dispatch, registry: Registry) -> Dispatch:
    tool = registry.find(run.name)
    if tool is None or run.error is not None or run.executed is not Executed.YES:
        return run
    result = run.result
    if isinstance(result, str) and result[:1] in ("{", "["):
        try:
            result = msgspec.json.decode(result)
        except (msgspec.DecodeError, RecursionError):
            result = run.result
    if not any(shape.fits(result) for shape in tool.errors):
        return run
    return msgspec.structs.replace(run, error=ErrorInfo("error_shape"))


def _version(tools: tuple[Tool, ...]) -> str:
    """A hash of the entries, whatever their order; the same in every process."""
    plain = []
    for tool in sorted(tools, key=lambda one: one.name):
        fields = {
            field: getattr(tool, field) for field in tool.__struct_fields__ if field not in ("contract", "errors")
        }
        rules = sorted((list(map(str, place)), rule) for place, rule in tool.contract.rules.items())
        errors = [[list(map(str, shape.place)), list(shape.values)] for shape in tool.errors]
        plain.append({**fields, "rules": rules, "errors": errors})
    return sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()[:VERSION_LENGTH]


UNREGISTERED = Registry()
