"""Whether an answer's text is a refusal: the model will not do what it was asked, in the first person, right away.

The list of phrases is short on purpose, since a wrong alarm costs more trust than a missed polite sentence. An answer
that could not find something, asks for what it lacks, or goes on to help refuses nothing.
"""

import re
from typing import NamedTuple

from lanewatch.adapters.records import Disposition

LENGTH = 600  # characters; a longer answer that opens politely usually goes on to help

_SORRY = (
    r"((i.?m|i am) (very |really |so )?(sorry|afraid),? (but |that )?|sorry,? (but )?|unfortunately,? (but )?"
    r"|(my|i) apologi[sz]e?s?,? (but )?)?"
)
_UNABLE = (
    r"(i|we) (can.?t|can ?not|won.?t|will not|(am|are) (unable|not able|not allowed|not permitted) to"
    r"|(must|have to|need to) (decline|refuse)( to)?)"
)
_IM_UNABLE = r"(i|we).?(m|re) (unable|not able|not allowed|not permitted|not going) to"
_ACT = (
    r"(help|assist|comply|engage|participate|facilitate"
    r"|(fulfil|fulfill|continue|proceed|support|do|provide|share|discuss|answer|create|generate|write|produce|give|carry out)"
    r"( with)? (that|this|such|those|these|any|help|assistance|instructions?|content|the request|your request))"
)
REFUSAL = re.compile(
    rf"^\W*{_SORRY}({_UNABLE}|{_IM_UNABLE})( to)? {_ACT}\b|^\W*{_SORRY}(i|we) (must|have to) decline\b", re.IGNORECASE
)
# What follows in an answer that only lacks something, or that goes on to help.
GOES_ON = re.compile(
    r"\b(until|unless|without|once you|please (provide|share|tell|send|give|confirm|specify)|could you|can you"
    r"|but (i|we)( have|.ve| did| can(?!not|.?t)| will|.ll| was able)|however,? (i|we)( have|.ve| can(?!not|.?t)| did))\b",
    re.IGNORECASE,
)


class Found(NamedTuple):
    """What a rule says of an answer, and the rule's id."""

    disposition: Disposition
    rule: str


def judge(text: str | None) -> Found | None:
    """What an answer's words tell, or None: no match is no answer."""
    if not text or len(text) > LENGTH:
        return None
    found = REFUSAL.match(text)  # it begins with the text; a search would try every place in it
    if found is None or GOES_ON.search(text, found.end()) is not None:
        return None
    return Found(Disposition.REFUSED, "refused.unable.en")
