"""Objects out of the reprs that Python writes of pydantic models: `Name(key='text', list=[Other(...)])`.

Nothing is evaluated: the text is parsed as an expression, and only calls of bare names with keywords, lists and literals
are taken from it.
"""

import ast
import warnings
from typing import Any

from lanewatch.adapters.json_text import is_too_deep, without_surrogates
from lanewatch.adapters.reading import LITERAL_LIMIT

CLASS = "__class__"  # the key under which an object's class name stands


def parse_repr(text: str) -> Any:
    """The value of a repr: an object is a dictionary with its class name under CLASS. ValueError for anything else."""
    if len(text) > LITERAL_LIMIT:
        raise ValueError("too long for a repr")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a SyntaxWarning would print the text
            tree = ast.parse(text.strip(), mode="eval")
        value = _value(tree.body)
    except (SyntaxError, TypeError, MemoryError, RecursionError, ValueError):
        raise ValueError("no repr") from None
    if is_too_deep(value):
        raise ValueError("nested too deeply")
    return value


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        fields = {keyword.arg: _value(keyword.value) for keyword in node.keywords if keyword.arg is not None}
        return {CLASS: node.func.id, **fields}
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {
            str(_value(key)): _value(item) for key, item in zip(node.keys, node.values, strict=True) if key is not None
        }
    literal = ast.literal_eval(node)
    return without_surrogates(literal) if isinstance(literal, str) else literal
