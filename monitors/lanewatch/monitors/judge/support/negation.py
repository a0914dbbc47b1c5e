"""Negation agreement: of the answer's sentences that are worded like one of a context, the share that says yes or no alike.

Weak, and marked `advice`: on 120 minimal edits its AUC for supported against unsupported was 0.49, a coin; 0.76 for flipped
negations alone, for "not valid" and "invalid" are the same and only one has a negator. A sentence that no context words alike
is not checked, which is most of them. So it points a person at a sentence, and never grounds an alert.
"""

from collections.abc import Sequence

from lanewatch.monitors.judge.claims import Claim, sentences
from lanewatch.monitors.judge.support.checked import Item, Unread
from lanewatch.monitors.judge.support.lexical import LEAST_WORDS, in_english
from lanewatch.monitors.judge.support.words import NEGATORS, content_stems, words_of

LEAST_SHARE = 0.7  # of a sentence's content words that its counterpart must have
_UNDOING = frozenset({"only", "just", "merely", "least", "than", "later", "necessarily"})  # "not only", "no later than"


def negation_items(answer: str, contexts: Sequence[str], question: str | None, told: Sequence[Claim]) -> list[Item]:
    """The sentences of an English answer that have a counterpart, each with whether both are negated or neither is.

    Raises Unread where answer or contexts are in another language: the negators are English.
    """
    del question
    if not in_english(answer, contexts):
        raise Unread
    there = [(set(content_stems(one.text)), one.text) for context in contexts for one in sentences(context)]
    items = []
    for claim in told:
        stems = set(content_stems(claim.text))
        if len(stems) < LEAST_WORDS or not there:
            continue
        share, counterpart = max(
            ((len(stems & its) / len(stems), text) for its, text in there), key=lambda pair: pair[0]
        )
        if share >= LEAST_SHARE:
            items.append(Item(claim.text, claim.start, claim.end, negated(claim.text) is negated(counterpart)))
    return items


def negated(text: str) -> bool:
    """Whether an English sentence has an odd number of negators.

    >>> negated("It is not open."), negated("It isn't never open."), negated("Not only is it open.")
    (True, False, False)
    """
    words = words_of(text)
    count = sum(
        word in NEGATORS and not (at + 1 < len(words) and words[at + 1] in _UNDOING) for at, word in enumerate(words)
    )
    return count % 2 == 1
