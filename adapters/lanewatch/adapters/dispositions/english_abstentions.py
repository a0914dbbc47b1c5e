"""English abstentions: the documents, or what the model knows, do not tell."""

from lanewatch.adapters.dispositions.english_refusals import AM, WE
from lanewatch.adapters.dispositions.rules import abstained

_TEXTS = (
    r"(?:documents?|documentation|docs?|contexts?|texts?|passages?|articles?|pages?|manuals?|sources?|excerpts?|materials?"
    r"|files?|knowledge base|search results?|handbook|wiki|notes?|records?|transcripts?|guides?|faqs?|chunks?|snippets?"
    r"|readings?|catalogue|catalog|archive|data ?base|(?:given|provided|available) information|information provided)"
)
_RULES = r"(?:policy|policies|contract|lease|agreement|report|letter|e-?mail|clause|paper|study|minutes)"
_SAY = r"(?:mention|say|state|specify|indicate|tell|address|discuss|talk about|reveal|explain|clarify|name|note|answer|record)"
_HOLD = r"(?:contain|include|cover|provide|give|describe|list|reference|have|offer|show|go into)"
_NOT = r"(?:does not|doesn't|do not|don't|never|fails? to)"
_NO = (
    r"(?:no|not any|not enough|insufficient|too little) (?:[\w-]+ ){0,2}(?:information|mention|details?|references?|indication"
    r"|evidence|answers?|entry|entries|article|documents?|results?|sources?|passages?|records? of|data on|word|clause)"
)
_FIND = (
    r"(?:find|locate|spot|identify|see) (?:(?:anything|it|that|this|those)(?:$|,| about| on| in| regarding| relevant| that)|where|what|who|when|out"
    r"|(?:the |an? |any )?(?:[\w-]+ ){0,2}?(?:information|answers?|details?|mention|references?|data|documents?|results?|passages?|clauses?|sections?|articles?|entry))\b"
)
_IN_TEXTS = rf"\b(?:in|within|among|from) (?:the |your |these |those |any |all |our )*(?:[\w-]+ ){{0,2}}?{_TEXTS}\b"
_JUDGE = r"(?:answer|determine|say|tell|know|verify|confirm|establish|conclude|derive|infer|work out|give)"
# A reason or a condition turns what a text lacks into a statement about it: "there is no mention of React because it uses Vue".
_STATED = (
    r"\bbecause\b|^(?:if|when)\b|\bhave to\b|\bwhich is why\b|\bso the\b|\bsay (?:that|\"\")|\bit (?:only |just )?(?:says|suggests)\b|\btest file\b",
)

ABSTENTIONS = (
    abstained(
        "texts_lack",
        "en",
        rf" {_NOT} ",
        rf"\b{_TEXTS}\b(?: [\w'-]+){{0,4}}? {_NOT} (?:\w+ ){{0,2}}(?:{_SAY}|{_HOLD})\b",
        unless=_STATED,
    ),
    abstained(
        "texts_lack", "en", rf" {_NOT} ", rf"\b{_RULES}\b.{{0,60}}? {_NOT} (?:\w+ ){{0,2}}{_SAY}\b", unless=_STATED
    ),
    abstained(
        "texts_lack",
        "en",
        r"\bno(?:thing)?\b",
        rf"\b{_TEXTS}\b.{{0,60}}? (?:makes?|gives?|contains?|has|have|offers?|provides?|includes?|holds?) (?:no(?: [\w-]+)? (?:information"
        r"|mention|details?|data|answers?|entry|entries|articles?|references?|word|indication|reason|date|figures?|hint|explanation"
        r"|records?|results?)|nothing(?: (?:about|on|of|relevant|that|regarding|to)\b|$))",
    ),
    abstained(
        "none_of_the_texts",
        "en",
        rf"\b(?:none of|nothing (?:in|within|from)) (?:[\w']+ ){{0,4}}{_TEXTS}\b"
        rf"|\bin (?:the|your|these|those) (?:\w+ )?{_TEXTS}\b.{{0,20}}\b(?:nothing|no mention)\b",
    ),
    abstained(
        "no_information",
        "en",
        rf"\b(?:there(?: is|'s| was| are|'re)|{WE}(?: have| found| find| see|'ve found| have found)|returned|contains?|and found) "
        rf"{_NO}(?: (?:about|on|of|regarding|concerning|in|for|available|provided|found|that|to|as to|matching)\b|[,.]|$)",
        unless=_STATED,
    ),
    abstained(
        "no_information",
        "en",
        r"^(?:sorry,? |unfortunately,? )?no (?:[\w-]+ ){0,1}(?:information|mention|details?|(?:relevant|matching) (?:results?|documents?|information))"
        r"(?: (?:was |is |were )?(?:about|on|of|regarding|available|found|provided)\b.{0,60})?$",
    ),
    abstained(
        "not_found",
        "en",
        rf"{WE}(?: really| simply| just)?(?: can't| cannot| can not| could not| couldn't| did not| didn't|{AM} (?:unable|not able) to) {_FIND}",
        unless=(r"\bway to\b|\bwhy\b",),
    ),
    abstained(
        "not_found",
        "en",
        rf"{WE}(?: can't| cannot| can not| could not| couldn't| did not| didn't|{AM} (?:unable|not able) to) (?:find|locate)\b",
        _IN_TEXTS,
    ),
    abstained(
        "not_found", "en", rf"(?:^| and )(?:could not|couldn't) {_FIND}|^(?:not|nothing) found(?: in .{{1,40}})?$"
    ),
    abstained(
        "not_found", "en", r"\bfound (?:nothing|no (?:\w+ )?(?:information|mention|reference|indication|trace))\b"
    ),
    abstained(
        "cannot_tell_from_texts",
        "en",
        rf"(?:can't|cannot|can not|could not|couldn't|unable to|not able to|not possible to|impossible to) (?:be )?"
        rf"(?:\w+ )?{_JUDGE}",
        rf"\b(?:based on|on the basis of|from|given|within|using|with|in) (?:only )?(?:the |this |these |your |my )?(?:\w+ ){{0,2}}"
        rf"(?:{_TEXTS}|information)\b",
    ),
    abstained(
        "not_enough_information",
        "en",
        rf"{WE} (?:do not|don't|did not|didn't) have (?:enough|sufficient|any|the|that|this) (?:\w+ )?(?:information|details?|data|context"
        r"|sources?)\b",
    ),
    abstained(
        "not_enough_information",
        "en",
        rf"\b(?:{_TEXTS}|information|data)\b.{{0,40}}\b(?:is|are|was|were) (?:insufficient|not (?:enough|sufficient))\b"
        rf"|\b(?:answers?|information|that|it|this|details?)\b.{{0,60}}?\bnot (?:(?:available|present|included|contained|mentioned|stated|specified|covered|found) )?(?:in|by|part of) (?:the|your|these) "
        rf"(?:\w+ )?{_TEXTS}\b|\bthere(?: is| are)(?: not|n't) (?:enough|sufficient|any) (?:\w+ )?(?:information|details?|data|context)\b"
        r"|\bthere isn't (?:enough|sufficient|any) (?:\w+ )?(?:information|details?|data|context)\b",
        unless=_STATED,
    ),
    abstained(
        "does_not_know",
        "en",
        r"^(?:(?:i'm |i am )?(?:sorry|afraid),? (?:but )?)?(?:i (?:do not|don't|wouldn't) know|i have no idea)"
        r"(?: (?:the answer|that|about that|this)(?: .{0,20})?)?$|^(?:hmm+,? )?(?:i'm|i am) not (?:really )?sure$",
    ),
)
