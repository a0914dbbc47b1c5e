"""Reads recorded OTLP from files and folders, as raw request bodies that go through the same intake as live ones.

    *.pb             one ExportTraceServiceRequest, or ExportLogsServiceRequest where the name starts with `logs`
    *.json, *.jsonl  OTLP/JSON, one request a line (the Collector's file exporter) or, for .json, one document
    *.gz             of each of these

Invariants:

- What could be a recording and can't be read is told as `Unreadable`, and the rest is still read. In a folder, files with
  other endings, hidden ones, and JSON with neither resourceSpans nor resourceLogs are no recordings.
- Held in memory is one request, at most `max_request_bytes` of it, however long or compressed its file is.
- A folder is read in name order, without its subfolders; a file in its own order.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import TypeAlias, cast

import msgspec

from lanewatch.collector.responses import Media
from lanewatch.collector.spans import Signal

ENDINGS = (".pb", ".json", ".jsonl")
MAX_REQUEST_BYTES = 64 << 20  # what OTLP 1.11.0 recommends, after decompression
MAX_TOLD_LINES = 10  # unreadable lines of one file that are told one by one; the others as a number
MAX_FOREIGN_LINES = (
    1_000_000  # of one file that are no recorded OTLP: read in a few seconds; such a file is another one
)

_CHUNK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_NOT_BLANK = re.compile(rb"[^ \t\r\n\v\f]")
_MARKERS = (b'"resourceSpans"', b'"resourceLogs"')
_SPLIT = "Split it, or raise the limit for the size of a request (max_request_bytes)"


class Batch(msgspec.Struct, frozen=True):
    """One export request as it was recorded, and where it stands: `line` counts from 1, and is 0 for a whole file."""

    body: bytes
    signal: Signal
    media: Media
    path: Path
    line: int = 0


class Unreadable(msgspec.Struct, frozen=True):
    """What was to be read and can't be. `str()` names the file, what is wrong with it, and the remedy; no content."""

    path: Path
    reason: str
    remedy: str
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.path}, line {self.line}" if self.line else str(self.path)
        return f"{place}: {self.reason}. {self.remedy}."


_Found: TypeAlias = Batch | Unreadable | None  # None: a piece was read, and nothing in it is whole yet


def read_recorded(
    path: Path,
    *,
    on_unreadable: Callable[[Unreadable], None],
    on_progress: Callable[[int, int], None] = lambda _read, _total: None,
    max_request_bytes: int = MAX_REQUEST_BYTES,
) -> Iterator[Batch]:
    """The requests recorded in a file or a folder, one after the other.

    `on_unreadable` is told what can't be read; reading goes on. `on_progress` gets the bytes read so far and in all, as
    they lie on the disk: after each request, and once at the end of each file.
    """
    try:
        in_folder = path.is_dir()
        sizes = {file: file.stat().st_size for file in (_recordings(path) if in_folder else [path])}
        fault = None if in_folder else _unfit(path)
    except OSError as error:
        fault = _system_fault(path, error)
    if fault is not None:
        on_unreadable(fault)
        return
    done, total, nothing = 0, sum(sizes.values()), True
    for file, size in sizes.items():
        for position, found in _contents(file, max_request_bytes, named=not in_folder):
            nothing = nothing and found is None
            if isinstance(found, Unreadable):
                on_unreadable(found)
            elif found is not None:
                yield found
            on_progress(done + min(position, size), total)
        done += size
        on_progress(done, total)
    if in_folder and nothing:
        on_unreadable(
            Unreadable(path, "the folder holds no recorded OTLP", "Name the folder itself that holds the recordings")
        )


def _recordings(folder: Path) -> list[Path]:
    # Opening a pipe or a device would block: regular files alone.
    files = (file for file in folder.iterdir() if _ending(file) and not file.name.startswith(".") and file.is_file())
    return sorted(files, key=lambda file: file.name)


def _ending(path: Path) -> str | None:
    """The ending that tells the format, without `.gz`; None for a file that is no recording."""
    name = path.name.lower().removesuffix(".gz")
    return next((ending for ending in ENDINGS if name.endswith(ending)), None)


