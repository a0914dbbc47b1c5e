"""What the identity behind a trace may do, as its spans tell: roles and scopes of the end user.

Invariant: where spans of one trace tell of different identities, nothing is known of the trace's.
"""

from typing import Any

from lanewatch.collector.spans import Trace

# https://opentelemetry.io/docs/specs/semconv/registry/attributes/user/ and .../enduser/ (deprecated, and what is in use).
ROLES, ROLE, SCOPE = "user.roles", "enduser.role", "enduser.scope"
MOST = 200  # roles and scopes of one identity


def scopes_of(trace: Trace) -> tuple[str, ...] | None:
    """Roles and scopes together, in order; None where no span tells, or spans tell otherwise than others."""
    told: set[tuple[str, ...]] = set()
    seen: set[int] = set()  # a resource is one object for many spans
    for span in trace.spans:
        for attributes in (span.attributes, span.resource.attributes):
            if ROLES in attributes or ROLE in attributes or SCOPE in attributes:
                if id(attributes) in seen:
                    continue
                seen.add(id(attributes))
                names = [name for key in (ROLES, ROLE, SCOPE) if key in attributes for name in _names(attributes[key])]
                told.add(tuple(sorted(dict.fromkeys(names))[:MOST]))
    return told.pop() if len(told) == 1 else None


def _names(value: Any) -> list[str]:
    """An array of names, or text with a space or comma between them, as OAuth writes scopes."""
    if isinstance(value, str):
        return value.replace(",", " ").split()
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
