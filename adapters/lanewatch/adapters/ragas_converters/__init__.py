"""Ragas' own converters as producers, each fed with its framework's messages rebuilt from a trace.

Invariants:

- The framework's objects are made as the framework makes them today: a fault that shows is one that its users have.
- Frameworks and ragas are imported when a converter is loaded, never before, and only in a producer's process.
- A framework that is not installed is said with what to install; it is no fault of the converter.
"""

import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

from lanewatch.adapters.ragas_messages import EXTRA

# Chat messages (`lanewatch.adapters.chat`) and the trace's record in, Ragas' messages out.
Convert: TypeAlias = Callable[[tuple[dict[str, Any], ...], dict[str, Any]], Any]

CONVERTERS = {
    "ragas.langgraph": "langgraph:load",
    "ragas.langgraph-legacy": "langgraph:load_legacy",
    "ragas.llama_index": "llama_index:load",
    "ragas.swarm": "swarm:load",
    "ragas.amazon_bedrock": "amazon_bedrock:load",
    "ragas.ag_ui": "ag_ui:load",
    "ragas.ag_ui-snapshot": "ag_ui:load_snapshot",
}


class NeedsPackageError(ImportError):
    """A package that the converter needs is not installed. `str()` says how to install it."""


def load_converter(name: str) -> Convert:
    """The converter of this name. Raises KeyError, NeedsPackageError."""
    module, _, function = CONVERTERS[name].partition(":")
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # the word; "1" is not understood, and it is read once
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    load: Callable[[], Convert] = getattr(importlib.import_module(f"{__name__}.{module}"), function)
    return load()


def ragas_version() -> str | None:
    """The version of ragas that is installed, without importing it."""
    try:
        return version("ragas")
    except PackageNotFoundError:
        return None


def need_converter(name: str, *, whole: bool = False) -> Any:
    """The module of one of Ragas' integrations. Raises NeedsPackageError.

    `import ragas` takes 3 s of CPU and 222 MB for 2,800 modules; most converters need `ragas.messages` alone, which takes
    0.5 s, so the package's own `__init__` is run only where `whole` says so.
    """
    if not whole and "ragas" not in sys.modules:
        spec = importlib.util.find_spec("ragas")
        if spec is not None and spec.submodule_search_locations is not None:
            package = types.ModuleType("ragas")
            package.__path__ = list(spec.submodule_search_locations)
            sys.modules["ragas"] = package
    return need(f"ragas.integrations.{name}", EXTRA)


def need(module: str, install: str) -> Any:
    """An optional framework's module. Raises NeedsPackageError.

    Imported by name, since none of them is a dependency of Lanewatch: who watches such a framework has it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NeedsPackageError(f"{module} can't be imported: pip install {install}") from error
