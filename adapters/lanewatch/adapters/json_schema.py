"""JSON Schemas, compiled, bounded in what they may cost; schemas come out of spans, so nobody vouches for them.

Invariants: nothing is ever fetched; a pattern is matched in a time in proportion to its size and its text's, or its schema
can't be used; before a value is checked, the steps that this can take at most are estimated, and beyond `MAX_STEPS` (about
50 ms) it is not checked. All other threads wait meanwhile: the library keeps the interpreter's lock.

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
ALL_ERRORS_STEPS = 50_000  # beyond them the first error alone is told: each may be one, and takes 11 microseconds
TEXT_STEP = 100  # characters that are read in the time of one step where no pattern is
# Of the patterns of a schema, references written out: compiled, and what each remembers while it reads.
MAX_PATTERN_BYTES = 2**22
PATTERN_SIZES = tuple(2**power for power in range(9, 20))  # of one; `^.{1,255}$` takes 340 KB, a UUID's pattern 3
PATTERN_MEMORY = 2**15
# `[ab]*a[ab]{n}c` takes 65 to 130 nanoseconds a character and KiB, whatever n is; one step takes 25.
STEPS_OF_KIB = 5
PART_BYTES = 400  # of a compiled schema's part; measured
DEFINITIONS = ("$defs", "definitions")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class UnusableSchemaError(ValueError):
    """A schema that can't be used: invalid, with a remote reference, or too expensive. `str()` holds none of it."""


class Weight(msgspec.Struct, frozen=True):
    """What a schema holds, references written out: its parts, the ways that lead from one level of a recursion to the next,
    and its patterns with the bytes that they take and the steps that they need for one character.
    """

    parts: int = 0
    ways: int = 0
    pattern_bytes: int = 0
    character_steps: int = 0

    def __add__(self, other: "Weight") -> "Weight":
        """Of both."""
        return Weight(
            self.parts + other.parts,
            self.ways + other.ways,
            self.pattern_bytes + other.pattern_bytes,
            self.character_steps + other.character_steps,
        )


class Compiled(msgspec.Struct, frozen=True):
    """A validator and the weight of its schema."""

    validator: Any
    weight: Weight

    @property
    def size_bytes(self) -> int:
        """Memory, estimated."""
        return PART_BYTES * self.weight.parts + self.weight.pattern_bytes

    def errors(self, value: Any) -> tuple[tuple[str, tuple[str | int, ...]], ...] | None:
        """(keyword, place) of every error, of a large value's the first one; None where checking would cost too much.
        Raises ValueError for what is no JSON.
        """
        size, characters, depth = _measure(value)
        weight = self.weight
        steps = size * weight.parts + characters * weight.character_steps
        for _ in range(depth if weight.ways > 1 else 0):
            steps *= weight.ways
            if steps > MAX_STEPS:
                break
        if steps > MAX_STEPS:
            return None
        if self.validator.is_valid(value):
            return ()
        errors = self.validator.iter_errors(value) if size * weight.parts <= ALL_ERRORS_STEPS else self._first(value)
        return tuple((error.kind.name, tuple(error.instance_path)) for error in errors)

    def _first(self, value: Any) -> tuple[Any, ...]:
        import jsonschema_rs  # noqa: PLC0415 - as below

        try:
            self.validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return (error,)
        return ()


def compile_schema(schema: Any) -> Compiled:
    """Raises UnusableSchemaError."""
    import jsonschema_rs  # noqa: PLC0415 - 14 MB that most processes never need

    weight = _Unrolled(schema).measured()
    try:
        validator = jsonschema_rs.validator_for(
            schema,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(PATTERN_SIZES[-1], PATTERN_MEMORY),
        )
    except (ValueError, TypeError, jsonschema_rs.ReferencingError):
        raise UnusableSchemaError("it is no valid JSON Schema, or refers to something outside of it") from None
    return Compiled(validator, weight)


