"""Holds a judge's answer to what was asked: as many verdicts as claims, each of the values that the question allows.

Ragas takes what it is given: four verdicts for five statements make a score, a rating of 7 another try, a missing classification a
no. Here each answer's form is a row, and what does not fit is `InvalidAnswer`. A verdict may come as 1, 1.0, true or "1";
never as a word or a fraction. Nor does it fit that there is nothing to judge where Lanewatch's own look (`own_look`) sees what is plain:
else a judge that stopped judging would leave no score, no failure and no alarm. That an answer evades is believed.
"""

from collections.abc import Callable
from typing import Any

from lanewatch.monitors.judge.failures import InvalidAnswer
from lanewatch.monitors.judge.own_look import states_something

MAX_TOPICS = 20  # each is a call
MAX_STATEMENTS = 200
_BINARY = (0, 1)
_RATINGS = (0, 1, 2)

Check = Callable[[Any, dict[str, Any]], bool]


def checked(response_model: Any, answer: dict[str, Any], given: dict[str, Any]) -> Any:
    """The answer as the pydantic model that Ragas asked for. `given` is the input that the question was of.

    Raises `InvalidAnswer` for a wrong form, count or range, and for a model that no row is of.
    """
    check = CHECKS.get(response_model.__name__)
    try:
        value = response_model.model_validate(
            _as_text(answer) if response_model.__name__ in _VERDICT_AS_TEXT else answer
        )
    except (ValueError, RecursionError):  # pydantic's ValidationError is a ValueError
        raise InvalidAnswer from None
    if check is None or not check(value, given):
        raise InvalidAnswer
    return value


def _as_text(answer: dict[str, Any]) -> dict[str, Any]:
    """This model alone wants its verdict as text, and judges answer 1 all the same."""
    verdict = answer.get("verdict")
    return {**answer, "verdict": str(int(verdict))} if verdict in _BINARY else answer


def _text(given: dict[str, Any], name: str) -> str:
    found = given.get(name)
    return found if isinstance(found, str) else ""


def _all_said(texts: list[str], most: int) -> bool:
    return len(texts) <= most and all(text.strip() for text in texts)


CHECKS: dict[str, Check] = {
    "StatementGeneratorOutput": lambda value, given: (
        _all_said(value.statements, MAX_STATEMENTS)
        and (bool(value.statements) or not states_something(_text(given, "answer")))
    ),
    "NLIStatementOutput": lambda value, given: (
        len(value.statements) == len(given.get("statements", ()))
        and all(one.verdict in _BINARY for one in value.statements)
    ),
    "ResponseGroundednessOutput": lambda value, _: value.rating in _RATINGS,
    "ContextRelevanceOutput": lambda value, _: value.rating in _RATINGS,
    "ContextPrecisionOutput": lambda value, _: value.verdict in _BINARY,
    "AnswerRelevanceOutput": lambda value, _: value.noncommittal in _BINARY and bool(value.question.strip()),
    "WorkflowOutput": lambda value, _: _all_said([value.user_goal, value.end_state], 2),
    "CompareOutcomeOutput": lambda value, _: value.verdict in {"0", "1"},
    "TopicExtractionOutput": lambda value, given: (
        _all_said(value.topics, MAX_TOPICS) and (bool(value.topics) or not states_something(_text(given, "user_input")))
    ),
    "TopicRefusedOutput": lambda value, _: isinstance(value.refused_to_answer, bool),
    "TopicClassificationOutput": lambda value, given: len(value.classifications) == len(given.get("topics", ())),
}
_VERDICT_AS_TEXT = {"CompareOutcomeOutput"}
