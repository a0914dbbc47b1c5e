"""English refusals: who speaks, what they will not do, and on what ground."""

from lanewatch.adapters.dispositions.rules import refused

_ADVERB = r"(?:(?:really|simply|just|also|ever|currently|personally|knowingly|in good conscience) ){0,2}"
_START = (
    r"(?:^|[,\u2013\u2014(-] ?|\b(?:but|and|so|therefore|because|here|afraid|sorry|unfortunately|regrettably"
    r"|(?:regret|afraid|sorry|understand|apologi[sz]e) that) |\bas (?:an?|your|the) [\w' -]{1,40} )"
)
WE = r"(?:i|we|this assistant)"
_FIRST_PERSON = r"\b(?:i|we|me|us|assistant)\b"
AM = r"(?: am|'m| are|'re| is| was| were)"
_CANNOT = (
    rf"{WE}(?: really| simply| just)?(?: can't| cannot| can not| won't| will not| shan't| shall not| may not| must not| cannot and will not"
    rf"|{AM} (?:\w+ )?(?:unable to|not (?:able|allowed|permitted|authori[sz]ed|going|willing|prepared|supposed) to)"
    r"|'d rather not| would rather not|(?: would|'d)? prefer not to)"
)
_STOP = r"(?:$|[,:\u2013\u2014])"
_THAT = r"(?:this|that|such|these|those)"
_KIND = (
    r"(?:kinds?|types?|sorts?|information|info|data|details?|content|requests?|questions?|advice|topics?|subjects?|matters?|material|guidance|help"
    r"|assistance|services?|things?|activit\w+|behaviou?r|roleplay|conversations?|instructions?)\b"
)
_OTHERS = (
    r"(?:another|other|employees?|customers?|patients?|students?|guests?|users?|tenants?|patrons?|clients?)(?:'s|')?"
)
_THEIRS = (
    r"(?:records?|data|details?|information|names?|numbers?|grades?|address(?:es)?|accounts?|bookings?|orders?|files?|rooms?|e-?mails?|customers?"
    r"|users?|employees?|patients?|students?|guests?|clients?|person|people|individuals?)\b"
)
# Verbs that say "I won't" of anything count only with what models and houses refuse: as such, or named.
_HELP = (
    rf"(?:help(?:{_STOP}| you{_STOP}| (?:you |anyone |anybody |people )?(?:with|out|here|there|cheat|hack|bypass|evade|harm|hurt|steal|break"
    r"|forge|fake|track|spy|write|do (?:that|this))\b| someone\b| somebody\b)"
    rf"|assist(?:{_STOP}| you{_STOP}| (?:you )?(?:with|in)\b)|comply(?:{_STOP}| with (?:{_THAT}|your)\b)"
    rf"|(?:engage|participate|take part|facilitate)(?:{_STOP}| (?:in |with )?(?:{_THAT}|any|illegal|harmful)\b)"
    rf"|fulfil+ (?:{_THAT}|your|the) (?:\w+ )?requests?\b|(?:advise|comment|speculate|opine)(?:{_STOP}| (?:you )?(?:on|about) (?!your\b))"
    rf"|(?:take|pick) sides|take a side|pretend to be\b|(?:condone|promote|encourage|support) (?:{_THAT}|violence|hate|illegal|harmful|self-harm)\b"
    rf"|(?:discuss|talk about|go into) (?:{_THAT}|any|pending|ongoing|confidential|internal|personal|medical|legal|tax|politic\w*"
    r"|competitors?|other|the (?:details|case|matter))\b"
    rf"|do (?:that|this|it|so|anything (?:like that|of the sort|illegal))(?: for you| here| in this case)?{_STOP}|touch (?:that|this))"
)
_GIVE = (
    r"(?:(?:provide|give(?: out)?|offer|supply|share|disclose|reveal|divulge|hand over|answer|respond to|pass on)(?: you| anyone)?"
    rf"(?: with)? (?:[\w'-]+ ){{0,2}}?(?:{_THAT}(?:{_STOP}| {_KIND})|(?:legal|medical|tax|financial|investment|personal|personali[sz]ed|private"
    rf"|confidential|internal|proprietary) \w+|{_OTHERS} (?:[\w'-]+ )?{_THEIRS}|(?:someone|somebody|anyone)(?: else)?'s|my (?:system|instructions?|prompt"
    r"|configuration|guidelines|internal)|instructions|guidance|advice|opinions?|answers|questions|assistance|step-by-step|passwords?|discount codes?)\b"
    rf"|(?:provide|share|give|answer|respond to|continue|proceed|go on)(?: with)?(?: (?:that|this|here|it))?{_STOP})"
)
_MAKE = (
    rf"(?:(?:write|create|generate|produce|draft|make) (?:that|this|it|such)(?: for you)?{_STOP}"
    r"|(?:write|create|generate|produce|draft|compose|make|solve|send|run|execute|translate|describe|explain|reproduce)"
    r"(?: [\w']+){0,3} (?:such|(?:content|material)(?:$|[,:]| (?:that|which|of|like|for|about|involving|promoting)\b)|instructions|malware|virus|exploits?|phishing|threats?|fake|for you|someone else\w*|somebody"
    r"|another person|the whole|exam|essays?|homework|hate|explicit|violent|(?:that|which) (?:promotes?|incites?|demeans?|harms?|violates?|glorif\w+))\b)"
)
_IDIOMS = (r"\bhelp but\b|\benough\b|\bwait\b|\bwith any(?:one|body)\b",)

