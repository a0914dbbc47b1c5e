"""What manifests and documents name exists in the code: settings, variables, metrics, commands, flags, paths, ports."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer
from lanewatch.cli.main import app
from lanewatch.collector.outcomes import RefusalReason
from lanewatch.config.loading import Config, load_config
from lanewatch.config.reference import describe, sections
from lanewatch.sidecar.content_switches import STACKS

from docs.build import ALERTS_PAGE, PAGES, built, metrics
from tests.deploy.manifests import DEPLOY, ROOT
from tests.deploy.rule_files import RULES

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    DEPLOY / "prometheus" / "runbook.md",
]
MANIFESTS = sorted(
    path
    for path in (*DEPLOY.rglob("*"), ROOT / ".dockerignore")
    if path.is_file() and not path.name.endswith((".test.yml", ".md")) and "files" not in path.parts
)
ALL = [*DOCUMENTS, *MANIFESTS]
ROWS = describe()
SETTINGS = {row.name for row in ROWS} | {f"{row.name}_file" for row in ROWS if row.secret}
# LANEWATCH_OTLP_ENDPOINT and LANEWATCH_REPLICAS are the Collector's configuration's own, LANEWATCH_CONFIG a command's.
VARIABLES = {row.variable for row in ROWS} | {f"{row.variable}_FILE" for row in ROWS if row.secret}
OTHERS = {"LANEWATCH_CONFIG", "LANEWATCH_OTLP_ENDPOINT", "LANEWATCH_REPLICAS"}
RECORDED = {rule.name for rule in RULES if not rule.alert}
SUFFIXES = ("", "_total", "_bucket", "_count", "_sum", "_created")
ids = pytest.mark.parametrize("path", ALL, ids=lambda path: str(path.relative_to(ROOT)))


def text(path: Path) -> str:
    """A file."""
    return path.read_text()


@cache
def exported() -> frozenset[str]:
    """Every metric's name, as the table of docs/metrics.md has it."""
    rows = "\n".join(metrics())
    return frozenset(re.findall(r"^\| `(lanewatch_\w+)`", rows, re.MULTILINE))


@cache
def commands() -> dict[str, set[str]]:
    """Each command with its flags; a group's stand as `group command`."""
    found: dict[str, set[str]] = {"": {"--help", "-h", "--version"}}

    def walk(group: object, before: str) -> None:
        for name, command in getattr(group, "commands", {}).items():
            whole = f"{before} {name}".strip()
            options = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
            found[whole] = {flag for flag in options if flag.startswith("-")} | {"--help"}
            walk(command, whole)

    walk(typer.main.get_command(app), "")
    return found


@cache
def modules() -> frozenset[str]:
    """Names of modules, some of which begin as metrics do in a path."""
    return frozenset(
        path.stem for root in ("collector", "adapters", "monitors") for path in (ROOT / root).rglob("*.py")
    )


def unknown_metrics(written: str) -> set[str]:
    """Names that look like a metric's and are none; a family (`lanewatch_drift_*`) is not one name."""
    known = {f"{name.removesuffix('_total')}{suffix}" for name in exported() for suffix in SUFFIXES}
    families = set(re.findall(r"\b(lanewatch_\w*_)(?:[*{.]|\s|`|\")", written))
    return {
        name
        for name in re.findall(r"\blanewatch_[a-z0-9_]+\b", written)
        if name not in known and name not in families and name.removeprefix("lanewatch_") not in modules()
    }


@ids
def test_every_variable_is_one_that_is_read(path: Path) -> None:
    """Of ours: a mistyped one is a fault that the sidecar does not start with."""
    named = set(re.findall(r"\bLANEWATCH_[A-Z0-9_]+\b", text(path)))
    families = {one for one in named if one.endswith("_") or one == "LANEWATCH_SECTION_KEY"}

    assert named - families - VARIABLES - OTHERS == set()


@ids
def test_every_metric_is_exported_or_recorded(path: Path) -> None:
    """By the table of docs/metrics.md, which is built from the code."""
    assert unknown_metrics(text(path)) == set()
    assert set(re.findall(r"\blanewatch:[a-z0-9]+_[a-z_:0-9]+\b", text(path))) <= RECORDED


@ids
def test_every_setting_is_one(path: Path) -> None:
    """`section.key`, wherever a section's name stands before a dot in code."""
    written = text(path)
    named = {
        f"{section}.{key}"
        for section, key in re.findall(rf"`({'|'.join(sections())})\.([a-z_]+)(?: = [^`]*)?`", written)
    }  # fmt: skip

    assert named - SETTINGS - {"drift.md", "report.py", "metrics.md", "retrieval.md"} == set()


