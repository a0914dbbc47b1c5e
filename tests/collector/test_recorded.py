"""Recorded files and folders: which are read, in what order and pieces, and what is said of those that can't be."""

import gzip
import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from lanewatch.collector import recorded
from lanewatch.collector.recorded import MAX_TOLD_LINES, Batch, Unreadable, read_recorded
from lanewatch.collector.responses import Media
from lanewatch.collector.spans import Signal

SPANS = b'{"resourceSpans":[{"scopeSpans":[]}]}'
LOGS = b'{"resourceLogs":[]}'
METRICS = b'{"resourceMetrics":[]}'
OTHER = b'{"requests":[],"note":"truth"}'


class Reading:
    """All that came of reading a path."""

    def __init__(self, path: Path, max_request_bytes: int = 1_000) -> None:
        self.unreadable: list[Unreadable] = []
        self.progress: list[tuple[int, int]] = []
        self.batches = list(
            read_recorded(
                path,
                on_unreadable=self.unreadable.append,
                on_progress=lambda read, total: self.progress.append((read, total)),
                max_request_bytes=max_request_bytes,
            )
        )

    @property
    def found(self) -> list[tuple[str, bytes, Signal]]:
        """File, body and signal of each request."""
        return [(batch.path.name, batch.body, batch.signal) for batch in self.batches]

    @property
    def faults(self) -> list[tuple[str, int]]:
        """File and line of what can't be read."""
        return [(fault.path.name, fault.line) for fault in self.unreadable]


def write(folder: Path, **files: bytes) -> Path:
    """Files by name, with the dot written as two underscores; returns the folder."""
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    return folder


class TestProtobuf:
    """One request a file."""

    def test_a_file_is_one_request_as_it_stands(self, tmp_path: Path) -> None:
        """The body is handed on undecoded: the intake looks into it."""
        write(tmp_path, request__pb=b"\x0a\x00anything")

        assert Reading(tmp_path / "request.pb").batches == [
            Batch(b"\x0a\x00anything", Signal.TRACES, Media.PROTOBUF, tmp_path / "request.pb")
        ]

    def test_the_name_tells_logs(self, tmp_path: Path) -> None:
        """The two requests can't be told apart by their bytes."""
        write(tmp_path, **{"logs-000__pb": b"l", "request-logs__pb": b"r"})

        assert [signal for _, _, signal in Reading(tmp_path).found] == [Signal.LOGS, Signal.TRACES]

    def test_an_empty_file_is_an_empty_request(self, tmp_path: Path) -> None:
        """Zero bytes are a valid message."""
        write(tmp_path, request__pb=b"")

        assert Reading(tmp_path / "request.pb").found == [("request.pb", b"", Signal.TRACES)]

    @pytest.mark.parametrize("ending", [".pb", ".pb.gz"])
    def test_a_request_over_the_limit_is_told(self, tmp_path: Path, ending: str) -> None:
        """Before and after decompression alike; exactly the limit is read."""
        pack = gzip.compress if ending == ".pb.gz" else bytes
        (tmp_path / f"a{ending}").write_bytes(pack(bytes(1_001)))
        (tmp_path / f"b{ending}").write_bytes(pack(bytes(1_000)))
        reading = Reading(tmp_path)

        assert [(name, len(body)) for name, body, _ in reading.found] == [(f"b{ending}", 1_000)]
        assert "larger than 1000 bytes" in str(reading.unreadable[0])
        assert "max_request_bytes" in str(reading.unreadable[0])


