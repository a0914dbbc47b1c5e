"""Lexical support: the share of the answer's sentences most of whose content words stand close together in some context.

Weak, and marked `advice`: overlap tells off-topic text from on-topic text and nothing finer. On 120 minimal edits its AUC for
supported against unsupported was 0.35, worse than a coin, because a flipped negation or an exchanged role keeps every word
(0.93 and 0.94 of them) and an honest paraphrase does not (0.45); only invented sentences fall out (0.85). On news summaries it
was 0.58 to 0.81. So it is no faithfulness, and never the ground of an alert. docs/support-signals.md has its own figures.
"""

from collections.abc import Sequence

from lanewatch.monitors.judge.claims import Claim, sentences
from lanewatch.monitors.judge.languages import language_of
from lanewatch.monitors.judge.support.checked import Item, Unread
from lanewatch.monitors.judge.support.words import content_stems

LEAST_WORDS = 3  # content words of a sentence that can be checked
LEAST_SHARE = 0.5  # of them that must stand in two neighbouring sentences of a context
WINDOW = 2


def lexical_items(answer: str, contexts: Sequence[str], question: str | None, told: Sequence[Claim]) -> list[Item]:
    """The sentences of an English answer, each with whether some context shares most of its words.

    Raises Unread where answer or contexts are in another language: stems and stop words are English.
    """
    del question
    if not in_english(answer, contexts):
        raise Unread
    windows = [window for context in contexts for window in _windows(context)]
    items = []
    for claim in told:
        stems = set(content_stems(claim.text))
        if len(stems) >= LEAST_WORDS:
            share = max((len(stems & window) / len(stems) for window in windows), default=0.0)
            items.append(Item(claim.text, claim.start, claim.end, share >= LEAST_SHARE))
    return items


def in_english(answer: str, contexts: Sequence[str]) -> bool:
    """Whether nothing tells that the answer or the contexts are in another language than English."""
    return language_of(answer) in {"en", None} and not all(
        language_of(context) not in {"en", None} for context in contexts
    )


def _windows(context: str) -> list[frozenset[str]]:
    stems = [content_stems(sentence.text) for sentence in sentences(context)]
    if len(stems) < WINDOW:
        return [frozenset(one) for one in stems]
    return [frozenset(stems[at] + stems[at + 1]) for at in range(len(stems) - 1)]
