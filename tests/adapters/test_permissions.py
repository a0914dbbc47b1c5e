"""Roles and scopes of the identity behind a trace, as spans tell them."""

from typing import Any

import pytest
from lanewatch.adapters.permissions import scopes_of

from tests.adapters.spans import agent, chat, trace


def _with(**attributes: Any) -> Any:
    told = {key.replace("__", "."): value for key, value in attributes.items()}
    return chat("model", under="agent", extra=told)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"user__roles": ["admin", "buyer"]}, ("admin", "buyer")),
        ({"enduser__scope": "payments:write payments:read"}, ("payments:read", "payments:write")),
        ({"enduser__role": "admin", "enduser__scope": "a,b"}, ("a", "admin", "b")),
        ({"user__roles": []}, ()),
        ({"user__id": "u-1"}, None),
        ({}, None),
    ],
)
def test_roles_and_scopes_are_read(attributes: Any, expected: Any) -> None:
    """No roles at all are told apart from roles that nobody tells."""
    assert scopes_of(trace(agent(), _with(**attributes))) == expected


def test_spans_that_tell_of_two_identities_tell_nothing() -> None:
    """Who of them called the tool is not known then."""
    other = chat("other", under="agent", extra={"user.roles": ["buyer"]})

    assert scopes_of(trace(agent(), _with(user__roles=["admin"]), other)) is None
