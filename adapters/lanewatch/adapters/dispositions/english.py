"""English: rules about sentences in lower case, apostrophes straight, quotations taken out."""

import re

from lanewatch.adapters.dispositions.english_abstentions import ABSTENTIONS
from lanewatch.adapters.dispositions.english_refusals import REFUSALS
from lanewatch.adapters.dispositions.rules import Language, answered

_FAULT = (
    r"try again|timed? ?out|\berrors?\b|unavailable|(?:not|n't) respond|technical|permission denied|offline|right now"
    r"|at the moment|temporarily|\bdown\b|gateway|servers?\b|went wrong|crash|failed|maintenance|expired|overloaded|broken|connection|ran out|at this time|\byet\b"
    r"|session|systems? (?:is|are)|being updated|empty body|does not exist|\bmissing\b|read-only|was closed|returned an? |out of (?:disk|memory|space)"
)

LANGUAGE = Language(
    "en",
    (
        "n't",
        "not",
        "unable",
        "declin",
        "refus",
        "rather not",
        "say no",
        "to pass",
        "against",
        "violat",
        "outside my",
        "beyond my",
        "outside the scope",
        "outside of",
        "no ",
        "none",
        "nothing",
        "insufficient",
        "lacks",
        "don't know",
        "fails to",
        "only ",
        "prohibit",
        "prevent",
        "bars ",
        "forbid",
        "outside what",
        "beyond what",
        "never",
    ),
    # Abstentions stand first: "I cannot answer this from the documents" refuses nothing.
    (*ABSTENTIONS, *REFUSALS),
    re.compile(
        rf"{_FAULT}|\b(?:until|unless|once|before) (?:you|i|we|the|your)\b|\bwithout (?:your|an?|the|more|further|first|\w+ing)\b"
        r"|\bplease (?:provide|share|tell|send|give|confirm|specify|clarify|upload|attach)\b|\b(?:could|can) you\b|\bwould you (?!like|prefer|rather)"
        r"|\bwhich (?:one|of|\w+ (?:do|did|should|would)|\w+ you)\b|\bdid you mean\b|\bdo you mean\b"
        r"|\bbut,? (?:i|we)(?: have|'ve| did| was able| were able| booked| found)\b|\bhowever,? (?:(?:i|we)(?!'d|'m| (?:can|could|would|may|might|am) )|your|the|it|they|there)\b"
        r"|\balthough (?:it|they|the|there)\b"
        r"|\bbut (?:it|they|the \w+) (?:do say|does say|lists?|says?|mentions?|gives?|states?|describes?|covers?|is|are|was|were)\b(?! not|n't)"
        r"|\bbut here|\bhere(?:'s| is| are)\b|\bwhat (?:i|we) can (?:tell|say)\b|\b(?:in general|generally|typically|usually)\b"
        r"|\b(?:but(?! (?:i|we)(?:'m|'d| really| just| simply)? ?(?:can't|cannot|can not|won't|will|am|are|must|have|do|don't|not|unable|would))|although|while|though)\b.{0,60}\b(?:your|the|it|he|she|they|orders?)\b [^.]{0,30}\b(?:has|have|was|were|is|are) "
        r"(?!not\b)|\bso i (?:looked|checked|used|took|tried)\b|\bi (?:can|could) (?:tell|say) (?:you )?(?:that|is)\b"
    ),
    (
        answered("done", "en", r"^(?:all )?(?:done|set|finished|completed)(?: and dusted)?$"),
        answered(
            "reports_action",
            "en",
            r"^(?:(?:sure|ok|okay|great|great news|certainly|of course|alright|got it|no worries|sure thing|yes|yep|perfect)[ ,:]{1,2}){0,2}"
            r"(?:i|we)(?:'ve| have)? (?:just |also |now |successfully )?(?:booked|created|updated|cancell?ed|sent|moved|scheduled|added"
            r"|removed|deleted|changed|reserved|ordered|refunded|issued|placed|submitted|transferred|paid|saved|opened|closed"
            r"|credited|extended|rescheduled|renewed|activated|uploaded|generated|drafted|fixed|merged|deployed)\b",
        ),
        answered(
            "reports_action",
            "en",
            r"^(?:your|the) (?:[\w-]+ ){1,4}(?:has|have|was|were|is now|are now)(?: (?:been|successfully|now)){0,2} (?:booked|created"
            r"|updated|cancell?ed|sent|moved|scheduled|added|removed|deleted|changed|reserved|ordered|refunded|issued|placed|submitted"
            r"|transferred|paid|saved|credited|extended|shipped|confirmed|activated|renewed|dispatched|delivered|completed|finished)\b",
        ),
        answered(
            "gives",
            "en",
            r"^(?:(?:sure|ok|okay|certainly|of course|absolutely|great)[ ,:]{1,2}){0,2}here(?:'s| is| are) (?!why|what i)",
        ),
        answered("found", "en", r"^(?:i|we)(?:'ve)? found (?:\d+|two|three|four|five|six|several) \w+"),
    ),
    re.compile(
        r"n't\b|\b(?:not|no|never|none|nothing|cannot|unable|without|fail\w*|errors?|declin\w+|refus\w+|but|however|unfortunately"
        r"|regret\w*|although|only|partly|partially|except|instead|blocked|denied|rejected|pending)\b"
    ),
    frozenset(
        [
            "absolutely",
            "all",
            "alright",
            "certainly",
            "completed",
            "done",
            "finished",
            "got",
            "great",
            "here",
            "here's",
            "i",
            "i've",
            "of",
            "ok",
            "okay",
            "no",
            "perfect",
            "set",
            "sure",
            "the",
            "we",
            "we've",
            "yep",
            "yes",
            "your",
        ]
    ),
    re.compile(
        r"n't\b|\b(?:if|let me|please|you (?:may|might|can|could)|would you|happy to|glad to|try|contact|rephras\w+|consult|check|reach out"
        r"|recommend|suggest|feel free|sorry|i (?:searched|looked|checked|only|will|would)|i'll|i'd|not|no|nothing|none|never)\b"
    ),
)