def _unfit(path: Path) -> Unreadable | None:
    """Why a file that was named can't be a recording, if so."""
    if not path.is_file():
        return Unreadable(path, "this is not a regular file", "Save the recording to a file and name that")
    if _ending(path) is None:
        ways = "Name a folder, or a file that ends in .pb, .json or .jsonl, each with .gz or without"
        return Unreadable(path, "by its ending this is not a recording", ways)
    return None


def _contents(path: Path, limit: int, *, named: bool) -> Iterator[tuple[int, _Found]]:
    """What is found in one file, each with how far the file was read by then."""
    try:
        with path.open("rb") as raw:
            stream = _inflated(raw) if path.name.lower().endswith(".gz") else raw
            ending = _ending(path)
            if ending == ".pb":
                founds = _protobuf(path, stream, limit)
            else:
                founds = _json(path, stream, limit, named=named, may_be_document=ending == ".json")
            for found in founds:
                yield raw.tell(), found
    except (EOFError, zlib.error, gzip.BadGzipFile):
        reason = "the gzip data is damaged or was cut short; what stands before that was read"
        yield 0, Unreadable(path, reason, "Copy or record it again")
    except OSError as error:
        yield 0, _system_fault(path, error)


def _inflated(raw: BufferedReader) -> BufferedReader:
    """What is packed in a file. Raises EOFError where that is nothing at all, which GzipFile takes for an empty file's."""
    if not raw.peek(1):
        raise EOFError
    # GzipFile reads like a BufferedReader, in bounded pieces, and checks the checksum of each of its members.
    return cast("BufferedReader", gzip.GzipFile(fileobj=raw))


def _system_fault(path: Path, error: OSError) -> Unreadable:
    return Unreadable(path, (error.strerror or type(error).__name__).lower(), "Check the path and its permissions")


def _protobuf(path: Path, stream: BufferedReader, limit: int) -> Iterator[_Found]:
    body = _read_bounded(stream, limit)
    if body is None:
        yield Unreadable(path, f"the request is larger than {limit} bytes", _SPLIT)
        return
    signal = Signal.LOGS if path.name.lower().startswith("logs") else Signal.TRACES
    yield Batch(body, signal, Media.PROTOBUF, path)


def _read_bounded(stream: BufferedReader, limit: int) -> bytes | None:
    """All that is left, or None where it is more than the limit. In pieces: `read(n)` sets n bytes aside at once."""
    pieces, size = [], 0
    while piece := stream.read(_CHUNK_BYTES):
        size += len(piece)
        if size > limit:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _json(path: Path, stream: BufferedReader, limit: int, *, named: bool, may_be_document: bool) -> Iterator[_Found]:
    """One request a line, or one document over many lines, which shows by a first line that is not JSON by itself."""
    if may_be_document:
        first = stream.readline(limit + 1)
        stream.seek(0)
        if first and _keys_of(first) is None:
            document = _read_bounded(stream, limit)
            if document is None:
                reason = f"its first line is no JSON document, and the whole is larger than {limit} bytes"
                yield Unreadable(path, reason, f"{_SPLIT}; where it holds a request a line, let its name end in .jsonl")
                return
            if not any(keys.signals for line in document.splitlines() if (keys := _keys_of(line)) is not None):
                yield from _document(path, document, named=named)
                return
            stream.seek(0)
    yield from _json_lines(path, stream, limit, named=named)


def _document(path: Path, document: bytes, *, named: bool) -> Iterator[_Found]:
    body = document.removeprefix(_BOM)
    keys = _keys_of(body)
    if keys is not None and keys.signals:
        yield from (Batch(body, signal, Media.JSON, path) for signal in keys.signals)
    elif keys is None and (named or _looks_like_otlp(body)):
        yield _broken(path)
    elif named:
        yield _foreign(path)


