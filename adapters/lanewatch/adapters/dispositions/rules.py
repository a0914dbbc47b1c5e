"""What a rule about an answer's words is, and how the rules of a language are kept together.

Every pattern is tried on one sentence of at most a few hundred characters, with bounded gaps, so that no text can make
it slow. A rule holds where all of its patterns are found and none of `unless`.
"""

import re
from typing import NamedTuple

from lanewatch.adapters.records import Disposition


class Rule(NamedTuple):
    """One rule. `id` is `<disposition>.<what it looks for>.<language>`, a part of the interface."""

    id: str
    disposition: Disposition
    patterns: tuple[re.Pattern[str], ...]
    unless: tuple[re.Pattern[str], ...] = ()

    def holds(self, sentence: str) -> bool:
        """Whether a sentence, in lower case, is what the rule looks for."""
        for pattern in self.patterns:  # the cheap ones stand first
            if pattern.search(sentence) is None:
                return False
        return not any(pattern.search(sentence) for pattern in self.unless)


class Language(NamedTuple):
    """The rules of a language.

    `stems` are substrings one of which is in every sentence that a rule of refusals or abstentions finds: looking for them
    costs next to nothing, and most answers have none. `goes_on` is what follows where an answer helps after all, asks for
    what it lacks, or tells of a fault. `doubt` is what keeps a report of something done from being an answer; a report begins with one of the words
    `openings`, or with any where there are none. `soft` is what a sentence after an abstention has where it only offers or
    explains; one without it tells something after all.
    """

    code: str
    stems: tuple[str, ...]
    rules: tuple[Rule, ...]
    goes_on: re.Pattern[str]
    reports: tuple[Rule, ...]
    doubt: re.Pattern[str]
    openings: frozenset[str] = frozenset()
    soft: re.Pattern[str] | None = None


def refused(what: str, code: str, *patterns: str, unless: tuple[str, ...] = ()) -> Rule:
    """A rule of refusals."""
    return _rule(Disposition.REFUSED, what, code, patterns, unless)


def abstained(what: str, code: str, *patterns: str, unless: tuple[str, ...] = ()) -> Rule:
    """A rule of abstentions."""
    return _rule(Disposition.ABSTAINED, what, code, patterns, unless)


def answered(what: str, code: str, *patterns: str, unless: tuple[str, ...] = ()) -> Rule:
    """A rule of answers."""
    return _rule(Disposition.ANSWERED, what, code, patterns, unless)


def _rule(disposition: Disposition, what: str, code: str, patterns: tuple[str, ...], unless: tuple[str, ...]) -> Rule:
    compiled = (tuple(map(re.compile, patterns)), tuple(map(re.compile, unless)))
    return Rule(f"{disposition}.{what}.{code}", disposition, *compiled)
