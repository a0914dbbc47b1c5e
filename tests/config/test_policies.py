"""Policies and prices as they are written: every fault at once, each with its place and remedy."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.config.faults import Fault
from lanewatch.config.loading import ConfigFaults, load_config
from lanewatch.config.policies import PolicyEntry, PriceEntry, read_policies
from lanewatch.config.tables import read_named
from lanewatch.config.tools import ToolEntry, read_tools
from lanewatch.monitors.policies import Budget, CallLimit, Criticality, Documents, Forbidden, Order, Paths
from lanewatch.monitors.policies.case import Scope
from lanewatch.rules import rules_of, summary

KEYS = st.sampled_from(
    [*ToolEntry.model_fields, *PolicyEntry.model_fields, "tools", "before", "after", "at_most", "path"]
)
HEAD = 'requirement = "r"\nlane = "tools"\nowner = "o"\n'


def written(name: str, kind: str, rest: str) -> str:
    """One policy."""
    return f'[[policies]]\nname = "{name}"\nkind = "{kind}"\n{HEAD}{rest}\n'


ALL = (
    written("a", "forbidden", 'tools = ["x"]\nunless = ["admin"]\nservices = ["shop"]\ncriticality = "critical"')
    + written("b", "order", 'before = "x"\nafter = "y"\nsame = "id"\nper = "session"')
    + written("c", "call_limit", 'tools = ["x"]\nat_most = 1\nper = "session"')
    + written("d", "paths", 'any_of = [["x", "y"], ["z"]]\nwhen = ["x"]')
    + written("e", "documents", 'ids = ["P-104"]')
    + written("f", "budget", 'fact = "dollars"\nat_most = 0.5')
    + '[prices."m/1"]\ninput = 2\noutput = 10.5\n'
)


def faults(folder: Path, text: str) -> list[str]:
    """Every fault of a file, as printed."""
    (folder / "c.toml").write_text(text)
    try:
        load_config(folder / "c.toml", {})
    except ConfigFaults as error:
        return [str(fault) for fault in error.faults]
    return []


def test_every_kind_of_policy_arrives_with_all_that_it_says(tmp_path: Path) -> None:
    """And prices by the model's exact name."""
    (tmp_path / "c.toml").write_text(ALL)
    config = load_config(tmp_path / "c.toml", {})
    rules = rules_of(config)

    assert [policy.rule for policy in rules.policies] == [
        Forbidden(("x",), ("admin",)),
        Order("x", "y", "id", Scope.SESSION),
        CallLimit(("x",), 1, Scope.SESSION),
        Paths((("x", "y"), ("z",)), ("x",)),
        Documents(("P-104",)),
        Budget("dollars", 0.5),
    ]
    assert (rules.policies[0].criticality, rules.policies[0].services) == (Criticality.CRITICAL, ("shop",))
    assert (rules.prices["m/1"].input, rules.prices["m/1"].output) == (2, 10.5)
    assert summary(config) == [f"Policies: 6 policies, version {rules.policy_version}."]


def test_the_version_follows_policies_and_prices(tmp_path: Path) -> None:
    """A verdict names what it was judged by."""
    versions = []
    for text in (ALL, ALL.replace("10.5", "11"), ALL.replace('owner = "o"', 'owner = "p"')):
        (tmp_path / "c.toml").write_text(text)
        versions.append(rules_of(load_config(tmp_path / "c.toml", {})).policy_version)

    assert len(set(versions)) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("policies = 1\n", "policies: the value is an integer, not an array; write [[policies]]"),
        ("policies = [1]\n", "policies[1]: the value is an integer, not a table; write it as a table"),
        (written("a", "forbid", ""), "policies.a.kind: no such kind; did you mean forbidden?"),
        (written("a", "forbidden", ""), "policies.a.tools: it is not set; set an array of at least one name"),
        (written("a", "forbidden", "tools = []"), "policies.a.tools: the value is an array that is not allowed there;"),
        (
            written("a", "forbidden", 'tools = ["x"]').replace('"tools"', '"tool"'),
            'policies.a.lane: the value is text that is not allowed there; set one of "retrieval", "generation", "tools"',
        ),
        (
            written("a b", "forbidden", 'tools = ["x"]'),
            "policies[1].name: the value is text that is not allowed there;",
        ),
        (written("a", "forbidden", 'tools = ["x"]\ntool = "x"'), "policies.a.tool: no such key; did you mean tools?"),
        (written("a", "call_limit", 'tools = ["x"]\nat_most = -1'), "policies.a.at_most: the value is an integer that"),
        (
            written("a", "budget", 'fact = "token"\nat_most = 1'),
            "policies.a.fact: the value is text that is not allowed",
        ),
        (written("a", "paths", "any_of = [[]]"), "policies.a.any_of: the value is an array with something wrong at 0;"),
        (
            written("a", "documents", 'ids = ["x"]') * 2,
            "policies.a: another policy has this name; give each a name of its own",
        ),
        ("[prices.m]\ninput = 1\n", "prices.m.output: it is not set; set a number from 0 to 1000000"),
        (
            written("a", "order", 'before = "x"\nafter = "x"'),
            "policies.a: the rules of order a lead back to where they begin; take one of them out",
        ),
        (
            '[tools.x]\naliases = ["ex"]\n'
            + written("a", "order", 'before = "x"\nafter = "y"')
            + written("b", "order", 'before = "y"\nafter = "EX"'),
            "policies.a: the rules of order a, b lead back to where they begin",
        ),
    ],
)
def test_a_fault_names_place_kind_and_remedy(tmp_path: Path, text: str, expected: str) -> None:
    """One faulty policy, one fault; a circle is told once, through aliases too."""
    (found,) = faults(tmp_path, text)

    assert found.startswith(expected)


