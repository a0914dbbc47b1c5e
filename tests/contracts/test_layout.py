"""The shape of the repository: one namespace over three roots, modules that fit on a few screens, nothing foreign."""

import gzip
import io
import re
import tarfile
import tomllib
from collections.abc import Iterator

import pytest

from tests.contracts.source_tree import ROOT, SOURCE_ROOTS, modules, repository_files

MAX_MODULE_LINES = 400

# One letter of each word stands in brackets, so that this file does not hold what it forbids.
FORBIDDEN = {
    "a path of somebody's machine": r"(?<![\w.$}-])/(?:(?:wor[k]|roo[t]|hom[e])\b(?![\w.-])|tm[p]/[\w.])",
    "a package registry's host name": r"\b(?:pypi[.]org|pythonhosted[.]org|registry[.]npmjs[.]org|deb[.]debian[.]org)\b",
    # These two begin with what is rare, which is thirty times as fast over all recordings.
    "the host of a mirror's files": r"files[.][a-z0-9-]+[.](?:org|com|net|io|dev)\b",
    "a container registry's host name": r"[.]io\b(?:(?<=\bdocker[.]io)|(?<=\bghcr[.]io)|(?<=\bquay[.]io)|(?<=\bgcr[.]io))",
    "an extra out of an index that Lanewatch is not in": r"\blanewatc[h]\[ragas\]",
    "work left undone": r"\b(NotImplementedErro[r]|TOD[O]|FIXM[E])\b",
}


def test_no_root_has_an_init_of_its_own() -> None:
    """A stray __init__.py in one root would hide the other two: they share the namespace package `lanewatch`."""
    assert [root for root in SOURCE_ROOTS if (ROOT / root / "lanewatch" / "__init__.py").exists()] == []


def test_every_part_tells_type_checkers_that_it_is_typed() -> None:
    """A namespace package needs a py.typed in each part; one at the top would belong to nobody."""
    assert all((ROOT / root / "lanewatch" / root / "py.typed").is_file() for root in SOURCE_ROOTS)


def test_every_folder_below_a_part_is_a_package() -> None:
    """A folder without __init__.py imports from the checkout and may be missing from a wheel."""
    folders = {path.parent for name, path in modules().items() if name.count(".") > 1}

    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_no_two_modules_share_a_name() -> None:
    """What one root has, no other root has: the later one on the path would silently lose."""
    paths = [path.relative_to(ROOT / root) for root in SOURCE_ROOTS for path in (ROOT / root).rglob("*.py")]

    assert len(paths) == len(set(paths))


def test_decisions_are_numbered_from_one_on() -> None:
    """Two authors who write at once take the same number; the heading has that of the file's name."""
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))[1:]  # 0000 is the template
    numbers = [page.name[:4] for page in pages]

    assert numbers == [f"{n:04}" for n in range(1, len(pages) + 1)]
    assert [page.name for page in pages if not page.read_text().startswith(f"# {page.name[:4]}: ")] == []


def test_a_module_holds_one_idea() -> None:
    """400 lines is the end; most are far shorter."""
    sizes = {name: len(path.read_text().splitlines()) for name, path in modules().items()}

    assert {name: size for name, size in sizes.items() if size > MAX_MODULE_LINES} == {}


def test_every_module_opens_with_what_it_is_for() -> None:
    """A sentence on the first line, ended by a full stop or a colon's list."""
    silent = [name for name, path in modules().items() if not path.read_text().startswith('"""')]

    assert silent == []


def test_sql_has_no_numbered_placeholders() -> None:
    """sqlite3 warns of `?1` from Python 3.12 on and refuses it from 3.14 on, which tests on 3.11 can't see: `?`, or `:name` by a
    dictionary.
    """
    numbered = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE)\b[^\"]*\?\d")

    assert numbered.search("UPDATE jobs SET added = ?1")
    assert [name for name, path in modules().items() if numbered.search(path.read_text())] == []


def test_the_repository_speaks_of_the_project_alone() -> None:
    """No machine's paths, no registry's host, no work left undone, in any file; compressed recordings are opened."""
    found = [
        f"{name}: {hit}"
        for path in repository_files()
        for name, content in contents(path.relative_to(ROOT).as_posix(), path.read_bytes())
        for hit in foreign(content)
    ]

    assert "\n".join(found) == ""


@pytest.mark.parametrize(
    "text",
    [
        "/hom[e]/me/x",
        "see /tm[p]/x.py",
        "pypi[.]org",
        "files[.]example[.]org",
        "ghcr[.]io/a/b",
        "docker[.]io/library/python",
    ],
)
def test_what_is_foreign_is_found_in_archives_too(text: str) -> None:
    """In a file, in a compressed one, and in a compressed member of a compressed archive."""
    content = text.replace("[", "").replace("]", "").encode()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("a/b.json.gz")
        packed = gzip.compress(content)
        member.size = len(packed)
        tar.addfile(member, io.BytesIO(packed))
    files = {"a.txt": content, "a.gz": gzip.compress(content), "a.tar.gz": archive.getvalue()}
    seen = {name: [hit for _, inner in contents(name, raw) for hit in foreign(inner)] for name, raw in files.items()}

    assert {name: len(hits) for name, hits in seen.items()} == dict.fromkeys(files, 1)


def contents(name: str, raw: bytes) -> Iterator[tuple[str, bytes]]:
    """A file's content under its name; of an archive, that of each member, however deep."""
    if name.endswith((".tar.gz", ".tgz")):
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:gz") as tar:
            for member in tar:
                file = tar.extractfile(member)
                yield from contents(f"{name}!{member.name}", file.read() if file is not None else b"")
    else:
        yield name, gzip.decompress(raw) if name.endswith(".gz") else raw


def foreign(content: bytes) -> list[str]:
    """What a content holds that the repository must not."""
    text = content.decode("utf-8", "replace")
    return [
        f"{what}: {hit.group()!r}"
        for what, pattern in FORBIDDEN.items()
        for hit in re.finditer(pattern, text, re.MULTILINE)
    ]


def test_the_strictness_of_the_tools_is_kept() -> None:
    """All of ruff's rules less the ignores that give a reason, mypy strict, warnings are errors."""
    text = (ROOT / "pyproject.toml").read_text()
    tool = tomllib.loads(text)["tool"]
    options = tool["pytest"]["ini_options"]

    assert tool["ruff"]["lint"]["select"] == ["ALL"]
    assert tool["mypy"]["strict"] is True
    assert options["filterwarnings"][0] == "error"
    assert options["xfail_strict"] is True
    assert {"--strict-markers", "--strict-config"} <= set(options["addopts"].split())


def test_every_folder_with_python_files_is_type_checked() -> None:
    """A new top-level folder must be added to mypy's list, which refuses folders that don't exist."""
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]
    folders = {path.relative_to(ROOT).parts[0] for path in repository_files() if path.suffix == ".py"}

    assert folders == set(checked)
