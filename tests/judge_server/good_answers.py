"""A judge without a model: right answers in form, by the schema that a request asks for.

What it says is fixed (every claim supported, every rating full) unless a test puts its own function in its place.
"""

import json
import re
from collections.abc import Callable
from typing import Any

# Ragas writes the schema of the answer between these two, and the traced input after the third.
_SCHEMA = re.compile(r"JSON Schema:\n(\{.*?\})Do not use single quotes", re.DOTALL)
_INPUT = re.compile(r"(?s).*following input\ninput: (.*)\nOutput: ")
_OPENING = re.compile(r"<data-[0-9a-f]+>|</data-[0-9a-f]+>")

Answers = Callable[[str, Any, str], Any]


def asked_of(body: dict[str, Any]) -> tuple[str, Any, str]:
    """The title of the answer's schema ("" where none was found), the traced input as JSON or None, and the whole prompt."""
    prompt = "\n".join(str(message.get("content")) for message in body.get("messages", []))
    form = body.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema") if form.get("type") == "json_schema" else None
    if schema is None and (found := _SCHEMA.search(prompt)):
        schema = json.loads(found[1])
    return (schema or {}).get("title", ""), _input_of(prompt), prompt


def _input_of(prompt: str) -> Any:
    found = _INPUT.match(prompt)
    try:
        return json.loads(_OPENING.sub("", found[1])) if found else None
    except ValueError:
        return None


def good_answer(title: str, given: Any, prompt: str) -> Any:
    """What a satisfied judge says to Ragas' prompts and to Lanewatch's own; `{"ok": True}` to anything else."""
    given = given if isinstance(given, dict) else {}
    sentences = [one for one in re.split(r"(?<=[.!?])\s+", str(given.get("answer") or "")) if one]
    claims = given.get("claims") or given.get("statements") or []
    topics = given.get("topics") or []
    answers: dict[str, Any] = {
        "StatementGeneratorOutput": {"statements": sentences or ["A statement."]},
        "NLIStatementOutput": {
            "statements": [{"statement": one, "reason": "it says so", "verdict": 1} for one in claims]
        },
        "ResponseGroundednessOutput": {"rating": 2},
        "ContextRelevanceOutput": {"rating": 2},
        "AnswerRelevanceOutput": {"question": "What is asked?", "noncommittal": 0},
        "ContextPrecisionOutput": {"reason": "useful", "verdict": 1},
        "WorkflowOutput": {"user_goal": "a goal", "end_state": "the goal reached"},
        "CompareOutcomeOutput": {"reason": "the same", "verdict": "1"},
        "TopicExtractionOutput": {"topics": ["first", "second"]},
        "TopicRefusedOutput": {"refused_to_answer": False},
        "TopicClassificationOutput": {"classifications": [True for _ in topics]},
        "ClaimVerdicts": {"verdicts": [{"claim": n + 1, "verdict": "supported"} for n in range(len(claims))]},
    }
    return answers.get(title, {"ok": True})


def embedding(text: str, size: int = 8) -> list[float]:
    """A vector that is the same for the same text, of letters' counts: never zero."""
    return [1.0 + sum(1 for letter in text.lower() if ord(letter) % size == n) for n in range(size)]
