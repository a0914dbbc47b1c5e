"""Contracts: what they excuse, at their own paths alone, and that nothing is excused without one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.monitors.contracts import EXACT, Contract, Rule, contract_differences, place_of
from lanewatch.monitors.differences import MISSING, differences

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def found(rules: dict[str, Rule], a: Any, b: Any) -> list[tuple[str, Any, Any]]:
    """Differences by these rules."""
    contract = Contract({place_of(path): rule for path, rule in rules.items()})
    return list(contract_differences(contract, a, b))


@given(JSON, JSON)
def test_without_rules_or_with_rules_elsewhere_comparison_is_exact(a: Any, b: Any) -> None:
    """A rule at a path that neither value has changes nothing."""
    exact = list(differences(a, b))

    assert list(contract_differences(EXACT, a, b)) == exact
    assert found({"$.zzz": Rule.VOLATILE}, a, b) == exact


@given(JSON, JSON)
def test_volatile_at_the_top_excuses_everything(a: Any, b: Any) -> None:
    """`$` is the whole of the arguments."""
    assert found({"$": Rule.VOLATILE}, a, b) == []


@pytest.mark.parametrize(
    ("rule", "a", "b"),
    [
        (Rule.ISO_DATE, "2026-01-02", "20260102"),
        (Rule.ISO_DATE, "2026-01-02T00:00:00", "2026-01-02"),
        (Rule.ISO_DATE, "2026-01-02T01:00:00+01:00", "2026-01-02T00:00:00Z"),
        (Rule.CASE, "EUR", "eur"),
        (Rule.NUMBER, "100", 100),
        (Rule.NUMBER, "100.50", 100.5),
        (Rule.SET, ["a", "b", "a"], ["b", "a"]),
        (Rule.VOLATILE, 1, {"x": 2}),
        (Rule.VOLATILE, 1, MISSING),
    ],
)
def test_a_rule_excuses_another_spelling(rule: Rule, a: Any, b: Any) -> None:
    """The same value by the tool's contract, and another without it."""
    left, right = ({key: value for key, value in (("v", v),) if value is not MISSING} for v in (a, b))

    assert found({"$.v": rule}, left, right) == []
    assert len(found({}, left, right)) >= 1


@pytest.mark.parametrize(
    ("rule", "a", "b"),
    [
        (Rule.ISO_DATE, "2026-01-02", "2026-01-03"),
        (Rule.ISO_DATE, "2026-01-02T10:00:00", "2026-01-02"),
        (Rule.ISO_DATE, "2026-01-02T00:00:00Z", "2026-01-02T00:00:00"),  # an instant, and a time of unknown offset
        (Rule.ISO_DATE, "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59-23:58"),
        (Rule.ISO_DATE, "soon", "later"),
        (Rule.CASE, "EUR", "USD"),
        (Rule.CASE, 1, 2),
        (Rule.NUMBER, "100", 101),
        (Rule.NUMBER, "1e400", 0),
        (Rule.NUMBER, True, 1),
        (Rule.SET, ["a"], ["a", "b"]),
        (Rule.SET, [1], [True]),
        (Rule.CASE, "x", MISSING),
    ],
)
def test_a_rule_excuses_no_other_value(rule: Rule, a: Any, b: Any) -> None:
    """The difference is told with the values as they were."""
    left, right = ({key: value for key, value in (("v", v),) if value is not MISSING} for v in (a, b))

    assert found({"$.v": rule}, left, right) == [("$.v", a, b)]


def test_a_rule_holds_for_every_item_of_an_array_and_nowhere_else() -> None:
    """`[*]` is any item; a key that is called so is none."""
    a = {"items": [{"sku": "A", "n": "x"}, {"sku": "B", "n": "x"}]}
    b = {"items": [{"sku": "a", "n": "X"}, {"sku": "c", "n": "x"}]}

    assert found({"$.items[*].sku": Rule.CASE}, a, b) == [("$.items[0].n", "x", "X"), ("$.items[1].sku", "B", "c")]
    assert len(found({"$.items[*]": Rule.CASE}, {"items": {"[*]": "A"}}, {"items": {"[*]": "a"}})) == 1


@pytest.mark.parametrize("path", ["", "a", "$a", "$.", "$.a b", "$[0]", "$['a\\'']", "$.a["])
def test_what_is_no_path_is_refused(path: str) -> None:
    """The grammar is small on purpose."""
    with pytest.raises(ValueError, match="not a path"):
        place_of(path)
