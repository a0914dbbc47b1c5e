"""Points at text that seems to speak to the judge: a flag beside the score, for a person to look at, and never a verdict of its own.

No match says nothing: these are patterns of known attempts, and any list of them is incomplete. Nothing is changed or withheld by a
match, since an answer that quotes such a text is to be judged like any other.
"""

import re
from collections.abc import Iterable

from lanewatch.monitors.judge.fencing import UNSEEN
from lanewatch.monitors.judge.results import INJECTION_SUSPECTED
from lanewatch.monitors.judge.samples import Sample

FLAG = INJECTION_SUSPECTED
_LONGEST = 200_000  # characters that are looked at: a pointer needs no more

# No repetition without a bound: what is looked at was written by strangers, and a run of 128,000 line breaks is a text, too.
_PATTERNS = {
    # In English, German, French, Spanish, Italian, Portuguese.
    "ignore_instructions": r"\b(?:ignore|disregard|forget|override|bypass|do not follow|stop following)\b[^.\n]{0,40}"
    r"\b(?:instruction|prompt|rule|guideline|context|above|previous|prior|everything|task)"
    r"|\b(?:ignoriere?n?|vergiss|missachte)\b[^.\n]{0,60}\b(?:anweisung|vorgabe|regel|oben|vorherig)"
    r"|\b(?:ignore[zr]?|oublie[zr]?)\b[^.\n]{0,40}\b(?:consigne|instruction|pr[e\u00e9]c[e\u00e9]dent)"
    r"|\b(?:ignora|olvida|desconsidere?|dimentica)\b[^.\n]{0,40}\b(?:instruc|anterior|istruzion|preceden)"
    r"|\u5ffd\u7565.{0,10}(?:\u6307\u4ee4|\u6307\u793a|\u8bf4\u660e)",
    "role_claim": r"\b(?:you are now|act as|pretend (?:to be|you are)|from now on,? you|new (?:system )?(?:instructions?|role|task)\b)"
    r"|(?:^|[.!?]\s)[^\S\n]{0,9}(?:system|developer)(?: message| prompt)?[^\S\n]{0,3}:\s",
    "verdict_demand": r"\b(?:rate|score|grade|mark|give|return|output|respond|reply|answer|print|say|set|assign|vote)\b[^.\n]{0,60}"
    r"(?:\b(?:verdicts?|ratings?|scores?|faithful|supported|full marks|10/10|maximum|highest)\b|[\"']?(?:rating|verdict)[\"']?\s{0,3}[:=])"
    r"|[\"'](?:rating|verdict|noncommittal|refused_to_answer)[\"']\s{0,3}:"
    r"|\b(?:verdict|rating)s?\s{0,3}(?:=|:|is|must be|should be|muss|doit)\s{0,3}[\"']?[0-9]",
    "to_the_judge": r"\b(?:note|attention|message|dear|hello|hi|hey)\b[^.\n]{0,20}\b(?:to the )?(?:evaluator|grader|judge|reviewer|llm|ai model|assistant)\b"
    r"|\b(?:evaluator|grader|judge|llm)s?\b[^.\n]{0,30}\b(?:must|should|please|ignore|note|override)\b",
    "turn_marks": r"<\|[a-z_]{1,40}\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</?think(?:ing)?>|</?data-|</?(?:system|instructions?)>"
    r"|^-{3,9}[^\S\n]{0,3}(?:end|begin) of",
    "form_break": r"\bend of (?:input|context|data|document|prompt)\b|^(?:output|new input|example \d{1,3})[^\S\n]{0,3}:",
    "reaches_out": r"\b(?:call|invoke|use|run|execute)\b[^.\n]{0,30}\b(?:tool|function|shell|command|python|curl)\b"
    r"|\b(?:fetch|visit|open|browse|get|send|post|curl|wget)\b[^.\n]{0,60}https?://"
    r"|!\[[^\]\n]{0,200}\]\(https?://"
    r"|\b(?:reveal|print|repeat|show|leak)\b[^.\n]{0,30}\b(?:system prompt|api key|secret|instructions)\b",
}
_RULES = {name: re.compile(pattern, re.IGNORECASE | re.MULTILINE) for name, pattern in _PATTERNS.items()}
_MOST_UNSEEN = 8  # emoji and right-to-left scripts use a few


def suspected(texts: Iterable[str]) -> tuple[str, ...]:
    """The names of the rules that match a text; empty where none does."""
    found: set[str] = set()
    for text in texts:
        head = text[:_LONGEST]
        found.update(name for name, rule in _RULES.items() if name not in found and rule.search(head))
        if len(UNSEEN.findall(head)) > _MOST_UNSEEN:
            found.add("unseen_text")
    return tuple(sorted(found))


def flags_of(sample: Sample) -> tuple[str, ...]:
    """`injection_suspected`, where the answer, a context or a message of the agent's side speaks to the judge.

    The question is left out: a person may say to an agent what no document and no answer has a reason to say.
    """
    said = (message.get("content") for message in sample.messages if message.get("type") != "human")
    texts = (sample.answer, *sample.contexts, *said)
    return (FLAG,) if suspected(text for text in texts if isinstance(text, str)) else ()
