"""Copy recorded captures into this folder: `python tests/corpus/copy_captures.py CAPTURES`.

CAPTURES/STACK/SCENARIO/ holds OTLP request bodies as they arrived and truth.json. Bodies are compressed, with no time
or name in the gzip header, so that the same capture always gives the same bytes. Nothing is copied where all of it
together would take more than the budget.
"""

import gzip
import shutil
import sys
from pathlib import Path

BUDGET_BYTES = 5 * 2**20
HERE = Path(__file__).resolve().parent


def main(source: Path, target: Path) -> None:
    """Replace the captures below `target` by those below `source`."""
    copies = {truth.parent: _copy(truth.parent) for truth in sorted(source.glob("*/*/truth.json"))}
    size = sum(len(body) for files in copies.values() for body in files.values())
    if not copies or size > BUDGET_BYTES:
        sys.exit(f"{len(copies)} captures of {size} bytes: expected some, of at most {BUDGET_BYTES} bytes")
    for old in target.glob("*/*/truth.json"):
        shutil.rmtree(old.parent)
    for capture, files in copies.items():
        folder = target / capture.relative_to(source)
        folder.mkdir(parents=True)
        for name, body in files.items():
            (folder / name).write_bytes(body)
    sys.stdout.write(f"{len(copies)} captures, {size / 2**20:.1f} MiB\n")


def _copy(capture: Path) -> dict[str, bytes]:
    """Name and content of each file of the copy."""
    bodies = {path.name: path.read_bytes() for path in sorted(capture.iterdir()) if path.suffix in (".pb", ".json")}
    truth = bodies.pop("truth.json")
    return {"truth.json": truth} | {f"{name}.gz": gzip.compress(body, 9, mtime=0) for name, body in bodies.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), HERE)
