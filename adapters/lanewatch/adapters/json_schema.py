"""JSON Schemas, compiled, bounded in what they may cost; schemas come out of spans, so nobody vouches for them.

Invariants: nothing is ever fetched; a pattern is matched in linear time, or its schema can't be used; before a value is
checked, the steps that this can take at most are estimated, and beyond `MAX_STEPS` (about 50 ms) it is not checked.

jsonschema-rs, since on 76 real tool schemas and 534 calls it checks one in 0.9 microseconds (jsonschema 13.8, and its
patterns backtrack for ever; fastjsonschema 1.3, but it runs code that it generates, and takes 800 to compile against 20).
It costs 14 MB of resident memory, so it is imported with the first schema.
"""

from typing import Any

import msgspec

MAX_SCHEMA_BYTES = 256 * 2**10
MAX_SCHEMA_DEPTH = 100
MAX_UNROLLED = 20_000  # parts of a schema with every reference written out
MAX_STEPS = 2_000_000
MAX_PATTERN_BYTES = 2**20  # of a compiled pattern
TEXT_STEP = 100  # characters that a pattern reads in the time of one step
DEFINITIONS = ("$defs", "definitions")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class UnusableSchemaError(ValueError):
    """A schema that can't be used: invalid, with a remote reference, or too expensive. `str()` holds none of it."""


class Compiled(msgspec.Struct, frozen=True):
    """A validator, the parts of its schema unrolled, and how many ways lead from one level of a recursion to the next."""

    validator: Any
    parts: int
    ways: int

    def errors(self, value: Any) -> tuple[tuple[str, tuple[str | int, ...]], ...] | None:
        """(keyword, place) of every error; None where checking would cost too much. Raises ValueError for what is no
        JSON.
        """
        size, depth = _measure(value)
        steps = size * self.parts
        for _ in range(depth if self.ways > 1 else 0):
            steps *= self.ways
            if steps > MAX_STEPS:
                break
        if steps > MAX_STEPS:
            return None
        if self.validator.is_valid(value):
            return ()
        return tuple((error.kind.name, tuple(error.instance_path)) for error in self.validator.iter_errors(value))


def compile_schema(schema: Any) -> Compiled:
    """Raises UnusableSchemaError."""
    import jsonschema_rs  # noqa: PLC0415 - 14 MB that most processes never need

    parts, ways = _Unrolled(schema).measured()
    try:
        validator = jsonschema_rs.validator_for(
            schema,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(MAX_PATTERN_BYTES, MAX_PATTERN_BYTES),
        )
    except (ValueError, TypeError, jsonschema_rs.ReferencingError):
        raise UnusableSchemaError("it is no valid JSON Schema, or refers to something outside of it") from None
    return Compiled(validator, parts, ways)


def _measure(value: Any) -> tuple[int, int]:
    """Parts of a value, long texts by their length, and its depth."""
    size, depth, level = 0, 0, [value]
    while level:
        depth += 1
        inner: list[Any] = []
        for item in level:
            size += 1
            if isinstance(item, str):
                size += len(item) // TEXT_STEP
            elif isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list | tuple):
                inner.extend(item)
        level = inner
    return size, depth


class _Unrolled:
    """Counts a schema's parts as a validator meets them, behind each reference the whole of what it names, and the
    references that lead back to where one has come from.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._counts: dict[int, tuple[int, int]] = {}
        self._open: set[int] = set()

    def measured(self) -> tuple[int, int]:
        """(parts, references that close a circle). Raises UnusableSchemaError beyond the limits."""
        try:
            size = len(msgspec.json.encode(self._schema))
        except (TypeError, ValueError, RecursionError):
            raise UnusableSchemaError("it is not JSON") from None
        if size > MAX_SCHEMA_BYTES:
            raise UnusableSchemaError(f"it has more than {MAX_SCHEMA_BYTES} bytes")
        return self._count(self._schema, MAX_SCHEMA_DEPTH)

    def _count(self, part: Any, depth: int) -> tuple[int, int]:
        if not isinstance(part, dict | list):
            return 1, 0
        if depth < 0:
            raise UnusableSchemaError(f"it is nested deeper than {MAX_SCHEMA_DEPTH} levels, references written out")
        known = self._counts.get(id(part))
        if known is not None:
            return known
        if id(part) in self._open:
            return 1, 1
        self._open.add(id(part))
        # Definitions count where something refers to them.
        items = [part[key] for key in part if key not in DEFINITIONS] if isinstance(part, dict) else part
        inner = [self._count(item, depth - 1) for item in items]
        again = 1
        if isinstance(part, dict):
            inner += [self._behind(part[key], depth) for key in REFERENCES if isinstance(part.get(key), str)]
            # What these leave over is found by checking their neighbours once more, on each level.
            again = 2 ** sum(key in part for key in ("unevaluatedProperties", "unevaluatedItems"))
        count = (1 + sum(parts for parts, _ in inner)) * again, sum(ways for _, ways in inner) * again
        if max(count) > MAX_UNROLLED:
            raise UnusableSchemaError(f"it has more than {MAX_UNROLLED} parts, references written out")
        self._open.discard(id(part))
        self._counts[id(part)] = count
        return count

    def _behind(self, reference: str, depth: int) -> tuple[int, int]:
        """The count of what a reference names. A name that is no path may lead anywhere: back to the top, then."""
        target: Any = self._schema
        if reference.startswith("#/"):
            for step in reference[2:].split("/"):
                key = step.replace("~1", "/").replace("~0", "~")
                if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
                    target = target[int(key)]
                elif isinstance(target, dict) and key in target:
                    target = target[key]
                else:
                    raise UnusableSchemaError("a reference has no target")
        return self._count(target, depth - 1)
