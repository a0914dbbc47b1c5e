"""The tool registry as it is written: every fault at once, each with its place and remedy."""

import os
from pathlib import Path

import pytest
from lanewatch.config import files as config_files
from lanewatch.config.loading import ConfigFaults, load_config
from lanewatch.monitors.contracts import Rule
from lanewatch.monitors.tools import Risk
from lanewatch.rules import rules_of

FULL = """
[tools.refund]
aliases = ["issue_refund", "shop.refund_v2"]
arguments = { type = "object", required = ["order"], properties = { order = { type = "string" } } }
result = '{"type": "object"}'
risk = "destructive"
owner = "payments"
volatile = ["$.request_id"]
sensitive = ["$.card.number"]
normalise = { "$.date" = "iso_date", "$.items[*].sku" = "case", "$['odd name']" = "set" }
retriever = { documents = "payload.hits" }
errors = [{ path = "$.status", values = ["declined"] }, { path = "$.error" }]
"""


def faults(folder: Path, text: str) -> list[str]:
    """Every fault of a file, as printed."""
    path = folder / "lanewatch.toml"
    path.write_text(text)
    try:
        load_config(path, {})
    except ConfigFaults as error:
        return [str(fault) for fault in error.faults]
    return []


def test_an_entry_says_everything_that_is_known_of_a_tool(tmp_path: Path) -> None:
    """Each key of the entry arrives in the registry."""
    (tmp_path / "c.toml").write_text(FULL)
    rules = rules_of(load_config(tmp_path / "c.toml", {}))
    tool = rules.registry.find("Shop-Refund")
    issued = rules.registry.find("issue-refund")

    assert tool is not None
    assert tool is issued
    assert (tool.risk, tool.owner, tool.sensitive) == (Risk.DESTRUCTIVE, "payments", (("card", "number"),))
    assert tool.contract.rules == {
        ("request_id",): Rule.VOLATILE,
        ("date",): Rule.ISO_DATE,
        ("items", None, "sku"): Rule.CASE,
        ("odd name",): Rule.SET,
    }
    assert tool.arguments is not None
    assert (tool.arguments["required"], tool.result) == (["order"], {"type": "object"})
    assert [error.fits({"status": "declined"}) for error in tool.errors] == [True, False]
    assert rules.retrievers["issuerefund"].documents == ("payload", "hits")


@pytest.mark.parametrize("name", ["tools.toml", "tools.json"])
def test_the_registry_may_stand_in_a_file_of_its_own(tmp_path: Path, name: str) -> None:
    """Relative to the configuration; the version is that of the same entries written in place."""
    own = '[tools.pay]\nrisk = "write"\n' if name.endswith("toml") else '{"tools": {"pay": {"risk": "write"}}}'
    (tmp_path / name).write_text(own)
    (tmp_path / "c.toml").write_text(f'[registry]\npath = "{name}"\n')
    (tmp_path / "d.toml").write_text('[tools.pay]\nrisk = "write"\n')
    apart, within = (rules_of(load_config(tmp_path / file, {})).registry for file in ("c.toml", "d.toml"))

    assert [tool.name for tool in apart.tools] == ["pay"]
    assert apart.version == within.version


