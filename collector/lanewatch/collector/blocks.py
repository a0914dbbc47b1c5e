"""Walks the blocks of a request, the same for protobuf and JSON: tells relevant items from others and has both read.

A block is what one resource sent, a part of it what one scope did; a part's items are spans or log records, still
encoded. A resource is decoded when it is first wanted, since most blocks are irrelevant.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from lanewatch.collector.harvest import Harvest
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.spans import RejectReason, Resource, Scope

_UNITS_A_BLOCK, _UNITS_AN_ITEM = 2, 8  # of `DecodeLimits.max_work`

Encoded: TypeAlias = Any  # bytes, or what shares memory with the body and can be searched like bytes


class Part(msgspec.Struct):
    """ScopeSpans or ScopeLogs. Protobuf's messages have the same attributes and are taken as they are."""

    scope: Encoded
    schema_url: bytes | str
    items: Sequence[Encoded]


class Block(msgspec.Struct):
    """ResourceSpans or ResourceLogs."""

    resource: bytes
    schema_url: bytes | str
    parts: Sequence[Part]


class UnreadableError(Exception):
    """A resource or scope can't be decoded."""


class Encoding(msgspec.Struct, frozen=True):
    """How one signal is read from one encoding. `resource` and `scope` raise `UnreadableError`, the others nothing."""

    is_marked: Callable[[Encoded], object]  # true in Python where an item may carry a marker
    resource: Callable[[bytes, Harvest], Resource]
    scope: Callable[[Encoded, bytes | str, Harvest], Scope]  # the second argument is its schema URL
    relevant: Callable[[Encoded, Resource, Scope, Harvest], None]
    irrelevant: Callable[[Sequence[Encoded], Harvest], None]


def read_blocks(
    blocks: Iterable[Block], encoding: Encoding, relevance: Relevance, harvest: Harvest, *, marked: bool
) -> None:
    """Read all items into `harvest`. `marked`: whether there may be a marker anywhere in the request."""
    for block in blocks:
        harvest.toil(_UNITS_A_BLOCK)
        resource: Resource | None = None
        for part in block.parts:
            harvest.toil(_UNITS_A_BLOCK)
            items = part.items
            n = harvest.admit(len(items))
            if not n:
                continue
            if n < len(items):
                items = items[:n]
            relevant: Sequence[Encoded] = ()
            try:
                scope = encoding.scope(part.scope, part.schema_url or block.schema_url, harvest)
                if resource is None and relevance.may_mark_resource(block.resource):
                    resource = encoding.resource(block.resource, harvest)
                if scope.name in relevance.own_scopes:
                    pass
                elif relevance.marks_scope(scope.name) or (resource and relevance.marks_resource(resource.attributes)):
                    relevant, items = items, ()
                elif marked:
                    relevant, items = _split(items, encoding.is_marked)
                if relevant and resource is None:
                    resource = encoding.resource(block.resource, harvest)
            except UnreadableError:
                harvest.reject(RejectReason.UNDECODABLE_RESOURCE, n)
                continue
            harvest.toil(_UNITS_AN_ITEM * len(relevant) + len(items))
            for raw in relevant:
                encoding.relevant(raw, resource or Resource(), scope, harvest)
            encoding.irrelevant(items, harvest)


def count_unrelated_logs(items: Sequence[Encoded], harvest: Harvest) -> None:
    """The `irrelevant` of logs."""
    harvest.unrelated_logs += len(items)


def _split(items: Iterable[Encoded], is_marked: Callable[[Encoded], object]) -> tuple[list[Encoded], list[Encoded]]:
    marked: list[Encoded] = []
    unmarked: list[Encoded] = []
    for raw in items:
        (marked if is_marked(raw) else unmarked).append(raw)
    return marked, unmarked
