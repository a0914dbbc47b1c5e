"""Which family a model is of, by its name: a judge may favour answers of its own (Panickssery et al. 2024).

A name may tell several (a distilled one is of both); a name that tells none is unknown, which is no other family.
"""

import re

_FAMILIES: tuple[tuple[str, str], ...] = (
    ("openai", r"gpt|chatgpt|davinci|o[134]|codex|computer-use|text-embedding"),
    ("anthropic", r"claude"),
    ("google", r"gemini|gemma|palm"),
    ("meta", r"llama|codellama"),
    ("mistral", r"mistral|mixtral|ministral|magistral|codestral|devstral|pixtral"),
    ("qwen", r"qwen|qwq|qvq"),
    ("deepseek", r"deepseek"),
    ("xai", r"grok"),
    ("cohere", r"command|aya|c4ai"),
    ("microsoft", r"phi"),
    ("amazon", r"nova|titan"),
    ("ibm", r"granite"),
    ("moonshot", r"kimi|moonshot"),
    ("zhipu", r"glm|chatglm"),
    ("hugging_face", r"smollm|zephyr"),
    ("ai21", r"jamba|jurassic"),
    ("nvidia", r"nemotron"),
    ("tii", r"falcon"),
)
# A family's word stands at the start of a part of the name, and ends it or is followed by its version.
_PATTERNS = tuple((family, re.compile(rf"(?:^|[^a-z0-9])(?:{words})(?![a-z])")) for family, words in _FAMILIES)
LONGEST = 200  # characters of a name that are looked at


def families_of(model: str | None) -> frozenset[str]:
    """The families that a model's name tells; none where it tells nothing.

    >>> sorted(families_of("deepseek-r1-distill-llama-70b")), families_of("my-judge")
    (['deepseek', 'meta'], frozenset())
    """
    name = (model or "")[:LONGEST].lower()
    return frozenset(family for family, pattern in _PATTERNS if pattern.search(name))


def same_family(one: str | None, other: str | None) -> bool | None:
    """Whether two models are of one family; None where that is not known of either.

    >>> same_family("gpt-4o", "azure/gpt-4.1"), same_family("gpt-4o", "claude-sonnet-4"), same_family("gpt-4o", "my-model")
    (True, False, None)
    """
    mine, others = families_of(one), families_of(other)
    return bool(mine & others) if mine and others else None
