"""The tree of a trace: parents as far as they are known, and walks that end."""

from lanewatch.adapters.span_tree import SpanTree

from tests.adapters.spans import log, span, span_id, trace


def _names(spans: object) -> list[str]:
    return [one.name for one in spans]  # type: ignore[attr-defined]


def test_ancestors_lead_up_to_the_root() -> None:
    """Parent, grandparent, ..."""
    leaf = span("leaf", under="middle")
    tree = SpanTree(trace(span("root"), span("middle", under="root"), leaf))

    assert _names(tree.ancestors(leaf)) == ["middle", "root"]
    assert (tree.depth(leaf), tree.top(leaf).name, tree.rooted) == (2, "root", True)


def test_a_missing_parent_ends_the_walk_and_the_tree_is_not_rooted() -> None:
    """A process died, or a span was lost: what it held is a tree of its own."""
    orphan = span("orphan", under="lost")
    tree = SpanTree(trace(span("root"), orphan))

    assert (list(tree.ancestors(orphan)), tree.top(orphan), tree.rooted) == ([], orphan, False)
    assert tree.parent(orphan) is None


def test_a_cycle_is_cut_at_its_earliest_span() -> None:
    """A broken emitter must not hang a walk."""
    first, second, own = (
        span("a", under="b", at=(0, 9)),
        span("b", under="a", at=(1, 2)),
        span("c", under="c", at=(3, 4)),
    )
    tree = SpanTree(trace(first, second, own))

    assert _names(tree.ancestors(second)) == ["a"]
    assert (list(tree.ancestors(first)), list(tree.ancestors(own)), tree.rooted) == ([], [], False)


def test_children_come_in_order_of_start() -> None:
    """Spans of a trace are sorted, and so are the children."""
    root = span("root", at=(0, 9))
    tree = SpanTree(trace(span("late", under="root", at=(5, 6)), root, span("early", under="root", at=(1, 2))))

    assert _names(tree.children(root)) == ["early", "late"]
    assert _names(tree.order)[0] == "root"


def test_the_nearest_marked_ancestor_is_found_for_every_span() -> None:
    """In one pass, whatever the depth."""
    chain = [span(str(number), under=str(number - 1) if number else "", at=(number, 20_000)) for number in range(5000)]
    tree = SpanTree(trace(*chain))
    marked = {span_id("0"), span_id("4000")}
    nearest = tree.nearest_above(marked)

    assert span_id("0") not in nearest
    assert nearest[span_id("4000")] == span_id("0")
    assert nearest[span_id("4999")] == span_id("4000")


def test_logs_belong_to_their_span() -> None:
    """GenAI events arrive apart and are joined by span id."""
    one = span("a")
    tree = SpanTree(trace(one, logs=(log("a", "gen_ai.choice"), log("b", "gen_ai.choice"))))

    assert len(tree.logs(one)) == 1


def test_what_follows_beside_a_span_begins_when_it_has_ended() -> None:
    """In order of start, under the same parent; roots have nobody beside them."""
    one = span("one", under="root", at=(1, 2))
    others = (
        span("during", under="root", at=(1.5, 3)),
        span("next", under="root", at=(2, 3)),
        span("last", under="root", at=(4, 5)),
    )
    root = span("root", at=(0, 9))
    tree = SpanTree(trace(root, one, *others, span("inside", under="one", at=(2, 3))))

    assert _names(tree.later_beside(one)) == ["next", "last"]
    assert _names(tree.later_beside(root)) == []


def test_an_attribute_that_many_ask_for_is_decoded_once() -> None:
    """A thousand tools below one step all look for their call in its input."""
    step = span("step", {"input": '{"a": 1}', "text": "x"})
    tree = SpanTree(trace(step))

    assert tree.read_json(step, "input") is tree.read_json(step, "input")
    assert (tree.read_json(step, "input"), tree.read_json(step, "text"), tree.read_json(step, "none")) == (
        {"a": 1},
        None,
        None,
    )
