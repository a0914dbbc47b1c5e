"""The assembler: opening, closing, late spans, duplicates, limits; the order of arrival shows nowhere."""

import random
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.collector.assembler import METRICS, Assembler
from lanewatch.collector.closing import ITEM_BYTES, TRACE_BYTES, AssemblerLimits
from lanewatch.collector.counts import Counts
from lanewatch.collector.spans import CloseReason, LogRecord, Span, Trace

from tests.collector.gathering import Gathering, Part, assert_conserved, decoded, log, names, sid, skeleton, span, tid

Gather = Callable[..., Gathering]
SPAN_BYTES = ITEM_BYTES + 100  # of each span that `span` makes


@pytest.fixture
def gather() -> Iterator[Gather]:
    """Makes assemblers; the conservation law is asserted of each when the test has ended."""
    made: list[Gathering] = []

    def make(**limits: float) -> Gathering:
        made.append(Gathering(**limits))
        return made[-1]

    yield make
    for gathering in made:
        assert_conserved(gathering)


class TestClosing:
    """When a trace is delivered."""

    def test_the_root_closes_after_the_quiet_time(self, gather: Gather) -> None:
        """Two seconds without anything new, and not a moment earlier."""
        g = gather()
        g.add(span(1, 2, parent=1), now=0.0)
        g.add(span(1, 1), now=10.0)

        assert g.assembler.next_due() == 12.0
        assert g.assembler.close_due(11.9) == 0
        assert g.assembler.close_due(12.0) == 1
        assert g.outcomes() == [(CloseReason.ROOT, 0, True)]
        assert names(g.delivered[0]) == [(1, True), (2, True)]
        assert g.assembler.next_due() is None

    @pytest.mark.parametrize(
        "news", [span(1, 2, parent=1), log(1, 1), skeleton(1, 3, 1)], ids=["span", "log", "skeleton"]
    )
    def test_anything_new_prolongs_the_quiet_time(self, gather: Gather, news: Part) -> None:
        """Children may come after their root."""
        g = gather()
        g.add(span(1, 1), now=0.0)
        g.add(news, now=1.5)

        assert g.assembler.next_due() == 3.5

    def test_the_quiet_time_may_be_set_anew(self, gather: Gather) -> None:
        """It holds for traces that are open already: a demonstration is over, and an application is watched from now on."""
        g = gather()
        g.add(span(1, 1), now=0.0)
        g.assembler.wait_after_root(9.0)

        assert g.assembler.close_due(8.9) == 0
        assert g.assembler.close_due(9.0) == 1

    def test_a_resend_does_not_prolong_the_quiet_time(self, gather: Gather) -> None:
        """A client that repeats itself can't keep a trace open."""
        g = gather()
        parts = (span(1, 1), log(1, 1), skeleton(1, 2, 1))
        g.add(*parts, now=0.0)
        g.add(*parts, now=1.5)

        assert g.assembler.next_due() == 2.0

    def test_the_quiet_time_ends_at_the_timeout(self, gather: Gather) -> None:
        """Spans that keep coming can't keep a trace open for longer than the timeout since its first."""
        g = gather()
        for second in range(60):
            g.add(span(1, second + 1, parent=second), now=float(second))

        assert g.assembler.next_due() == 60.0
        assert g.assembler.close_due(60.0) == 1
        assert g.outcomes() == [(CloseReason.TIMEOUT, 0, True)]

    def test_a_trace_whose_root_never_comes_closes_by_timeout(self, gather: Gather) -> None:
        """The parent may be remote and export elsewhere: orphans are delivered all the same."""
        g = gather()
        g.add(span(1, 2, parent=99), now=0.0)

        assert g.assembler.close_due(59.9) == 0
        assert g.assembler.close_due(60.0) == 1
        assert g.outcomes() == [(CloseReason.TIMEOUT, 0, True)]

    def test_a_root_that_no_convention_knows_closes_as_well(self, gather: Gather) -> None:
        """The root is a web server's span as a rule."""
        g = gather()
        g.add(span(1, 2, parent=1), now=0.0)
        g.add(skeleton(1, 1), now=5.0)

        g.assembler.close_due(7.0)

        assert g.outcomes() == [(CloseReason.ROOT, 0, True)]
        assert names(g.delivered[0]) == [(1, False), (2, True)]

    def test_two_roots_are_both_kept(self, gather: Gather) -> None:
        """A second root is a span like any other."""
        g = gather()
        g.add(span(1, 1), span(1, 2), now=0.0)

        g.assembler.close_due(2.0)

        assert names(g.delivered[0]) == [(1, True), (2, True)]

    def test_logs_alone_make_a_trace(self, gather: Gather) -> None:
        """Content may come as events of spans that are never exported here."""
        g = gather()
        g.add(log(1, 1), now=0.0)

        g.assembler.close_due(60.0)

        assert g.delivered == [Trace(tid(1), (), (log(1, 1),), CloseReason.TIMEOUT)]

    def test_adding_closes_first_what_was_due(self, gather: Gather) -> None:
        """What is delivered doesn't depend on how often the timer runs."""
        g = gather()
        g.add(span(1, 1), now=0.0)
        g.add(span(2, 1), now=2.0)

        assert [trace.trace_id for trace in g.delivered] == [tid(1)]

    def test_traces_close_in_the_order_in_which_they_are_due(self, gather: Gather) -> None:
        """Quiet traces and timed-out ones each keep their order."""
        g = gather()
        g.add(span(1, 2, parent=1), now=0.0)
        g.add(span(2, 2, parent=1), now=1.0)
        for n, now in ((3, 50.0), (4, 51.0), (3, 51.5)):
            g.add(span(n, int(now * 10)), now=now)

        due = []
        while (at := g.assembler.next_due()) is not None:
            g.assembler.close_due(at)
            due.append((at, int.from_bytes(g.delivered[-1].trace_id, "big")))

        assert due == [(53.0, 4), (53.5, 3), (60.0, 1), (61.0, 2)]

    def test_a_clock_that_goes_back_stands_still(self, gather: Gather) -> None:
        """Neither closes anything, nor keeps anything open for longer."""
        g = gather()
        g.add(span(1, 2, parent=1), now=100.0)
        g.add(span(1, 1), now=-1000.0)

        assert g.assembler.next_due() == 102.0

    def test_shutdown_delivers_all_that_is_open(self, gather: Gather) -> None:
        """Nothing that was accepted is lost by stopping."""
        g = gather()
        g.add(span(1, 1), span(2, 2, parent=1), log(3, 1), skeleton(4, 1), now=0.0)

        assert g.assembler.close_all(CloseReason.SHUTDOWN) == 3
        assert g.outcomes() == [(CloseReason.SHUTDOWN, 0, True)] * 3
        assert g.assembler.open_traces == 0

    def test_an_empty_request_is_no_event(self, gather: Gather) -> None:
        """Only its unrelated log records are counted."""
        g = gather()
        g.add(unrelated_logs=3)

        assert g.count("spans_irrelevant") == 3
        assert g.assembler.next_due() is None


