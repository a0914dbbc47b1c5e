"""Policies and prices as they are written: `[[policies]]`, one table each, and `[prices.MODEL]`.

What a policy of each kind means is docs/policies.md's to tell; how it is judged stands in the monitors.
"""

import json
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from lanewatch.config.faults import Fault, did_you_mean, kind_of
from lanewatch.config.tables import Entry, read_entry
from lanewatch.config.tools import ToolEntry
from lanewatch.config.wanted import Wanted

MAX_POLICIES = 200
SEPARATORS = re.compile(r"[-./:]|__")  # between a server's or plugin's name and the tool's
PRICE = Field(ge=0, le=10**6, allow_inf_nan=False)


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("none given")
    return names


Text = Annotated[str, Field(min_length=1, max_length=300), Wanted("text of 1 to 300 characters")]
PolicyName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_.-]{1,60}$"),
    Wanted("a name of 1 to 60 letters, digits, dots, hyphens and underscores"),
]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[tuple[Word, ...], Field(max_length=100), Wanted("an array of names, each of 1 to 200 characters")]
SomeWords = Annotated[
    tuple[Word, ...],
    Field(max_length=100),
    AfterValidator(_distinct),
    Wanted("an array of at least one name, each of 1 to 200 characters"),
]
OneWord = Annotated[Word, Wanted("a name of 1 to 200 characters")]
Per = Annotated[Literal["turn", "session"], Wanted('one of "turn", "session"')]


class PolicyEntry(Entry):
    """What every policy says."""

    name: PolicyName
    kind: Annotated[str, Wanted("one of the kinds")]
    requirement: Text
    lane: Annotated[
        Literal["retrieval", "generation", "tools", "outcome"],
        Wanted('one of "retrieval", "generation", "tools", "outcome"'),
    ]
    owner: Text
    criticality: Annotated[Literal["critical", "major", "minor"], Wanted('one of "critical", "major", "minor"')] = (
        "major"
    )
    services: Words = ()


class ForbiddenEntry(PolicyEntry):
    """Tools that must not run."""

    tools: SomeWords
    unless: Words = ()


class OrderEntry(PolicyEntry):
    """A tool that needs another one before it."""

    before: OneWord
    after: OneWord
    same: OneWord | None = None
    per: Per = "turn"


class CallLimitEntry(PolicyEntry):
    """At most so many calls."""

    tools: SomeWords
    at_most: Annotated[int, Field(ge=0, le=10**9)]
    per: Per = "turn"


class PathsEntry(PolicyEntry):
    """Ways to do a thing."""

    any_of: Annotated[
        tuple[Annotated[tuple[Word, ...], Field(min_length=1, max_length=20)], ...],
        AfterValidator(_distinct),
        Wanted("an array of paths, each an array of at least one tool"),
    ] = Field(max_length=20)
    when: Words = ()


class DocumentsEntry(PolicyEntry):
    """Documents that must have been retrieved."""

    ids: SomeWords
    when: Words = ()


class BudgetEntry(PolicyEntry):
    """At most so much of a fact."""

    fact: Annotated[
        Literal["tokens", "dollars", "seconds", "model_turns", "tool_calls", "repeated_calls", "idle_turns"],
        Wanted('one of "tokens", "dollars", "seconds", "model_turns", "tool_calls", "repeated_calls", "idle_turns"'),
    ]
    at_most: Annotated[float, Field(ge=0, le=10**12, allow_inf_nan=False)]
    per: Per = "turn"


class PriceEntry(Entry):
    """What a million tokens of a model cost."""

    input: Annotated[float, PRICE]
    output: Annotated[float, PRICE]


KINDS: dict[str, type[PolicyEntry]] = {
    "forbidden": ForbiddenEntry,
    "order": OrderEntry,
    "call_limit": CallLimitEntry,
    "paths": PathsEntry,
    "documents": DocumentsEntry,
    "budget": BudgetEntry,
}


def read_policies(given: object, tools: dict[str, ToolEntry], faults: list[Fault]) -> tuple[PolicyEntry, ...]:
    """Every policy, in order; `tools` say which names are one tool's."""
    if given is None:
        return ()
    if not isinstance(given, list):
        faults.append(Fault("policies", f"the value is {kind_of(given)}, not an array", "write [[policies]]"))
        return ()
    if len(given) > MAX_POLICIES:
        faults.append(Fault("policies", f"there are more than {MAX_POLICIES}", "keep those that somebody answers for"))
        return ()
    entries: list[PolicyEntry] = []
    for number, table in enumerate(given, 1):
        entry = _read(table, number, faults)
        if entry is not None:
            entries.append(entry)
    names = [entry.name for entry in entries]
    faults += [
        Fault(f"policies.{name}", "another policy has this name", "give each a name of its own")
        for name in dict.fromkeys(name for name in names if names.count(name) > 1)
    ]
    _circles([entry for entry in entries if isinstance(entry, OrderEntry)], tools, faults)
    return tuple(entries)