REFUSALS = (
    refused(
        "unable_to_help",
        "en",
        _FIRST_PERSON,
        rf"{_START}{_CANNOT} {_ADVERB}(?:(?:be (?:able to |of ))?(?:{_HELP}|{_GIVE})|be (?:giving|writing|providing|helping)\b)",
        unless=_IDIOMS,
    ),
    refused("unable_to_make", "en", _FIRST_PERSON, rf"{_START}{_CANNOT} {_ADVERB}{_MAKE}", unless=_IDIOMS),
    refused(
        "does_not",
        "en",
        _FIRST_PERSON,
        rf"{_START}(?:i|this assistant) (?:do not|don't|does not|doesn't|never) (?:{_GIVE}|(?:help|assist) with\b|comment on\b|engage in\b"
        r"|(?:discuss|talk about) (?!it\b|a\b)|have (?:personal )?(?:opinions|views|preferences))",
        unless=(r"\b(?:until|unless|without|your (?:\w+ )?(?:data|details|information)|third part)\b",),
    ),
    refused(
        "declines",
        "en",
        _FIRST_PERSON,
        rf"{_START}(?:i|we)(?: (?:must|have to|need to|will|would|shall|'ll|'d)| (?:am|'m) (?:going|inclined) to|'m going to)?"
        rf"(?: (?:respectfully|politely|therefore|kindly|firmly))? (?:(?:decline|refuse)(?:{_STOP}| {_THAT}\b| your (?:\w+ )?request\b| to (?:help|answer"
        r"|do|write|create|generate|produce|provide|continue|engage|discuss|assist|comment|take part|share|give|say|name|be (?:part|involved))\b)"
        rf"|(?:have to )?pass on (?:this|that)(?: one)?{_STOP}|turn (?:this|that|it|you) down|say no(?:{_STOP}| here| to (?:this|that)\b))",
    ),
    refused(
        "declines",
        "en",
        _FIRST_PERSON,
        rf"{_START}{WE}{AM} (?:respectfully |politely )?(?:declining|refusing) to\b",
    ),
    refused(
        "not_something",
        "en",
        rf"\bnot (?:something|a (?:topic|subject|thing|service)) (?:that )?{WE}\b(?! (?:know|remember|expect|see|saw|found|find))",
    ),
    refused(
        "outside_scope",
        "en",
        r"\b(?:outside|beyond) (?:of )?(?:my|our) (?:scope|remit|role|purview|area|expertise|guidelines|instructions)\b"
        rf"|\b(?:outside|beyond) (?:of )?what {WE}\b.{{0,20}}\b(?:able|allowed|permitted|supposed|can|may|do|cover|here|designed)\b",
    ),
    refused(
        "limited_to",
        "en",
        r"\bonly\b",
        rf"{_START}{WE}(?: can only| can only ever| only|{AM} only able to) (?:\w+ )?(?:answer|help|discuss|talk|assist|respond|speak)\b"
        r".{0,20}\b(?:questions|about|topics|matters|with)\b",
    ),
    refused(
        "limited_to",
        "en",
        r"\b(?:designed|built|here|made|programmed|limited|restricted|set up|able|trained)\b (?:only )?(?:to|for)\b.{0,60}"
        rf" (?:and|so)(?: {WE})? (?:can't|cannot|can not|won't|will not|don't|do not) (?:{_HELP}|{_GIVE}|{_MAKE})",
    ),
    refused(
        "policy",
        "en",
        r"\b(?:this|that|it|which|(?:this|that|your|the) (?:request|question|prompt|message)|(?:providing|disclosing|discussing|generating|creating|writing|helping|assisting|answering|revealing|giving"
        r"|sharing (?:internal|confidential|personal|private|that|this|such|other|another)) [\w' ]{1,40}?) "
        r"(?:is |goes |would (?:be |go )?|may )?(?:against|violates?|contrary to|in breach of|breaches) (?:my|our) (?:[\w-]+ ){0,2}"
        r"(?:guidelines?|policy|policies|rules|principles|programming|terms|values|instructions|standards)\b",
        unless=(r"\b(?:nothing|not|if|whether)\b|n't\b",),
    ),
    refused("policy", "en", r"^against (?:my|our|the )?(?:[\w-]+ )?(?:policy|policies|guidelines|rules)$"),
    refused(
        "policy",
        "en",
        r"\b(?:policy|policies|guidelines|instructions|rules|programming)\b (?:\w+ )?(?:prohibits?|forbids?|prevents?|bars?"
        r"|(?:does|do) not (?:allow|permit|let)|(?:doesn't|don't) (?:allow|permit|let)) (?:me|us)(?: from| to)? (?:shar|giv|provid|discuss|answer|help|assist|disclos|reveal|creat|generat|writ|produc"
        r"|comment|engag|offer|talk|support|recommend)",
    ),
    refused(
        "not_to_be_fulfilled",
        "en",
        r"\b(?:this|that|your|the|such an?) (?:request|question|prompt|instruction|task) (?:cannot|can't|can not|will not|won't|may not)"
        r" be (?:fulfilled|honou?red|granted|supported|accommodated|complied with)(?:$|[,:]| here| by (?:me|us|this))",
    ),
    refused(
        "not_right",
        "en",
        _FIRST_PERSON,
        rf"{_START}{WE}{AM} not comfortable (?:\w+ing\b|with (?:that|this|such)\b)|{_START}{WE} (?:do not|don't|would not|wouldn't) feel (?:comfortable|right)\b"
        r"|\b(?:would not|wouldn't|is not|isn't) be? ?(?:right|appropriate|ethical|responsible|proper|fair) (?:for|of) me to (?:share|provide|give|write|draft|help|discuss|comment|answer|disclose|reveal|create|generate|recommend|advise|speculate|name|say)\b",
    ),
)