class TestSkeletons:
    """Spans that no convention knows."""

    def test_a_trace_of_skeletons_alone_is_never_delivered(self, gather: Gather) -> None:
        """Most traffic has nothing to do with agents."""
        g = gather()
        g.add(skeleton(1, 1), skeleton(1, 2, 1), now=0.0)
        g.stop()

        assert g.delivered == []
        assert (g.count("traces_opened"), g.count("spans_irrelevant")) == (0, 2)

    def test_skeletons_that_came_first_join_when_the_trace_opens(self, gather: Gather) -> None:
        """Parent chains run through them; a root among them counts as seen."""
        g = gather()
        g.add(skeleton(1, 1), skeleton(1, 2, 1), skeleton(2, 1), now=0.0)
        g.add(span(1, 3, parent=2), now=1.0)

        assert g.assembler.next_due() == 3.0
        g.stop()
        assert names(g.delivered[0]) == [(1, False), (2, False), (3, True)]
        assert g.assembler.waiting_skeletons == 1

    def test_skeletons_of_a_request_join_the_trace_that_it_opens(self, gather: Gather) -> None:
        """One request may bring both."""
        g = gather()
        g.add(skeleton(1, 1), span(1, 2, parent=1), now=0.0)
        g.stop()

        assert names(g.delivered[0]) == [(1, False), (2, True)]

    def test_a_waiting_skeleton_is_forgotten_after_two_timeouts(self, gather: Gather) -> None:
        """The parent is then missing, as if it had never come."""
        g = gather()
        g.assembler.close_due(0.0)
        g.add(skeleton(1, 1), now=0.0)
        g.assembler.close_due(60.0)
        g.add(span(1, 2, parent=1), now=120.0)
        g.stop()

        assert names(g.delivered[0]) == [(2, True)]

    @pytest.mark.parametrize("skeleton_first", [True, False])
    def test_a_relevant_span_wins_over_its_skeleton(self, gather: Gather, skeleton_first: bool) -> None:
        """One id may come as both when a resend meets another convention table."""
        g = gather()
        parts: list[Part] = [skeleton(1, 1), span(1, 1)]
        g.add(span(1, 2, parent=1), now=0.0)
        for part in parts if skeleton_first else parts[::-1]:
            g.add(part, now=0.0)

        assert g.assembler.open_bytes == TRACE_BYTES + 2 * SPAN_BYTES
        g.stop()
        assert names(g.delivered[0]) == [(1, True), (2, True)]

    def test_waiting_skeletons_are_bounded_and_the_loss_is_counted(self, gather: Gather) -> None:
        """However much traffic has nothing to do with agents."""
        g = gather(max_waiting_skeletons=100)
        for n in range(50):
            g.add(*(skeleton(n * 10 + k, 1) for k in range(10)), now=0.0)

            assert g.assembler.waiting_skeletons <= 110

        assert g.count("skeletons_forgotten") == 500 - g.assembler.waiting_skeletons

    def test_noise_does_not_cut_a_trace(self, gather: Gather) -> None:
        """Skeletons beyond the limit are left out; with all parents there, nothing is missing."""
        g = gather(max_trace_spans=10)
        g.add(span(1, 1), *(skeleton(1, n, 1) for n in range(10, 40)), now=0.0)
        g.add(span(1, 2, parent=1), now=1.0)
        g.stop()

        assert g.outcomes() == [(CloseReason.SHUTDOWN, 0, True)]
        assert len(g.delivered[0].spans) == 12

    def test_a_chain_broken_by_the_limit_is_told(self, gather: Gather) -> None:
        """The parent may be among the skeletons that were left out: the trace can't be called complete."""
        g = gather(max_trace_spans=10)
        g.add(span(1, 1, parent=39), *(skeleton(1, n, 1) for n in range(10, 40)), now=0.0)
        g.stop()

        assert g.outcomes() == [(CloseReason.SHUTDOWN, 0, False)]