def test_the_version_follows_the_entries(tmp_path: Path) -> None:
    """Order means nothing, any change of an entry does."""
    versions = []
    for text in (
        '[tools.a]\nowner = "x"\n[tools.b]\n',
        '[tools.b]\n[tools.a]\nowner = "x"\n',
        '[tools.a]\nowner = "y"\n[tools.b]\n',
        '[tools.a]\nowner = "x"\nvolatile = ["$.t"]\n[tools.b]\n',
    ):
        (tmp_path / "c.toml").write_text(text)
        versions.append(rules_of(load_config(tmp_path / "c.toml", {})).registry.version)

    assert versions[0] == versions[1]
    assert len(set(versions)) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tools = 1\n", "tools: the value is an integer, not a table; write [tools.NAME]"),
        ("[tools]\nrefund = 1\n", "tools.refund: the value is an integer, not a table; write it as a table"),
        ("[tools.a]\nalias = []\n", "tools.a.alias: no such key; did you mean aliases?"),
        (
            '[tools.a]\nrisk = "high"\n',
            'tools.a.risk: the value is text that is not allowed there; set one of "read", ',
        ),
        (
            '[tools.a]\nvolatile = ["id"]\n',
            "tools.a.volatile: the value is an array with something wrong at 0; ",
        ),
        ('[tools.a]\nvolatile = ["$.a["]\n', "tools.a.volatile: the value is an array with something wrong"),
        ('[tools.a]\nnormalise = { "$.a" = "date" }\n', "tools.a.normalise: the value is a table with"),
        ('[tools.a]\narguments = "{"\n', "tools.a.arguments: the value is text that is not allowed there; set a JSON"),
        ("[tools.a]\narguments = { d = 2026-01-01 }\n", "tools.a.arguments: the value is a table that is not allowed"),
        (
            "[tools.a]\narguments = { type = 'text' }\n",
            "tools.a.arguments: the schema can't be used: it is no valid JSON Schema",
        ),
        (
            "[tools.a]\nresult = { '$ref' = 'http://127.0.0.1:9/schema' }\n",
            "tools.a.result: the schema can't be used: it is no valid JSON Schema, or refers to something outside of it;",
        ),
        ("[tools.a]\nretriever = false\n", "tools.a.retriever: the value is a boolean that is not allowed"),
        ("[tools.a]\nerrors = [{}]\n", "tools.a.errors: the value is an array with something wrong at 0.path"),
        (
            '[tools.a]\naliases = ["go"]\n[tools.b]\naliases = ["GO"]\n',
            'tools.b: its alias "GO" is one of tools.a too (case and punctuation don\'t count); give each tool names',
        ),
        ('[tools.a]\naliases = ["b"]\n[tools.b]\n', 'tools.b: its name "b" is one of tools.a too'),
        ('[registry]\npath = "none.toml"\n', "registry.path: the file can't be read (No such file or directory); "),
        ("[toolz]\n", "toolz: no such section; did you mean tools?"),
    ],
)
def test_a_fault_names_place_kind_and_remedy(tmp_path: Path, text: str, expected: str) -> None:
    """One faulty entry, one fault."""
    (found,) = faults(tmp_path, text)

    assert found.startswith(expected)


def test_all_faults_are_told_at_once_and_none_repeats_a_value(tmp_path: Path) -> None:
    """Of settings, of several entries, and of the registry's own file."""
    canary = "canary-77aa"
    (tmp_path / "own.toml").write_text(f'[tools.c]\nrisk = "{canary}"\n[policy]\n')
    text = f'[registry]\npath = "own.toml"\n[metrics]\nprt = 1\n[tools.a]\nrisk = "{canary}"\nowner = 1\n'
    found = faults(tmp_path, f'{text}[tools.b]\narguments = "{canary}"\n')

    assert [fault.split(": ")[0] for fault in found] == [
        "metrics.prt",
        "tools.a.risk",
        "tools.a.owner",
        "tools.b.arguments",
        "registry.path",
        "registry.path",
    ]
    assert canary not in "".join(found)


@pytest.mark.parametrize("text", ["[tools.a", "[]", "\udcff", '{"tools": 1}'])
def test_a_broken_registry_file_is_a_fault_and_no_error(tmp_path: Path, text: str) -> None:
    """Whatever it holds."""
    (tmp_path / "own.json").write_bytes(text.encode("utf-8", "surrogateescape"))

    assert len(faults(tmp_path, '[registry]\npath = "own.json"\n')) == 1


def test_a_registry_file_that_is_a_pipe_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a pipe that nobody writes into would wait for ever."""
    monkeypatch.setattr(config_files, "PIPE_SECONDS", 0.01)
    os.mkfifo(tmp_path / "own.toml")

    (found,) = faults(tmp_path, '[registry]\npath = "own.toml"\n')

    assert found.startswith("registry.path: the file can't be read")


def test_a_key_that_stands_twice_in_json_is_a_fault(tmp_path: Path) -> None:
    """Of two entries for one tool the first would go without a word, as no TOML file can have it."""
    (tmp_path / "own.json").write_text('{"tools": {"a": {"owner": "x"}, "a": {"owner": "y"}}}')

    assert faults(tmp_path, '[registry]\npath = "own.json"\n') == [
        "registry.path: a: the key stands there twice; keep one of the two"
    ]


def test_a_schema_is_bounded_in_bytes_and_depth(tmp_path: Path) -> None:
    """A schema is compiled: what one may cost is bounded before."""
    deep = '{"items": ' * 120 + "{}" + "}" * 120
    long = '{"title": "' + "x" * 300_000 + '"}'

    assert len(faults(tmp_path, f"[tools.a]\narguments = '{deep}'\n[tools.b]\narguments = '{long}'\n")) == 2
