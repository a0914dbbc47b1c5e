"""The source tree as the contracts see it: modules with their dotted names, and what each imports."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = ("collector", "adapters", "monitors")


class Import(msgspec.Struct, frozen=True):
    """One import: the module that writes it, what it names (`a.b` or `a.b.name`), and where it stands."""

    importer: str
    imported: str
    line: int
    at_module_level: bool


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name; a package goes by the name of its folder."""
    found = {}
    for root in SOURCE_ROOTS:
        for path in sorted((ROOT / root).rglob("*.py")):
            parts = path.relative_to(ROOT / root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports() -> list[Import]:
    """Every import of every module; those for type checkers alone count as not at module level."""
    return [
        found
        for name, path in modules().items()
        for found in _imports_of(name, path.name == "__init__.py", ast.parse(path.read_text(), str(path)))
    ]


def repository_files() -> list[Path]:
    """Every file that git tracks or would track; without git, every file outside of hidden and built folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        found = [path for path in ROOT.rglob("*") if not any(map(_is_no_source, path.relative_to(ROOT).parts))]
    else:
        found = [ROOT / name for name in listed if name]
    return sorted(path for path in found if path.is_file())


def _is_no_source(name: str) -> bool:
    """Tell whether a folder or file is made by tools; .ci is ours."""
    return name in {"__pycache__", "dist"} or (name.startswith(".") and name not in {".ci", ".gitignore"})


def _imports_of(importer: str, package: bool, tree: ast.Module) -> Iterator[Import]:
    late = {id(inner) for node in ast.walk(tree) if _is_late(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        top = id(node) not in late
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(importer, alias.name, node.lineno, top)
        elif isinstance(node, ast.ImportFrom):
            base = importer.split(".")[: len(importer.split(".")) - node.level + package] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(importer, f"{module}.{alias.name}", node.lineno, top)


def _is_late(node: ast.AST) -> bool:
    """Tell whether what stands inside runs after the import, or never: a function, `if TYPE_CHECKING`."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