class TestJson:
    """One request a line, or one document."""

    @pytest.mark.parametrize("ending", ["json", "jsonl"])
    def test_lines_are_requests_of_their_own_signal(self, tmp_path: Path, ending: str) -> None:
        """As the Collector's file exporter writes them; blank lines and line ends of any kind don't matter."""
        (tmp_path / f"a.{ending}").write_bytes(SPANS + b"\r\n\n" + LOGS + b"\n" + SPANS)
        reading = Reading(tmp_path / f"a.{ending}")

        assert [(batch.body, batch.signal, batch.line) for batch in reading.batches] == [
            (SPANS, Signal.TRACES, 1),
            (LOGS, Signal.LOGS, 3),
            (SPANS, Signal.TRACES, 4),
        ]
        assert {batch.media for batch in reading.batches} == {Media.JSON}
        assert reading.unreadable == []

    def test_a_document_may_stand_over_many_lines(self, tmp_path: Path) -> None:
        """Somebody has formatted it to read it."""
        document = msgspec.json.format(SPANS, indent=2)
        write(tmp_path, a__json=document)

        assert Reading(tmp_path).found == [("a.json", document, Signal.TRACES)]

    def test_a_document_of_both_signals_is_two_requests(self, tmp_path: Path) -> None:
        """Each decoder looks at its own part."""
        both = b'{"resourceLogs":[],"resourceSpans":[]}'
        write(tmp_path, a__json=both, b__json=msgspec.json.format(both, indent=1))
        reading = Reading(tmp_path)

        assert [(name, signal) for name, _, signal in reading.found] == [
            ("a.json", Signal.TRACES),
            ("a.json", Signal.LOGS),
            ("b.json", Signal.TRACES),
            ("b.json", Signal.LOGS),
        ]

    @pytest.mark.parametrize("rest", [b"", b"\n" + LOGS])
    def test_a_byte_order_mark_is_no_content(self, tmp_path: Path, rest: bytes) -> None:
        """Editors on Windows write one."""
        write(tmp_path, a__json=b"\xef\xbb\xbf" + SPANS + rest)

        assert Reading(tmp_path).found[0] == ("a.json", SPANS, Signal.TRACES)

    def test_a_broken_line_costs_that_line_alone(self, tmp_path: Path) -> None:
        """The process was killed while it wrote, then started again."""
        write(tmp_path, a__jsonl=SPANS + b"\n" + SPANS[:-4] + b"\n" + LOGS)
        reading = Reading(tmp_path)

        assert [body for _, body, _ in reading.found] == [SPANS, LOGS]
        assert reading.faults == [("a.jsonl", 2)]
        assert "not valid JSON" in str(reading.unreadable[0])
        assert "line 2" in str(reading.unreadable[0])

    def test_a_broken_first_line_does_not_hide_the_others(self, tmp_path: Path) -> None:
        """It looks like a document over many lines at first."""
        write(tmp_path, a__json=SPANS[:-4] + b"\n" + LOGS)
        reading = Reading(tmp_path)

        assert [body for _, body, _ in reading.found] == [LOGS]
        assert reading.faults == [("a.json", 1)]

    def test_a_broken_document_is_told_once(self, tmp_path: Path) -> None:
        """Not once for each of its lines."""
        write(tmp_path, a__json=msgspec.json.format(SPANS, indent=2)[:-3])
        reading = Reading(tmp_path)

        assert (reading.found, reading.faults) == ([], [("a.json", 0)])

    def test_many_broken_lines_are_told_as_a_number(self, tmp_path: Path) -> None:
        """The first ten one by one."""
        write(tmp_path, a__jsonl=b"\n".join([SPANS[:-4]] * (MAX_TOLD_LINES + 5)))
        reading = Reading(tmp_path)

        assert reading.faults == [("a.jsonl", n + 1) for n in range(MAX_TOLD_LINES)] + [("a.jsonl", 0)]
        assert "5 more lines" in str(reading.unreadable[-1])

    def test_a_line_over_the_limit_costs_that_line_alone(self, tmp_path: Path) -> None:
        """The next is found again. Exactly the limit is read."""
        fitting = SPANS[:-1] + b" " * (1_000 - len(SPANS)) + b"}"
        write(tmp_path, a__jsonl=b"\n".join([SPANS, b'{"x":"' + b"y" * 5_000_000 + b'"}', fitting, LOGS]))
        reading = Reading(tmp_path)

        assert [body for _, body, _ in reading.found] == [SPANS, fitting, LOGS]
        assert [(fault.line, "larger than 1000 bytes" in fault.reason) for fault in reading.unreadable] == [(2, True)]

    def test_a_document_over_the_limit_is_told_with_both_ways_out(self, tmp_path: Path) -> None:
        """It may be one request or many."""
        write(tmp_path, a__json=b"{\n" + b" " * 1_000 + b"}")
        reading = Reading(tmp_path)

        assert reading.found == []
        assert ".jsonl" in str(reading.unreadable[0])

    @pytest.mark.parametrize("ending", ["json", "jsonl"])
    def test_deep_nesting_is_told(self, tmp_path: Path, ending: str) -> None:
        """It must not end the program."""
        deep = b'{"resourceSpans":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        (tmp_path / f"a.{ending}").write_bytes(deep)
        reading = Reading(tmp_path, max_request_bytes=1_000_000)

        assert reading.found == []
        assert len(reading.unreadable) == 1

    def test_metrics_of_the_same_exporter_are_passed_over(self, tmp_path: Path) -> None:
        """One pipeline may write all three signals into one file."""
        write(tmp_path, a__jsonl=METRICS + b"\n" + SPANS + b"\n" + METRICS)
        reading = Reading(tmp_path / "a.jsonl")

        assert (len(reading.batches), reading.unreadable) == (1, [])

    def test_other_lines_among_requests_are_told_as_a_number(self, tmp_path: Path) -> None:
        """Something else has written into the recording."""
        write(tmp_path, a__jsonl=OTHER + b"\nwarning: disk full\n" + SPANS)
        reading = Reading(tmp_path)

        assert len(reading.batches) == 1
        assert "2 of its lines" in str(reading.unreadable[0])