class TestLate:
    """What comes after the closing."""

    @pytest.mark.parametrize("late", [span(1, 3, parent=1), log(1, 1)], ids=["span", "log"])
    def test_a_late_item_revises_the_record(self, gather: Gather, late: Span | LogRecord) -> None:
        """The trace is delivered again, with everything, after the quiet time."""
        g = gather()
        g.add(span(1, 1), span(1, 2, parent=1), now=0.0)
        g.assembler.close_due(2.0)
        g.add(late, now=100.0)

        assert (g.assembler.open_traces, g.assembler.revising_traces) == (0, 1)
        assert g.assembler.next_due() == 102.0
        g.assembler.close_due(102.0)
        assert g.outcomes() == [(CloseReason.ROOT, 0, True), (CloseReason.REVISED, 1, True)]
        assert len(g.delivered[1].spans) + len(g.delivered[1].logs) == 3
        assert (g.count("late_spans", "revised"), g.count("record_revisions")) == (1, 1)
        assert g.count("spans_assembled") == 2

    def test_late_items_are_batched_into_one_revision(self, gather: Gather) -> None:
        """Each prolongs the quiet time as before the closing; the next revision counts on."""
        g = gather()
        g.add(span(1, 1), now=0.0)
        g.assembler.close_due(2.0)
        for n, now in ((2, 10.0), (3, 11.0), (4, 12.0), (5, 20.0)):
            g.add(span(1, n, parent=1), now=now)
        g.stop()

        assert g.outcomes()[1:] == [(CloseReason.REVISED, 1, True), (CloseReason.REVISED, 2, True)]
        assert [len(trace.spans) for trace in g.delivered] == [1, 4, 5]

    def test_a_trace_without_its_root_is_revised_once_a_timeout(self, gather: Gather) -> None:
        """An agent that runs for minutes must not be read anew with each of its spans; its root ends the waiting."""
        g = gather()
        for n in range(1, 30):
            g.add(span(1, n + 1, parent=1), now=n * 5.0)
        g.add(span(1, 1), now=150.0)
        g.assembler.close_due(152.0)

        assert [(trace.revision, len(trace.spans)) for trace in g.delivered] == [(0, 12), (1, 24), (2, 30)]
        assert g.outcomes()[-1] == (CloseReason.REVISED, 2, True)

    def test_a_late_resend_revises_nothing(self, gather: Gather) -> None:
        """It is a duplicate, as it was before the closing."""
        g = gather()
        g.add(span(1, 1), log(1, 1), now=0.0)
        g.assembler.close_due(2.0)
        g.add(span(1, 1), span(1, 1, name="other"), log(1, 1), now=10.0)

        assert g.assembler.next_due() is None
        assert (g.count("duplicates", "identical"), g.count("duplicates", "conflicting")) == (2, 1)
        assert len(g.delivered) == 1

    def test_after_the_window_late_spans_are_counted_and_dropped(self, gather: Gather) -> None:
        """The id is remembered for longer than the spans."""
        g = gather(revision_window_seconds=300)
        g.add(span(1, 1), now=0.0)
        g.assembler.close_due(2.0)
        g.add(span(1, 2, parent=1), log(1, 1), now=302.0)
        g.stop()

        assert g.count("late_spans", "dropped") == 2
        assert len(g.delivered) == 1

    def test_without_room_for_its_spans_late_ones_are_dropped(self, gather: Gather) -> None:
        """Memory decides over the window."""
        g = gather(remembered_bytes=TRACE_BYTES + SPAN_BYTES - 1)
        g.add(span(1, 1), now=0.0)
        g.assembler.close_due(2.0)
        g.add(span(1, 2, parent=1), now=3.0)

        assert g.count("late_spans", "dropped") == 1
        assert g.assembler.remembered_bytes == 0

    def test_a_trace_of_which_nothing_is_remembered_opens_anew(self, gather: Gather) -> None:
        """It can't be told from a new one."""
        g = gather(closed_traces_remembered=1)
        g.add(span(1, 1), span(2, 1), now=0.0)
        g.assembler.close_due(2.0)
        g.add(span(1, 2, parent=1), now=3.0)
        g.stop()

        assert g.outcomes()[-1] == (CloseReason.SHUTDOWN, 0, True)
        assert (g.count("traces_opened"), g.assembler.remembered_traces) == (3, 1)

    def test_a_late_parent_that_no_convention_knows_revises(self, gather: Gather) -> None:
        """A chain was broken without it: what it joins may read differently."""
        g = gather()
        g.add(span(1, 3, parent=2), now=0.0)
        g.assembler.close_due(60.0)
        g.add(skeleton(1, 1), skeleton(1, 2, 1), now=61.0)
        g.assembler.close_due(63.0)

        assert g.outcomes() == [(CloseReason.TIMEOUT, 0, True), (CloseReason.REVISED, 1, True)]
        assert names(g.delivered[1]) == [(1, False), (2, False), (3, True)]

    def test_other_late_skeletons_wait_for_the_next_revision(self, gather: Gather) -> None:
        """No chain leads to them, so that alone they change nothing."""
        g = gather()
        g.add(span(1, 1), now=0.0)
        g.assembler.close_due(2.0)
        g.add(skeleton(1, 2, 1), now=3.0)

        assert g.assembler.next_due() is None
        g.add(span(1, 3, parent=2), now=4.0)
        g.stop()
        assert names(g.delivered[1]) == [(1, True), (2, False), (3, True)]