def _measure(value: Any) -> tuple[int, int, int]:
    """Parts of a value, long texts by their length; characters of its texts, names among them; and its depth."""
    size, characters, depth, level = 0, 0, 0, [value]
    while level:
        depth += 1
        inner: list[Any] = []
        for item in level:
            size += 1
            if isinstance(item, str):
                size += len(item) // TEXT_STEP
                characters += len(item)
            elif isinstance(item, dict):
                inner.extend(item.values())
                characters += sum(len(key) for key in item if isinstance(key, str))
            elif isinstance(item, list | tuple):
                inner.extend(item)
        level = inner
    return size, characters, depth


def _pattern_weight(pattern: str) -> Weight:
    """Of one pattern, by the least of the sizes that it compiles within; of one that does in none, nothing: its schema can't
    be used.
    """
    import jsonschema_rs  # noqa: PLC0415 - as above

    for size in PATTERN_SIZES:
        try:
            jsonschema_rs.validator_for(
                {"pattern": pattern}, offline=True, pattern_options=jsonschema_rs.RegexOptions(size, PATTERN_MEMORY)
            )
        except ValueError:
            continue
        return Weight(0, 0, size + PATTERN_MEMORY, 1 + STEPS_OF_KIB * size // 2**10)
    return Weight()


class _Unrolled:
    """Counts a schema's parts as a validator meets them, behind each reference the whole of what it names, and the
    references that lead back to where one has come from.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._counts: dict[int, Weight] = {}
        self._open: set[int] = set()

    def measured(self) -> Weight:
        """Raises UnusableSchemaError beyond the limits."""
        try:
            size = len(msgspec.json.encode(self._schema))
        except (TypeError, ValueError, RecursionError):
            raise UnusableSchemaError("it is not JSON") from None
        if size > MAX_SCHEMA_BYTES:
            raise UnusableSchemaError(f"it has more than {MAX_SCHEMA_BYTES} bytes")
        return self._count(self._schema, MAX_SCHEMA_DEPTH)

    def _count(self, part: Any, depth: int) -> Weight:
        if not isinstance(part, dict | list):
            return Weight(1)
        if depth < 0:
            raise UnusableSchemaError(f"it is nested deeper than {MAX_SCHEMA_DEPTH} levels, references written out")
        known = self._counts.get(id(part))
        if known is not None:
            return known
        if id(part) in self._open:
            return Weight(1, 1)
        self._open.add(id(part))
        # Definitions count where something refers to them.
        items = [part[key] for key in part if key not in DEFINITIONS] if isinstance(part, dict) else part
        count = Weight(1)
        for item in items:
            count = self._sum(count, self._count(item, depth - 1))
        if isinstance(part, dict):
            for pattern in _patterns(part):
                count = self._sum(count, _pattern_weight(pattern))
            for key in REFERENCES:
                if isinstance(part.get(key), str):
                    count = self._sum(count, self._behind(part[key], depth))
            # What these leave over is found by checking their neighbours once more, on each level.
            for key in ("unevaluatedProperties", "unevaluatedItems"):
                count = self._sum(count, count) if key in part else count
        self._open.discard(id(part))
        self._counts[id(part)] = count
        return count

    @staticmethod
    def _sum(count: Weight, more: Weight) -> Weight:
        """Both; raises as soon as they are too much, so that no time is spent on the rest."""
        both = count + more
        if max(both.parts, both.ways) > MAX_UNROLLED:
            raise UnusableSchemaError(f"it has more than {MAX_UNROLLED} parts, references written out")
        if both.pattern_bytes > MAX_PATTERN_BYTES:
            raise UnusableSchemaError(f"its patterns take more than {MAX_PATTERN_BYTES} bytes, references written out")
        return both

    def _behind(self, reference: str, depth: int) -> Weight:
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


def _patterns(part: dict[str, Any]) -> list[str]:
    """The patterns that stand in one part of a schema."""
    named = part.get("patternProperties")
    own = part.get("pattern")
    return [
        *([own] if isinstance(own, str) else []),
        *(key for key in (named if isinstance(named, dict) else ()) if isinstance(key, str)),
    ]