class TestWhatIsNoRecording:
    """Skipped in a folder, an error when named."""

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("truth.json", OTHER),
            ("truth.json", msgspec.json.format(OTHER, indent=2)),
            ("list.json", b"[1, 2]"),
            ("list.json", b"[\n1,\n2\n]"),
            ("metrics.jsonl", METRICS),
            ("empty.json", b""),
            ("notes.json", b"{ not JSON at all"),
            ("notes.jsonl", b"not JSON at all"),
            ("README.md", b"# Read me"),
            ("request.pb.bak", b"x"),
            (".hidden.pb", b"x"),
        ],
    )
    def test_in_a_folder_it_is_skipped(self, tmp_path: Path, name: str, content: bytes) -> None:
        """By its ending or by its shape."""
        (tmp_path / name).write_bytes(content)
        write(tmp_path, request__pb=b"p")
        reading = Reading(tmp_path)

        assert (reading.found, reading.unreadable) == ([("request.pb", b"p", Signal.TRACES)], [])

    @pytest.mark.parametrize(
        ("name", "content", "reason"),
        [
            ("truth.json", OTHER, "neither resourceSpans nor resourceLogs"),
            ("truth.json", msgspec.json.format(OTHER, indent=2), "neither resourceSpans nor resourceLogs"),
            ("list.json", b"[1, 2]", "neither resourceSpans nor resourceLogs"),
            ("metrics.jsonl", METRICS, "neither resourceSpans nor resourceLogs"),
            ("empty.json", b"", "neither resourceSpans nor resourceLogs"),
            ("notes.json", b"{ not JSON at all", "not valid JSON"),
            ("notes.jsonl", b"not JSON at all", "not valid JSON"),
            ("README.md", b"# Read me", "by its ending"),
        ],
    )
    def test_when_named_it_is_an_error(self, tmp_path: Path, name: str, content: bytes, reason: str) -> None:
        """One fault, with the file, the reason and a remedy, and nothing of the content."""
        (tmp_path / name).write_bytes(content)
        reading = Reading(tmp_path / name)

        assert reading.batches == []
        assert len(reading.unreadable) == 1
        assert name in str(reading.unreadable[0])
        assert reason in str(reading.unreadable[0])
        assert reading.unreadable[0].remedy
        assert "not JSON at all" not in str(reading.unreadable[0])

    def test_a_missing_path_is_told(self, tmp_path: Path) -> None:
        """Nothing raises."""
        reading = Reading(tmp_path / "nowhere.pb")

        assert reading.faults == [("nowhere.pb", 0)]

    @pytest.mark.parametrize("content", [{}, {"truth__json": OTHER}, {"notes__txt": b"x"}])
    def test_a_folder_without_recordings_is_told(self, tmp_path: Path, content: dict[str, bytes]) -> None:
        """Somebody named the folder above, or the wrong one."""
        write(tmp_path, **content)
        (tmp_path / "deeper").mkdir()
        write(tmp_path / "deeper", request__pb=b"p")
        reading = Reading(tmp_path)

        assert reading.batches == []
        assert "no recorded OTLP" in str(reading.unreadable[0])

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
    def test_a_pipe_does_not_block(self, tmp_path: Path) -> None:
        """Only regular files are opened."""
        os.mkfifo(tmp_path / "a.pb")
        write(tmp_path, b__pb=b"p")

        assert [name for name, _, _ in Reading(tmp_path).found] == ["b.pb"]
        assert "regular file" in str(Reading(tmp_path / "a.pb").unreadable[0])