class TestDuplicates:
    """Resends are normal in OTLP."""

    @pytest.mark.parametrize("apart", [False, True], ids=["one request", "two requests"])
    def test_the_same_span_again_is_counted_and_left_out(self, gather: Gather, apart: bool) -> None:
        """Identical content."""
        g = gather()
        if apart:
            g.add(span(1, 1, attributes={"a": [1, 2]}))
            g.add(span(1, 1, attributes={"a": [1, 2]}))
        else:
            g.add(span(1, 1, attributes={"a": [1, 2]}), span(1, 1, attributes={"a": [1, 2]}))
        g.stop()

        assert g.count("duplicates", "identical") == 1
        assert names(g.delivered[0]) == [(1, True)]

    def test_of_conflicting_spans_the_first_wins(self, gather: Gather) -> None:
        """Same id, other content."""
        g = gather()
        g.add(span(1, 1, name="first"), now=0.0)
        g.add(span(1, 1, name="second"), now=1.0)
        g.stop()

        assert g.count("duplicates", "conflicting") == 1
        assert [item.name for item in g.delivered[0].spans] == ["first"]

    @pytest.mark.parametrize("late", [False, True], ids=["open", "closed"])
    def test_a_span_that_says_more_takes_the_place_of_what_it_said_before(self, gather: Gather, *, late: bool) -> None:
        """Sent when it began, and again when it had ended; where its trace is closed, that revises the record."""
        g = gather()
        g.add(span(1, 1, attributes={"a": 1}), now=0.0)
        g.assembler.close_due(2.0 if late else 0.0)
        g.add(span(1, 1, attributes={"a": 1, "b": 2}, size_bytes=150), now=3.0 if late else 0.5)
        g.stop()

        assert [trace.spans[0].attributes for trace in g.delivered] == [{"a": 1}, {"a": 1, "b": 2}][not late :]
        assert (g.count("duplicates", "fuller"), g.count("duplicates")) == (1, 1)
        assert (g.count("record_revisions"), g.count("late_spans")) == (int(late), 0)

    def test_a_span_that_says_less_than_before_changes_nothing(self, gather: Gather) -> None:
        """Whichever comes first: the fuller one is kept."""
        g = gather()
        g.add(span(1, 1, attributes={"a": 1, "b": 2}), span(1, 1, attributes={"a": 1}))
        g.stop()

        assert [item.attributes for item in g.delivered[0].spans] == [{"a": 1, "b": 2}]
        assert g.count("duplicates", "conflicting") == 1

    def test_a_span_that_says_more_than_a_trace_may_hold_changes_nothing(self, gather: Gather) -> None:
        """Else one span, sent over and over with more, would pass the limit."""
        g = gather(max_trace_bytes=10_000)
        g.add(span(1, 1, attributes={"a": 1}))
        g.add(span(1, 1, attributes={"a": 1, "b": 2}, size_bytes=20_000))
        g.stop()

        assert [item.attributes for item in g.delivered[0].spans] == [{"a": 1}]
        assert g.count("duplicates", "conflicting") == 1

    def test_log_records_are_told_apart_by_their_body(self, gather: Gather) -> None:
        """Two messages of one span at one time are two records; the same message again is not."""
        g = gather()
        g.add(log(1, 1, "a"), log(1, 1, "b"), log(1, 1, "a"), log(1, 1, "b", attributes={"x": 1}))
        g.stop()

        assert sorted(record.body["text"] for record in g.delivered[0].logs) == ["a", "b"]
        assert (g.count("duplicates", "identical"), g.count("duplicates", "conflicting")) == (1, 1)

    def test_one_span_id_in_two_traces_is_two_spans(self, gather: Gather) -> None:
        """A span id is unique within its trace only."""
        g = gather()
        g.add(span(1, 1), span(2, 1))
        g.stop()

        assert g.count("duplicates") == 0
        assert len(g.delivered) == 2


