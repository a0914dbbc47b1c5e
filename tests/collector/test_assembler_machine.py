"""The assembler against its model, over any sequence of requests, waits and shortages."""

import random

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from lanewatch.collector.spans import CloseReason

from tests.collector.assembler_model import LIMITS, Model, shown
from tests.collector.gathering import Gathering, Part, assert_conserved, log, skeleton, span


def make(kind: str, trace: int, node: int, variant: str) -> Part:
    """A part of a trace, whose node n hangs below n // 2; the variant makes spans conflict and log records differ."""
    if kind == "log":
        return log(trace, node, variant)
    if kind == "skeleton":
        return skeleton(trace, node, node // 2)
    return span(trace, node, node // 2, name=variant, attributes={"ended": True} if kind == "ended" else {})


# As many nodes as a trace may have skeletons, so that none is ever refused.
nodes = st.integers(1, LIMITS.max_trace_spans)
parts = st.builds(
    make,
    st.sampled_from(["span", "span", "ended", "skeleton", "log"]),
    st.integers(1, 6),
    nodes,
    st.sampled_from("aab"),
)
pauses = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, 31.0, 61.0, 130.0])


class Machine(RuleBasedStateMachine):
    """Does the same to both, and compares what they delivered and counted after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Part] = []
        self.model = Model()
        self.gathering = Gathering(**msgspec.structs.asdict(LIMITS))

    def closed_traces(self) -> list[int]:
        """Traces that were delivered and are not open."""
        held = self.model.held
        return [int.from_bytes(trace_id, "big") for trace_id in held if held[trace_id].closed is not None]

    def send(self, request: list[Part], pause: float) -> None:
        """Add a request to both."""
        self.sent += request
        self.model.advance(pause)
        self.model.add(request)
        self.gathering.add(*request, now=self.model.now)

    @rule(request=st.lists(parts, max_size=8), pause=pauses)
    def add(self, request: list[Part], pause: float) -> None:
        """A request arrives, after a while."""
        self.send(request, pause)

    @precondition(lambda self: self.sent)
    @rule(seed=st.integers(), size=st.integers(1, 8), pause=pauses)
    def send_again(self, seed: int, size: int, pause: float) -> None:
        """Some of what was sent before arrives again, in another order."""
        self.send(random.Random(seed).choices(self.sent, k=size), pause)

    @precondition(lambda self: self.closed_traces())
    @rule(seed=st.integers(), kind=st.sampled_from(["span", "log", "skeleton"]), node=nodes, pause=pauses)
    def send_late(self, seed: int, kind: str, node: int, pause: float) -> None:
        """Something of a closed trace arrives."""
        self.send([make(kind, random.Random(seed).choice(self.closed_traces()), node, "a")], pause)

    @rule(pause=pauses)
    def wait(self, pause: float) -> None:
        """Time passes, and the timer runs."""
        self.model.advance(pause)
        self.gathering.assembler.close_due(self.model.now)

    @rule()
    def run_out_of_memory(self) -> None:
        """Memory is asked back."""
        self.model.relieve()
        self.gathering.assembler.relieve()

    @rule()
    def close_all(self) -> None:
        """The input ends."""
        self.model.close_all()
        self.gathering.assembler.close_all(CloseReason.SHUTDOWN)

    @invariant()
    def both_say_the_same(self) -> None:
        """The same deliveries of the same content, the same counts, the same next closing; and the counts add up."""
        delivered = sorted((shown(trace) for trace in self.gathering.delivered), key=lambda one: one[:2])
        due = [held.due()[0] for held in self.model.opened().values()]

        assert delivered == sorted(self.model.delivered, key=lambda one: one[:2])
        assert {name: self.gathering.count(*name.split()) for name in self.model.counts} == dict(self.model.counts)
        assert self.gathering.assembler.next_due() == min(due, default=None)
        assert_conserved(self.gathering)


Machine.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestAssemblerAgainstItsModel = Machine.TestCase