class TestGzip:
    """Each format, compressed."""

    @pytest.mark.parametrize("content", [SPANS, msgspec.json.format(SPANS, indent=2)])
    def test_each_format_may_be_compressed(self, tmp_path: Path, content: bytes) -> None:
        """The ending before `.gz` tells the format, in any case."""
        packed = gzip.compress(content)
        write(tmp_path, a__JSON__GZ=packed, b__pb__gz=packed, logs__pb__gz=packed, c__tar__gz=packed)

        assert Reading(tmp_path).found == [
            ("a.JSON.GZ", content, Signal.TRACES),
            ("b.pb.gz", content, Signal.TRACES),
            ("logs.pb.gz", content, Signal.LOGS),
        ]

    def test_members_that_follow_one_another_are_one_file(self, tmp_path: Path) -> None:
        """A file that was appended to holds several."""
        write(tmp_path, a__jsonl__gz=gzip.compress(SPANS + b"\n") + gzip.compress(LOGS + b"\n"))

        assert [body for _, body, _ in Reading(tmp_path).found] == [SPANS, LOGS]

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda packed: packed[:-12], id="cut short"),
            pytest.param(lambda packed: packed[:-8] + b"12345678", id="wrong checksum"),
            pytest.param(lambda packed: packed + b"junk", id="junk behind"),
            pytest.param(lambda packed: packed[:200] + bytes(50) + packed[250:], id="overwritten"),
            pytest.param(lambda packed: b"plain" + packed, id="no gzip"),
        ],
    )
    def test_damage_is_told_and_the_next_file_read(self, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
        """Whatever stands before the damage may have been read."""
        lines = b"\n".join(b'{"resourceSpans":[%d]}' % (n * n * 7_919) for n in range(2_000))
        write(tmp_path, a__jsonl__gz=damage(gzip.compress(lines)), b__pb=b"p")
        reading = Reading(tmp_path)

        assert "gzip data is damaged" in str(reading.unreadable[-1])
        assert reading.found[-1] == ("b.pb", b"p", Signal.TRACES)

    def test_an_empty_file_is_no_gzip_data(self, tmp_path: Path) -> None:
        """Nothing was packed into it: it was cut at its very beginning."""
        write(tmp_path, a__pb__gz=b"", b__jsonl__gz=b"")

        assert [name for name, _ in Reading(tmp_path).faults] == ["a.pb.gz", "b.jsonl.gz"]

    def test_blank_lines_are_passed_over_in_pieces_and_counted(self, tmp_path: Path) -> None:
        """Megabytes of them take as many steps as they have pieces, and what follows has its right number."""
        blank = (b"\n" * 999_999 + b" \t\r\n") * 8
        write(tmp_path, a__jsonl__gz=gzip.compress(SPANS + b"\n" + blank + b"  " + SPANS + b"\n\n{\n"))
        reading = Reading(tmp_path / "a.jsonl.gz")

        assert [body for _, body, _ in reading.found] == [SPANS, SPANS]
        assert [fault.line for fault in reading.unreadable] == [8_000_004]
        assert 8 <= len(reading.progress) < 30

    def test_a_file_of_foreign_lines_is_given_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """And said to be, with the line; what stands before it was read."""
        monkeypatch.setattr(recorded, "MAX_FOREIGN_LINES", 5)
        write(tmp_path, a__jsonl=SPANS + b"\n" + b"{}\n" * 9 + SPANS)
        reading = Reading(tmp_path)

        assert len(reading.found) == 1
        assert any("read up to here" in fault.reason and fault.line == 7 for fault in reading.unreadable)

    def test_a_bomb_is_not_inflated(self, tmp_path: Path) -> None:
        """Memory stays near the limit, for a request and for a line."""
        bomb = gzip.compress(bytes(50_000_000))
        write(tmp_path, a__pb__gz=bomb, b__jsonl__gz=bomb, c__json__gz=bomb)
        tracemalloc.start()
        reading = Reading(tmp_path, max_request_bytes=100_000)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert [name for name, _ in reading.faults] == ["a.pb.gz", "b.jsonl.gz", "c.json.gz"]
        assert peak < 5_000_000


class TestReading:
    """Order, memory, progress."""

    def test_a_folder_is_read_in_name_order(self, tmp_path: Path) -> None:
        """Whatever order the file system lists."""
        write(tmp_path, **{f"request-{n:03}__pb": b"%d" % n for n in (2, 0, 10, 1)})

        assert [body for _, body, _ in Reading(tmp_path).found] == [b"0", b"1", b"2", b"10"]

    def test_a_long_file_is_never_held_whole(self, tmp_path: Path) -> None:
        """Memory doesn't grow with the number of lines."""
        with (tmp_path / "a.jsonl").open("wb") as file:
            for _ in range(20_000):
                file.write(b'{"resourceSpans":["' + b"x" * 1_000 + b'"]}\n')
        tracemalloc.start()
        n_batches = sum(1 for _ in read_recorded(tmp_path, on_unreadable=lambda _: None))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert n_batches == 20_000
        assert peak < 2_000_000

    def test_reading_is_lazy(self, tmp_path: Path) -> None:
        """The first request is there before the second file is opened."""
        write(tmp_path, a__pb=b"a", b__pb=b"b")
        reading = read_recorded(tmp_path, on_unreadable=lambda _: None)

        assert next(reading).body == b"a"
        (tmp_path / "b.pb").write_bytes(b"changed")
        assert next(reading).body == b"changed"

    def test_a_file_that_vanishes_is_told_and_the_rest_read(self, tmp_path: Path) -> None:
        """Between listing the folder and opening it."""
        write(tmp_path, a__pb=b"a", b__pb=b"b", c__pb=b"c")
        faults: list[Unreadable] = []

        def vanish_after_first() -> Iterator[bytes]:
            for batch in read_recorded(tmp_path, on_unreadable=faults.append):
                (tmp_path / "b.pb").unlink(missing_ok=True)
                yield batch.body

        assert list(vanish_after_first()) == [b"a", b"c"]
        assert [fault.path.name for fault in faults] == ["b.pb"]

    @pytest.mark.parametrize("packed", [False, True])
    def test_progress_grows_to_the_total(self, tmp_path: Path, packed: bool) -> None:
        """In bytes as they lie on the disk, skipped files included."""
        lines = (SPANS + b"\n") * 1_000
        write(tmp_path, truth__json=OTHER, z__pb=b"1234")
        (tmp_path / ("a.jsonl.gz" if packed else "a.jsonl")).write_bytes(gzip.compress(lines) if packed else lines)
        reading = Reading(tmp_path)
        total = sum(file.stat().st_size for file in tmp_path.iterdir())

        read = [done for done, _ in reading.progress]
        assert {of for _, of in reading.progress} == {total}
        assert read == sorted(read)
        assert read[-1] == total
        assert len(read) == 1_000 + 1 + 3
        assert packed or len(set(read)) > 1_000

    def test_a_fault_names_file_reason_and_remedy(self) -> None:
        """In one line."""
        fault = Unreadable(Path("a.jsonl"), "this is wrong", "Do that", 3)

        assert str(fault) == "a.jsonl, line 3: this is wrong. Do that."