def test_orders_of_different_services_make_no_circle(tmp_path: Path) -> None:
    """No trace has to keep both."""
    one = written("a", "order", 'before = "x"\nafter = "y"\nservices = ["s"]')
    other = written("b", "order", 'before = "y"\nafter = "x"\nservices = ["t"]')

    assert faults(tmp_path, one + other) == []
    assert len(faults(tmp_path, one + other.replace('["t"]', "[]"))) == 1


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    """Of settings, tools, policies and prices together, and none repeats a value."""
    text = (
        "[metrics]\nprt = 1\n[tools.a]\narguments = { type = 'text' }\naliases = ['z']\n[tools.z]\n"
        + written("p", "nokind", "").replace('"tools"', '"canary-1"')
        + written("q", "order", 'before = "x"\nafter = "x"')
        + "[prices.m]\ninput = 'canary-2'\noutput = 1\n"
    )
    found = faults(tmp_path, text)

    assert [fault.split(": ")[0] for fault in found] == [
        "metrics.prt",
        "tools.z",
        "tools.a.arguments",
        "policies.p.kind",
        "policies.p.lane",
        "policies.q",
        "prices.m.input",
    ]
    assert "canary" not in "".join(found)


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["budget", "order"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


@given(ANY, ANY, ANY)
def test_whatever_is_written_is_read_or_a_fault_and_never_an_error(
    tools: object, policies: object, prices: object
) -> None:
    """A configuration is written by hand."""
    faults: list[Fault] = []
    entries = read_tools(tools, None, faults)
    read_policies(policies, entries, faults)
    read_named(PriceEntry, prices, "prices", faults)

    assert all(str(fault).isprintable() for fault in faults)


@pytest.mark.parametrize("key", ["arguments", "errors", "retriever"])
def test_what_is_nested_too_deeply_is_a_fault(key: str) -> None:
    """As a table or as text."""
    deep: object = {}
    for _ in range(5_000):
        deep = {"items": deep}
    faults: list[Fault] = []
    read_tools({"a": {key: deep}, "b": {key: '{"items": ' * 5_000}}, None, faults)

    assert {fault.where.split(".")[1] for fault in faults} == {"a", "b"}


def test_a_tool_that_no_entry_has_is_warned_of(tmp_path: Path) -> None:
    """A slip of the pen would make a policy that is always kept. An alias and a server's prefix are no slips."""
    path = tmp_path / "lanewatch.toml"
    rules = (
        written("known", "forbidden", 'tools = ["Refund", "shop.refund", "issue-refund"]')
        + written("slip", "order", 'before = "refnd"\nafter = "refund"')
        + written("far", "paths", 'any_of = [["wipe"]]')
    )
    path.write_text('[tools.refund]\naliases = ["issue_refund"]\n' + rules)

    assert load_config(path, {}).warnings() == [
        'policies.slip names the tool "refnd", which no entry has. Did you mean refund?',
        'policies.far names the tool "wipe", which no entry has. Register it, or take it out.',
    ]


def test_without_a_registry_no_tool_is_warned_of(tmp_path: Path) -> None:
    """Policies may do without one."""
    path = tmp_path / "lanewatch.toml"
    path.write_text(written("p", "forbidden", 'tools = ["wipe"]'))

    assert load_config(path, {}).warnings() == []