def unregistered(policies: tuple[PolicyEntry, ...], tools: dict[str, ToolEntry]) -> list[str]:
    """A warning for each tool that a policy names and the registry does not have: a slip of the pen would be kept for ever.
    Where nothing is registered nothing can be told.
    """
    if not tools:
        return []
    spellings = {_fold(name): name for tool, entry in tools.items() for name in (tool, *entry.aliases)}
    found = []
    for policy in policies:
        for name in dict.fromkeys(_tools_of(policy)):
            # A name with a server's prefix is the tool's, too.
            if not {_fold(name), _fold(SEPARATORS.split(name)[-1])} & spellings.keys():
                near = did_you_mean(name, spellings.values(), "Register it, or take it out.")
                found.append(
                    f"policies.{policy.name} names the tool {json.dumps(name)}, which no entry has. {near[0].upper()}{near[1:]}"
                )
    return found


def _tools_of(policy: PolicyEntry) -> tuple[str, ...]:
    match policy:
        case ForbiddenEntry() | CallLimitEntry():
            return policy.tools
        case OrderEntry():
            return policy.before, policy.after
        case PathsEntry():
            return (*(tool for path in policy.any_of for tool in path), *policy.when)
        case DocumentsEntry():
            return policy.when
    return ()


def _read(table: object, number: int, faults: list[Fault]) -> PolicyEntry | None:
    name = table.get("name") if isinstance(table, dict) else None
    # A name stands for its policy only where it is one: anything else could be a value in the wrong place.
    known = isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", name)
    where = f"policies.{name}" if known else f"policies[{number}]"
    kind = table.get("kind") if isinstance(table, dict) else None
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if isinstance(table, dict) and model is None:
        problem = "it is not set" if kind is None else "no such kind"
        otherwise = f"kinds are {', '.join(KINDS)}"
        remedy = did_you_mean(kind, KINDS, otherwise) if isinstance(kind, str) else otherwise
        faults.append(Fault(f"{where}.kind", problem, remedy))
        general = {key: table[key] for key in table if key in PolicyEntry.model_fields}
        read_entry(PolicyEntry, {**general, "kind": ""}, where, faults)
        return None
    return read_entry(model or PolicyEntry, table, where, faults)


def _circles(orders: list[OrderEntry], tools: dict[str, ToolEntry], faults: list[Fault]) -> None:
    """Rules of order that no trace of a service could keep, since each tool needs another one first."""
    canonical = {_fold(alias): _fold(name) for name, entry in tools.items() for alias in (name, *entry.aliases)}
    told: set[frozenset[str]] = set()
    for service in dict.fromkeys(["", *(service for order in orders for service in order.services)]):
        needs: dict[str, list[tuple[str, str]]] = {}
        for order in orders:
            if not order.services or service in order.services:
                after, before = (canonical.get(_fold(tool), _fold(tool)) for tool in (order.after, order.before))
                needs.setdefault(after, []).append((before, order.name))
        for tool in needs:
            circle = _circle(tool, needs)
            if circle and frozenset(circle) not in told:
                told.add(frozenset(circle))
                names = ", ".join(dict.fromkeys(circle))
                problem = f"the rules of order {names} lead back to where they begin"
                faults.append(Fault(f"policies.{circle[0]}", problem, "take one of them out"))


def _circle(start: str, needs: dict[str, list[tuple[str, str]]]) -> tuple[str, ...]:
    """The names of the rules on a way from a tool back to itself; empty where there is none."""
    waiting: list[tuple[str, tuple[str, ...]]] = [(start, ())]
    seen: set[str] = set()
    while waiting:
        tool, way = waiting.pop()
        for before, rule in needs.get(tool, []):
            if before == start:
                return (*way, rule)
            if before not in seen:
                seen.add(before)
                waiting.append((before, (*way, rule)))
    return ()


def _fold(name: str) -> str:
    """As tools' names are compared: without case and punctuation."""
    return re.sub(r"[\W_]+", "", name.casefold()) or name
