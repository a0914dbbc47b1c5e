"""OTLP's attributes and AnyValues as plain Python, from their protobuf form.

Invariants: of a repeated key the first value counts; what is cut, too deep, over a limit, or another value of a key is
counted as lost; no nesting is followed deeper than `max_depth`; invalid UTF-8 becomes replacement characters; an empty
value is None. `DecodeError` is raised for bytes that are no such message.
"""

from lanewatch.collector.content import inner_bytes
from lanewatch.collector.harvest import TOO_DEEP, TOO_LARGE, Harvest
from lanewatch.collector.spans import Attributes, AttributeValue
from lanewatch.collector.wire import DecodeError, Message, Parse, has_more_fields, lenient

MOST_KEYS, LONGEST_KEY = 4096, 128  # half a megabyte


class Keys(dict[str, str]):
    """Keys of attributes, each as one object for all spans: they come again with every span, and whoever looks through those
    of thousands of spans finds them in the processor's cache. When there are too many all are forgotten.
    """

    def __missing__(self, key: str) -> str:
        if len(key) > LONGEST_KEY:
            return key
        if len(self) >= MOST_KEYS:
            self.clear()
        self[key] = key
        return key


_keys = Keys()


def read_with_attributes(raw: bytes, plain: Parse, careful: Parse, harvest: Harvest) -> tuple[Message, Attributes]:
    """A message and its attributes, by the quick way where nothing about it is unusual.

    `plain` and `careful` parse the same message, by the schema of that name; the text fields of what is returned are
    str or bytes accordingly (`text`). Raises `DecodeError` also for a message of more than `max_item_values` fields.
    """
    before = harvest.lost, harvest.values_left, harvest.inner_bytes
    if len(raw) <= harvest.limits.max_value_bytes:
        try:
            message = plain(raw)
            attributes = _plain_attributes(message.attributes, harvest)
        except DecodeError:
            attributes = None
        if attributes is not None:
            return message, attributes
        harvest.lost, harvest.values_left, harvest.inner_bytes = before
    if has_more_fields(raw, harvest.limits.max_item_values):
        raise DecodeError
    message = careful(raw)
    return message, read_attributes(message.attributes, harvest)


def _plain_attributes(pairs: Message, harvest: Harvest) -> Attributes | None:
    """None where they need care: too many, or a key twice."""
    n = len(pairs)
    if n > harvest.limits.max_attributes or n > harvest.values_left:
        return None
    # Spent before what is in them spends the rest: less than nothing left would be read as all but a few.
    harvest.values_left -= n
    # Most values are non-empty strings and integers; what is false in Python is told apart by `read_value`.
    attributes = {
        _keys[pair.key]: (value := pair.value).string_value or value.int_value or read_value(value, harvest)
        for pair in pairs
    }
    return attributes if len(attributes) == n else None


def read_attributes(pairs: Message, harvest: Harvest, depth: int = 0) -> Attributes:
    """KeyValues of either schema as a dict. `depth` counts the arrays and maps around them."""
    attributes: Attributes = {}
    limit = None if depth else harvest.limits.max_attributes
    for pair in pairs[: harvest.spend(len(pairs), limit)]:
        value = read_value(pair.value, harvest, depth)
        first = attributes.setdefault(harvest.text(pair.key), value)
        if first is not value and first != value:
            harvest.lost += 1
    return attributes


def read_value(value: Message, harvest: Harvest, depth: int = 0) -> AttributeValue:
    """An AnyValue of either schema. `depth` counts the arrays and maps around it."""
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return harvest.text(value.string_value)
    if kind in {"array_value", "kvlist_value"}:
        return _read_nested(kind, value, harvest, depth + 1)
    if kind == "bytes_value":
        return harvest.cut_bytes(value.bytes_value)
    return kind and getattr(value, kind)


def _read_nested(kind: str, value: Message, harvest: Harvest, depth: int) -> AttributeValue:
    if depth > harvest.limits.max_depth:
        harvest.lost += 1
        return TOO_DEEP
    raw = getattr(value, kind)
    if has_more_fields(raw, harvest.limits.max_item_values):
        harvest.lost += 1
        return TOO_LARGE
    if kind == "kvlist_value":
        pairs = read_attributes(lenient.map(raw).values, harvest, depth)
        harvest.inner_bytes += inner_bytes(pairs, depth)
        return pairs
    elements = lenient.array(raw).values
    values = [read_value(element, harvest, depth) for element in elements[: harvest.spend(len(elements))]]
    harvest.inner_bytes += inner_bytes(values, depth)
    return values