def _json_lines(path: Path, stream: BufferedReader, limit: int, *, named: bool) -> Iterator[_Found]:
    told = untold = foreign = 0
    anything = False
    for found in _lines(stream, limit):
        if found is None:
            yield None
            continue
        number, line = found
        if untold + foreign >= MAX_FOREIGN_LINES:
            reason = f"more than {MAX_FOREIGN_LINES} of its lines are no recorded OTLP; it was read up to here"
            yield Unreadable(path, reason, "Keep what is no OTLP/JSON out of the file", number)
            break
        keys = None if line is None else _keys_of(line)
        if line is not None and keys is not None and keys.signals:
            anything = True
            yield from (Batch(line, signal, Media.JSON, path, number) for signal in keys.signals)
        elif line is None or (keys is None and (named or _looks_like_otlp(line))):
            told += 1
            if told > MAX_TOLD_LINES:
                untold += 1
            elif line is None:
                yield Unreadable(path, f"the request is larger than {limit} bytes", _SPLIT, number)
            else:
                yield _broken(path, number)
        elif keys is None or keys.resource_metrics is msgspec.UNSET:
            foreign += 1
    if untold:
        yield Unreadable(path, f"{untold} more lines can't be read", "See the lines told before")
    if foreign and (anything or told):
        reason = f"{foreign} of its lines have neither resourceSpans nor resourceLogs"
        yield Unreadable(path, reason, "Keep what is no OTLP/JSON out of the file")
    elif named and not (anything or told):
        yield _foreign(path)


def _lines(stream: BufferedReader, limit: int) -> Iterator[tuple[int, bytes | None] | None]:
    """Each line that is not blank, with its number; (number, None) for one that is over the limit, which is passed over in
    pieces. None alone tells that a run of blank lines was passed over.
    """
    number = 1
    while line := stream.readline(limit + 1):
        body = (line.removeprefix(_BOM) if number == 1 else line).strip()
        if not body:
            number += line.count(b"\n")
            for n_lines in _blank_lines(stream):
                number += n_lines
                yield None
            continue
        if len(line) <= limit or line.endswith(b"\n"):
            yield number, body
        else:
            while line and not line.endswith(b"\n"):
                line = stream.readline(_CHUNK_BYTES)
            yield number, None
        number += 1


def _blank_lines(stream: BufferedReader) -> Iterator[int]:
    """Passes over blank lines, and tells how many there were in each piece: 300 MiB of them, which gzip packs into 300 KB,
    took minutes one by one.
    """
    n_lines = n_bytes = 0
    while ahead := stream.peek(_CHUNK_BYTES):
        begins = _NOT_BLANK.search(ahead)
        blank = stream.read(begins.start() if begins else len(ahead))
        n_lines += blank.count(b"\n")
        n_bytes += len(blank)
        if begins:
            break
        if n_bytes >= _CHUNK_BYTES:
            yield n_lines
            n_lines = n_bytes = 0
    yield n_lines


class _Keys(msgspec.Struct, rename="camel"):
    """The fields of a JSON document that tell its signal. Decoding checks the syntax of all the others."""

    resource_spans: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    resource_logs: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    resource_metrics: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @property
    def signals(self) -> list[Signal]:
        fields = ((Signal.TRACES, self.resource_spans), (Signal.LOGS, self.resource_logs))
        return [signal for signal, value in fields if value is not msgspec.UNSET]


_decode_keys = msgspec.json.Decoder(_Keys).decode


def _keys_of(body: bytes) -> _Keys | None:
    """The document's keys; none of them where it is JSON but no object; None where it is not JSON."""
    try:
        return _decode_keys(body)
    except msgspec.ValidationError:
        return _Keys()
    except (msgspec.DecodeError, RecursionError):
        return None


def _looks_like_otlp(body: bytes) -> bool:
    return any(marker in body for marker in _MARKERS)


def _broken(path: Path, line: int = 0) -> Unreadable:
    remedy = "If it was cut while it was written, nothing but this can be lost; else write it as JSON in UTF-8"
    return Unreadable(path, "this is not valid JSON, or is nested too deeply", remedy, line)


def _foreign(path: Path) -> Unreadable:
    remedy = "Name OTLP/JSON of traces or logs, such as the Collector's file exporter writes"
    return Unreadable(path, "it has neither resourceSpans nor resourceLogs", remedy)
