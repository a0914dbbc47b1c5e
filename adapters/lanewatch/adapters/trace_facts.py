"""The facts of a trace: every span read by its convention, before anything is folded or paired.

Facts of a trace do not depend on other traces, so they are made once, however often the trace is then read together with
others that it belongs to.
"""

import msgspec
from msgspec.structs import replace

from lanewatch.adapters.conventions import convention_of, name_of
from lanewatch.adapters.facts import Fact, LlmCall, Search, Shape, Step, ToolRun
from lanewatch.adapters.json_text import names_twice
from lanewatch.adapters.reading import Content, State
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.adapters.work import OverBudgetError, Work
from lanewatch.collector.spans import Span, Trace


class TraceFacts(msgspec.Struct):
    """The facts by kind, each in order of spans. `unread` counts spans that a convention claimed and could not read;
    `over_budget`: reading took more than it may, and was given up. `tree` is there until the facts are remembered.
    """

    trace: Trace
    tree: SpanTree | None = None
    calls: list[LlmCall] = []
    runs: list[ToolRun] = []
    searches: list[Search] = []
    steps: list[Step] = []
    sessions: list[tuple[Span, str]] = []
    conventions: dict[str, None] = {}
    unread: int = 0
    over_budget: bool = False

    def add(self, fact: Fact) -> None:
        """Take in a fact."""
        match fact:
            case LlmCall():
                self.calls.append(fact)
                if self.tree is not None:
                    self.tree.work.spend(len(fact.input) + len(fact.output))
            case ToolRun():
                self.runs.append(_exact(fact))
            case Search():
                self.searches.append(fact)
            case Step():
                self.steps.append(fact)
        if fact.session_id:
            self.sessions.append((fact.span, fact.session_id))


def read_facts(trace: Trace, work: Work | None = None) -> TraceFacts:
    """Read each span. One that its convention can't read is counted in `unread`, the rest is kept."""
    tree = SpanTree(trace, work)
    facts = TraceFacts(trace, tree)
    try:
        for span in trace.spans:
            convention = convention_of(span) if span.relevant else None
            if convention is None:
                continue
            facts.conventions[name_of(convention, span)] = None
            tree.work.spend()
            try:
                for fact in convention.read_span(span, tree):
                    facts.add(fact)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
                facts.unread += 1  # a shape nobody has seen yet: one span is lost, not the trace, and evidence says so
    except OverBudgetError:
        return TraceFacts(trace, over_budget=True)
    return facts


def _exact(run: ToolRun) -> ToolRun:
    """The run; arguments that name one of them twice are text, since runtimes differ in which of the two they take."""
    arguments = run.arguments
    if (
        not isinstance(arguments.value, dict)
        or arguments.raw is None
        or not names_twice(arguments.raw, arguments.value)
    ):
        return run
    return replace(run, arguments=Content(None, arguments.raw, State.AMBIGUOUS), shape=Shape.TEXT)
