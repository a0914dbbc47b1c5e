"""Lanewatch's own look at a text, held against a judge that finds nothing in it: deterministic, and sure only of what is plain.

A judge that says of every answer that it claims nothing leaves no score, and with that no mean that could fall. A text of several whole
sentences can't be nothing: such a verdict is invalid, and no absence. The look is one-sided: of shorter texts, of greetings and of
refusals it says nothing, and the judge is believed. A figure alone tells nothing ("Error 500: please try again."), and whether an
answer evades is not looked at: "Your ticket #48213 has been created." may rightly be called that, and a sound verdict that is
refused is a score that is missing. A judge that calls everything evasive is found by the canaries.
"""

from lanewatch.adapters.dispositions.texts import judge as disposition_of
from lanewatch.adapters.records import Disposition
from lanewatch.monitors.judge.claims import claims

SEVERAL = 3  # sentences: evasions have one or two, and a judge that splits text finds statements in any that have more
LEAST_CHARACTERS = 20  # of a sentence that counts: "Hello there!" and "Bye for now." claim nothing
MOST_CHARACTERS = 20_000  # that are looked at: the first sentences tell it
_WITHHELD = frozenset({Disposition.REFUSED, Disposition.ABSTAINED})


def states_something(text: str) -> bool:
    """Whether a text surely claims something: several whole sentences, and no refusal or abstention.

    >>> states_something("It was built in 1932. Ito Endo drew the plans. The river is 40 m wide there.")
    True
    >>> states_something("It was built in 1932."), states_something("Hello! Good to see you. Bye!")
    (False, False)
    """
    looked = text[:MOST_CHARACTERS]
    if sum(len(claim.text) >= LEAST_CHARACTERS for claim in claims(looked)) < SEVERAL:
        return False
    found = disposition_of(looked)
    return found is None or found.disposition not in _WITHHELD