class TestLimits:
    """What is bounded, and what a trace says that was cut."""

    def test_a_trace_over_the_span_limit_is_cut(self, gather: Gather) -> None:
        """It is delivered with as many spans as it may have; the others are counted under the limit, once it is closed."""
        g = gather(max_trace_spans=100)
        g.add(span(2, 1), now=0.0)
        g.add(*(span(1, n + 1, parent=9) for n in range(500)), now=0.0)
        g.add(span(1, 999), span(2, 2, parent=1), now=0.0)

        assert g.outcomes() == [(CloseReason.SPAN_LIMIT, 0, False)]
        assert len(g.delivered[0].spans) == 100
        assert g.count("spans_dropped", "span_limit") == 401
        g.stop()
        assert len(g.delivered[1].spans) == 2

    def test_exactly_the_span_limit_is_complete(self, gather: Gather) -> None:
        """A trace is cut only when something of it is lost."""
        g = gather(max_trace_spans=3)
        g.add(span(1, 1), span(1, 2, 1), log(1, 1), now=0.0)
        g.stop()

        assert g.outcomes() == [(CloseReason.SHUTDOWN, 0, True)]

    def test_a_trace_over_the_byte_limit_is_cut(self, gather: Gather) -> None:
        """Bytes are limited as spans are."""
        g = gather(max_trace_bytes=TRACE_BYTES + 2 * SPAN_BYTES)
        g.add(*(span(1, n) for n in range(1, 5)), now=0.0)

        assert g.outcomes() == [(CloseReason.BYTE_LIMIT, 0, False)]
        assert (len(g.delivered[0].spans), g.count("spans_dropped", "byte_limit")) == (2, 2)

    def test_a_lone_span_over_the_byte_limit_is_still_delivered(self, gather: Gather) -> None:
        """A trace without a span would tell nothing; the size of a request bounds it."""
        g = gather(max_trace_bytes=1_000)
        g.add(span(1, 1, size_bytes=5_000), now=0.0)
        g.stop()

        assert names(g.delivered[0]) == [(1, True)]

    def test_a_revision_that_does_not_fit_says_that_it_is_cut(self, gather: Gather) -> None:
        """The record was called complete before: that has to be taken back at once."""
        g = gather(max_trace_spans=2)
        g.add(span(1, 1), span(1, 2, 1), now=0.0)
        g.assembler.close_due(2.0)
        g.add(span(1, 3, 1), now=3.0)
        g.add(span(1, 4, 1), now=4.0)

        assert g.outcomes() == [(CloseReason.ROOT, 0, True), (CloseReason.REVISED, 1, False)]
        assert g.count("spans_dropped", "span_limit") == 2

    def test_big_and_old_traces_are_evicted_first(self, gather: Gather) -> None:
        """Bytes times age decide; enough goes that not each new span evicts again."""
        g = gather(max_open_bytes=10 * SPAN_BYTES, eviction_ratio=0.6, trace_timeout_seconds=60)
        g.add(span(1, 1, 9), now=0.0)
        g.add(*(span(2, n, 9) for n in range(1, 5)), now=0.0)
        g.add(*(span(3, n, 9) for n in range(1, 5)), now=30.0)

        assert [trace.trace_id for trace in g.delivered] == [tid(2)]
        assert g.outcomes() == [(CloseReason.EVICTED, 0, False)]
        assert g.assembler.open_bytes <= 10 * SPAN_BYTES

    def test_traces_that_seem_whole_go_before_any_is_cut(self, gather: Gather) -> None:
        """Their roots have come, and nothing for two seconds: to wait out late spans is for when there is room."""
        g = gather(max_open_traces=2, eviction_ratio=0.5, quiet_after_root_seconds=7.0)
        g.add(span(1, 1), now=0.0)
        g.add(*(span(2, n, 9) for n in range(1, 5)), now=0.0)
        g.add(span(3, 1), now=3.0)

        assert [trace.trace_id for trace in g.delivered] == [tid(1)]
        assert g.outcomes() == [(CloseReason.ROOT, 0, True)]

    def test_after_an_eviction_its_spans_are_dropped_under_that_reason(self, gather: Gather) -> None:
        """Taking them up again would undo the eviction."""
        g = gather(max_open_traces=1)
        g.add(span(1, 1, 9), span(2, 1, 9), span(1, 2, 9), now=0.0)

        assert g.outcomes() == [(CloseReason.EVICTED, 0, False)]
        assert g.count("spans_dropped", "evicted") == 1

    def test_skeletons_of_open_traces_count_as_memory(self, gather: Gather) -> None:
        """They evict as spans do."""
        g = gather(max_open_bytes=20_000)
        g.add(span(1, 1, 9), now=0.0)
        g.add(*(skeleton(1, n, 9) for n in range(100, 200)), now=0.0)

        assert g.outcomes() == [(CloseReason.EVICTED, 0, False)]

    def test_memory_can_be_asked_back(self, gather: Gather) -> None:
        """Half of what is open goes, and all content of closed traces; their ids stay."""
        g = gather(max_open_traces=10)
        g.add(span(99, 1), now=0.0)
        g.assembler.close_due(2.0)
        g.add(*(span(n, 1, 9) for n in range(10)), now=2.0)

        assert g.assembler.relieve() == 5
        assert (g.assembler.open_traces, g.assembler.remembered_bytes) == (5, 0)
        g.add(span(99, 2, 1), now=3.0)
        assert g.count("late_spans", "dropped") == 1

    def test_memory_is_given_back_a_slice_at_a_time(self, gather: Gather) -> None:
        """Ten thousand traces at once would hold up the receivers; the next reading of the memory takes the next slice."""
        g = gather(max_open_traces=10)
        g.assembler.closings_at_once = 2
        g.add(*(span(n, 1, 9) for n in range(10)), now=2.0)

        assert [g.assembler.relieve() for _ in range(4)] == [2, 2, 1, 0]

    def test_a_flood_of_trace_ids_keeps_memory_flat(self, gather: Gather) -> None:
        """Open traces, remembered ids and waiting skeletons all stay within their limits while ids never repeat."""
        g = gather(max_open_traces=100, closed_traces_remembered=100, max_waiting_skeletons=100)
        peaks = []
        tracemalloc.start()
        for n in range(20_000):
            g.add(span(n, 1, 9), skeleton(100_000 + n, 1), now=n * 60 / 20_000)
            g.delivered.clear()
            if n % 4_000 == 3_999:
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.reset_peak()
        tracemalloc.stop()

        assert max(peaks[1:]) < 1.1 * peaks[0]
        assert g.assembler.open_traces <= 100
        assert g.assembler.remembered_traces <= 100
        assert g.count("traces_opened") == 20_000
        g.delivered = [Trace(tid(0), ())] * g.count("traces_closed")  # they were let go one by one


