"""What a signal checked in an answer, and the result that makes: a share of what was checked, beside how much that was."""

from collections.abc import Sequence

import msgspec

from lanewatch.monitors.judge.claims import Claim
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result

SHOWN = 5  # of what no context holds, in an explanation
SHOWN_CHARACTERS = 80
ADVICE = "advice"  # a signal at chance level on minimal edits: for a person's eye, never for an alert


class Item(msgspec.Struct, frozen=True):
    """One thing that could be checked: a number, a name, a quote, a sentence. Positions are of the answer's plain text."""

    text: str
    start: int
    end: int
    supported: bool


class Unread(Exception):  # noqa: N818 - no error: the signal does not know this language
    """The text is in a language that the signal's rules are not written for."""


def checked(items: Sequence[Item], told: Sequence[Claim], nothing: Reason, *, advice: bool = False) -> Result:
    """The result: supported items / items, and the share of the answer's claims that hold an item.

    Where nothing was to be checked it is not applicable by the reason `nothing`: neither 0 nor 1 is true then.
    """
    if not items:
        return Result(EvaluationOutcome.NOT_APPLICABLE, nothing)
    n_covered = sum(any(item.start < claim.end and claim.start < item.end for item in items) for claim in told)
    missing = [item for item in items if not item.supported]
    return Result(
        EvaluationOutcome.SCORED,
        value=(len(items) - len(missing)) / len(items),
        coverage=n_covered / len(told) if told else None,
        explanation=_said(missing, len(items)),
        flags=(ADVICE,) if advice else (),
    )


def _said(missing: Sequence[Item], n_checked: int) -> str:
    if not missing:
        return f"all {n_checked} found in the contexts"
    shown = "; ".join(_short(item.text) for item in missing[:SHOWN])
    more = f"; and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    return f"{len(missing)} of {n_checked} in no context: {shown}{more}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "\u2026"