def spoken(written: str) -> Iterator[tuple[str, list[str]]]:
    """(command, its flags) of each `lanewatch COMMAND ...` in code; what a placeholder stands in is left out."""
    code = re.findall(r"`([^`\n]+)`", written) + re.findall(r"```sh\n(.*?)```", written, re.DOTALL)
    for line in "\n".join(code).replace("\\\n", " ").splitlines():
        for said in re.findall(r"(?:^|.*[\s/])lanewatch ([a-z][a-z-]*(?: .*)?)$", line.split(" #")[0].split(" | ")[0]):
            words = said.split()
            for length in (2, 1):
                if " ".join(words[:length]) in commands():
                    yield (
                        " ".join(words[:length]),
                        [one.split("=")[0] for one in words[length:] if one.startswith("--")],
                    )
                    break
            else:
                yield words[0], []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_and_flag_exists(path: Path) -> None:
    """As it would be typed."""
    for command, flags in spoken(text(path)):
        assert command in commands(), command
        assert set(flags) <= commands().get(command, set(flags)), command


def test_the_commands_of_manifests_exist() -> None:
    """What containers, the unit and the health check are started with."""
    named = [
        re.findall(r'"?([a-z-]+)"?', words)[0] if words else ""
        for path in MANIFESTS
        for words in re.findall(r"(?:args|command): \[((?:run|demo)[^\]]*)\]", text(path))
    ]
    flags = {
        flag
        for path in MANIFESTS
        for words in re.findall(r"(?:args|command): \[((?:run|demo)[^\]]*)\]", text(path))
        for flag in re.findall(r"--[a-z-]+", words)
    }
    unit = re.findall(r"/bin/lanewatch (\S+) (--\w+)", text(DEPLOY / "systemd" / "lanewatch.service"))

    assert named
    assert set(named) <= commands().keys()
    assert flags <= commands()["run"] | commands()["demo"]
    assert all(flag in commands()[command] for command, flag in unit)
    assert "health" in commands()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_and_path_leads_somewhere(path: Path) -> None:
    """Links by their file and their section; paths in code as they stand from the root of the repository."""
    written = text(path)
    for target, section in re.findall(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)", written):
        file = (path.parent / target).resolve() if target else path

        assert file.exists(), target
        if section and file.suffix == ".md":
            heads = re.findall(r"^#+ (.*)$", text(file), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
            assert section[1:] in slugs, f"{target}{section}"
    for named in re.findall(r"(?<![\w/.])((?:deploy|docs|dashboards|requirements|tests/corpus)/[\w./*-]+)", written):
        assert list(ROOT.glob(named.rstrip("./"))), named


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_piece_of_settings_is_valid(path: Path, tmp_path: Path) -> None:
    """TOML in a document loads; secrets that lie elsewhere are taken to be there."""
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef\n")
    for number, toml in enumerate(re.findall(r"```toml\n(.*?)```", text(path), re.DOTALL)):
        if tomllib.loads(toml).keys() & {"project"}:  # of a package of one's own
            continue
        file = tmp_path / f"{number}.toml"
        file.write_text(re.sub(r'"/run/secrets/[^"]+"', f'"{secret}"', toml))
        try:
            load_config(file, {})
        except Exception as error:  # noqa: BLE001 - told with the piece
            pytest.fail(f"{toml}\n{error}")


@ids
def test_every_port_is_one_that_somebody_listens_on(path: Path) -> None:
    """Ours by their defaults, beside a Collector 10,000 higher, and those of the servers that are shipped beside it."""
    config = Config()
    ours = {config.receivers.grpc_port, config.receivers.http_port, config.metrics.port}
    beside = {port + 10_000 for port in ours}
    # Prometheus, Alertmanager, its webhooks, Grafana, Jaeger, the Collector's health; nobody.
    others = {9090, 9093, 9095, 3000, 16686, 13133, 1}
    named = re.findall(
        r"(?:127\.0\.0\.1|localhost|0\.0\.0\.0|lanewatch|collector|jaeger|prometheus|\.svc|HOST):(\d{2,5})\b(?!/v1\b)",  # a model of one's own
        text(path),
    )

    assert {int(port) for port in named} <= ours | beside | others


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_refusals_are_named_by_reasons_that_there_are(path: Path) -> None:
    """The label's values are an interface too."""
    named = set(re.findall(r'lanewatch_requests_refused_total\{reason="(\w+)"', text(path)))

    assert named <= set(RefusalReason)


def test_each_stack_of_the_table_is_told_how_to_point() -> None:
    """docs/stacks.md names each of them again, where its spans are turned on."""
    page = text(ROOT / "docs" / "stacks.md")
    how = page[: page.index("<!-- stacks: begin -->")]
    names = [re.split(r" [(,]|,", stack.name.split(" (")[0])[0] for stack in STACKS]

    assert [name for name in names if name not in how] == []


def test_the_page_of_alerts_lists_those_that_are_shipped() -> None:
    """Row by row; `make docs` writes it anew."""
    page = text(ALERTS_PAGE)

    assert built(page, PAGES[ALERTS_PAGE]) == page
    assert all(f"[{rule.name}]" in page for rule in RULES if rule.alert)


def test_a_name_that_nobody_has_is_found() -> None:
    """The search can fail."""
    assert unknown_metrics("see `lanewatch_spans_recieved_total`") == {"lanewatch_spans_recieved_total"}
    assert list(spoken("`lanewatch doktor`")) == [("doktor", [])]