def test_a_delivery_that_raises_loses_nothing_but_itself() -> None:
    """The request is gathered whole, the error is seen, and the other traces come with the next call."""
    g = Gathering()

    def refuse_the_first(trace: Trace) -> None:
        if trace.trace_id == tid(1):
            raise RuntimeError("no room")
        g.delivered.append(trace)

    g.assembler = Assembler(refuse_the_first, g.limits, g.counts)
    g.add(span(1, 1), span(2, 1), span(3, 1), now=0.0)

    with pytest.raises(RuntimeError, match="no room"):
        g.add(span(4, 1), span(5, 1), now=10.0)
    assert g.assembler.next_due() == 10.0
    assert g.assembler.close_due(10.0) == 0
    assert [trace.trace_id for trace in g.delivered] == [tid(2), tid(3)]
    g.stop()
    assert len(g.delivered) == 4
    assert (g.count("spans_assembled"), g.count("traces_closed")) == (5, 5)


def test_every_known_label_is_exported_from_the_start() -> None:
    """A scrape before the first span shows zeros, for each reason that can be counted."""
    families = {metric.name: values for metric, values in Counts(METRICS).families()}
    reasons = {reason.value for reason in CloseReason} - {"revised"}

    assert {labels[0] for labels in families["lanewatch_traces_closed"]} == reasons
    assert {labels[0] for labels in families["lanewatch_spans_dropped"]} == {"span_limit", "byte_limit", "evicted"}
    assert all(not metric.name.endswith("_total") for metric in METRICS)


