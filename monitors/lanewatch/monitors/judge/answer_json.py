"""Finds the one JSON object in what a judge said: behind code fences, after its thinking, amid prose, or alone in a list.

What is JSON is taken out and nothing is mended: single quotes and trailing commas are left to be asked again, since a guess at what
was meant would be a score that nobody gave. Two different objects are no answer either.
"""

import json
import re
from typing import Any

import msgspec

from lanewatch.monitors.judge.failures import InvalidAnswer

# What follows the last closing tag counts. An opening one that is never closed has swallowed the answer.
_THOUGHT_ENDS = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_BEGINS = re.compile(r"\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = "```"
_LANGUAGE = re.compile(r"[a-zA-Z0-9_-]{0,20}")
_MAX_CHARACTERS = 400_000
_MAX_STARTS = 64  # places where an object may begin: prose with a thousand braces is no answer


def object_of(text: str) -> dict[str, Any]:
    """The JSON object in a judge's text. Raises `InvalidAnswer` where there is none, or more than one."""
    if len(text) > _MAX_CHARACTERS:
        raise InvalidAnswer
    said = _after_thinking(text)
    for candidate in (said, *_fenced(said)):
        whole = _decoded(candidate)
        if isinstance(whole, list) and len(whole) == 1:
            whole = whole[0]
        if isinstance(whole, dict):
            return whole
    objects = _objects_amid(said)
    if not objects or any(one != objects[0] for one in objects):
        raise InvalidAnswer
    return objects[0]


def _fenced(text: str) -> list[str]:
    """What stands between code fences, without the name of a language."""
    blocks = text.split(_FENCE, 2 * _MAX_STARTS)[1::2]
    return [_LANGUAGE.sub("", block, count=1) for block in blocks]


def _after_thinking(text: str) -> str:
    ends = list(_THOUGHT_ENDS.finditer(text))
    if ends:
        return text[ends[-1].end() :].strip()
    if _THOUGHT_BEGINS.match(text):
        raise InvalidAnswer
    return text.strip()


def _decoded(text: str) -> Any:
    """The JSON value that a text is as a whole, else None. Python's own reader takes NaN and Infinity, which are no JSON."""
    try:
        return msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def _objects_amid(text: str) -> list[dict[str, Any]]:
    """Every outermost object in prose, in order."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    objects, at = [], text.find("{")
    for _ in range(_MAX_STARTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            objects.append(value)
        at = text.find("{", end)
    return objects


def _no_constant(name: str) -> Any:
    raise ValueError(name)
