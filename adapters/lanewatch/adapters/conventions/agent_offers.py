"""Tools that an agent's span lists and its model calls do not: who offers them to the models is the span above."""

from itertools import islice
from typing import Any

from lanewatch.adapters.conventions import otel_genai
from lanewatch.adapters.span_tree import SpanTree
from lanewatch.collector.spans import Span

DEFINITIONS = "gen_ai.tool.definitions"
LEVELS = 4  # a loop's span, a middleware's, the agent's


def offered_above(span: Span, tree: SpanTree) -> dict[str, Any] | None:
    """Tools of the nearest span above that lists some: name -> JSON Schema of the arguments; None where none does."""
    for above in islice(tree.ancestors(span), LEVELS):
        if DEFINITIONS in above.attributes:
            key = (DEFINITIONS, above.span_id)
            if key not in tree.memo:
                known = not above.dropped_attributes
                tree.memo[key] = otel_genai.offered_tools(above.attributes) if known else None
            offered: dict[str, Any] | None = tree.memo[key]
            return offered
    return None