def test_the_defaults_are_the_documented_ones() -> None:
    """They are an interface: docs/settings.md and configuration state them."""
    limits = AssemblerLimits()

    assert (limits.quiet_after_root_seconds, limits.trace_timeout_seconds, limits.revision_window_seconds) == (
        7,
        60,
        300,
    )
    assert (limits.max_trace_spans, limits.max_open_traces, limits.closed_traces_remembered) == (20_000, 20_000, 10_000)
    assert (limits.max_trace_bytes, limits.max_open_bytes, limits.remembered_bytes) == (16 << 20, 128 << 20, 64 << 20)


# One trace's parts: a tree whose node n hangs below n // 2, each either a span or a skeleton, and log records of nodes.
@st.composite
def traces(draw: st.DrawFn) -> list[Part]:
    """Parts of one trace with at least one item, each once."""
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=12))
    start = draw(st.integers(1, 2))  # from 2 on the root never comes
    parts: list[Part] = [
        span(1, n, n // 2, start_ns=n // 3) if relevant else skeleton(1, n, n // 2)
        for n, relevant in enumerate(kinds, start)
    ]
    parts += [log(1, n, str(n % 2), time_ns=n // 2) for n in draw(st.sets(st.integers(0, 12), max_size=5))]
    return parts if any(isinstance(part, (Span, LogRecord)) for part in parts) else [*parts, span(1, 50, 7)]


def shuffled(parts: list[Part], seed: int) -> list[list[Part]]:
    """The parts and some of them again, in another order, split into requests."""
    rng = random.Random(seed)
    again = parts + rng.sample(parts, rng.randint(0, len(parts)))
    rng.shuffle(again)
    cuts = sorted(rng.sample(range(len(again) + 1), min(len(again), rng.randint(0, 4))))
    return [again[i:j] for i, j in zip([0, *cuts], [*cuts, len(again)], strict=True)]


def whole(parts: list[Part]) -> Trace:
    """What the parts make in one request."""
    g = Gathering()
    g.add(*parts)
    g.stop()
    return g.delivered[0]


@given(traces(), st.integers())
def test_the_order_of_arrival_shows_nowhere(parts: list[Part], seed: int) -> None:
    """Any split, order and repetition of a trace's parts delivers the same trace."""
    g = Gathering()
    for request in shuffled(parts, seed):
        g.add(*request)
    g.stop()

    assert g.delivered == [whole(parts)]
    assert_conserved(g)


def chain(trace: Trace, of: bytes) -> list[bytes]:
    """The ancestors of a span, as far as they are there."""
    parents = {item.span_id: item.parent_id for item in trace.spans}
    ids: list[bytes] = []
    while of in parents and of not in ids:
        ids.append(of)
        of = parents[of]
    return ids


@given(traces(), st.integers(), st.lists(st.sampled_from([0.0, 1.0, 3.0, 7.0]), min_size=6, max_size=6))
def test_revisions_end_where_one_closing_would(parts: list[Part], seed: int, pauses: list[float]) -> None:
    """However many closings come between, the last one has every item and every parent chain of the whole trace."""
    g, now = Gathering(), 0.0
    for request, pause in zip(shuffled(parts, seed), pauses, strict=False):
        g.add(*request, now=now)
        now += pause
    g.stop()

    last, expected = g.delivered[-1], whole(parts)
    assert [item for item in last.spans if item.relevant] == [item for item in expected.spans if item.relevant]
    assert last.logs == expected.logs
    starts = [item.span_id for item in expected.spans if item.relevant] + [item.span_id for item in expected.logs]
    assert [chain(last, start) for start in starts] == [chain(expected, start) for start in starts]
    assert [trace.revision for trace in g.delivered] == list(range(len(g.delivered)))
    assert_conserved(g)


def test_cycles_of_parents_are_handed_on() -> None:
    """Malformed parents are the readers' business; here they neither hang nor vanish."""
    g = Gathering()
    g.add(span(1, 1, parent=1), span(1, 2, parent=3), span(1, 3, parent=2), skeleton(1, 4, parent=4))
    g.stop()

    assert [item.parent_id for item in g.delivered[0].spans] == [sid(1), sid(3), sid(2), sid(4)]
    assert_conserved(g)


def test_decoded_requests_are_left_as_they_are() -> None:
    """The caller may look at a request after it was added."""
    request = decoded(span(1, 1), skeleton(1, 2), log(1, 1))
    before = decoded(*request.spans, *request.skeletons, *request.logs)

    Assembler(lambda _: None, AssemblerLimits(), Counts(METRICS)).add(request, 0.0)

    assert request == before


def test_a_flood_of_traces_that_are_due_is_closed_in_parts() -> None:
    """What was opened in one second is due in one second, and closing it at once would hold the loop."""
    g = Gathering(trace_timeout_seconds=10.0)
    g.assembler.closings_at_once = 100
    g.add(*[span(number, 1, parent=9) for number in range(1, 251)], now=0.0)
    closed = [g.assembler.close_due(10.0) for _ in range(4)]

    assert closed == [100, 100, 50, 0]
    assert_conserved(g)
