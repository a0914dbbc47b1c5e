"""How much of one request is read, and the error for a body that is no request at all."""

import msgspec


class DecodeLimits(msgspec.Struct, frozen=True):
    """Bounds of what a request may turn into. What is left out is counted, item by item or in `dropped_attributes`."""

    max_spans_per_request: int = 50_000  # log records alike; the rest is rejected
    max_attributes: int = 1024  # of a span, event, link, log record, resource or scope; the rest is dropped
    max_depth: int = 32  # of arrays and maps in a value; what is nested deeper becomes "<too deep>"
    max_value_bytes: int = 1 << 20  # of a string or bytes value; the rest is cut off. Agents' messages are long
    max_events: int = 1024  # of a span; the rest is dropped
    max_links: int = 1024  # of a span; the rest is dropped
    # Attributes and elements of arrays and maps, all of the request's together (fewer for a small request: `Harvest`).
    # Two bytes on the wire can become a hundred in memory, so bytes alone bound nothing.
    max_values: int = 1_000_000
    # The same of one item, resource or scope; also the fields of any one message. A hundred vectors of 1,536 numbers
    # (the embeddings of a batch) are within it, and what it lets pass is at most about 25 MB.
    max_item_values: int = 250_000
    # Work after which decoding gives up with `Overwork`, for whoever must not be held up; 0 is no limit. One unit is about two
    # microseconds at the worst: a value, a span that nobody knows; eight of them a span or log record that is read.
    max_work: int = 0


class Overwork(Exception):  # noqa: N818 - a verdict on the body
    """The body is made of so many parts that it passes `max_work`. Nothing is wrong with it."""


class Undecodable(Exception):  # noqa: N818 - a verdict on the body
    """The body as a whole is no OTLP export request. The message says in what way, and quotes nothing of it."""
