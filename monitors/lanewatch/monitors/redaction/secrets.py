"""Secrets in text that nobody declared: provider keys, tokens, passwords that are assigned, card numbers, e-mail.

One row a rule. Every pattern is linear: bounded repetitions, no nested ones. A rule with a check (Luhn, mod 97) takes
only what passes it, so that order numbers stay readable. What no rule names is not found; arguments that are known to be
sensitive belong in the registry.
"""

import re
from bisect import bisect
from collections.abc import Callable, Iterator
from functools import lru_cache

import msgspec

from lanewatch.monitors.redaction.tokens import MARK

Check = Callable[[str], bool]
EMAIL = "email"
SHORTEST_SECRET = 6  # characters with what shows that it is one: `a@b.cc`
SHORTEST_WORD = 20  # characters of one that is letters and low lines alone: a key of AWS


class SecretRule(msgspec.Struct, frozen=True):
    """A pattern and what its finds must pass. The group that fits, where it has any, is the secret, else the whole find.

    `signs` are texts of which one must occur for the pattern to fit at all, and `stems` such that may be in any case: a search
    for them costs a tenth of it.
    """

    id: str
    pattern: re.Pattern[str]
    signs: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    check: Check | None = None


def luhn(text: str) -> bool:
    """Whether digits pass the check of ISO/IEC 7812-1, which card numbers do.

    >>> luhn("4111 1111 1111 1111"), luhn("4111 1111 1111 1112")
    (True, False)
    """
    digits = [int(character) for character in text.replace("%20", "") if character.isdigit()]
    doubled = (digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2])  # noqa: PLR2004 - 5 is the first with two digits
    return len(digits) >= 13 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1  # noqa: PLR2004 - the shortest card number


def mod_97(text: str) -> bool:
    """Whether a text passes the check of ISO 13616, which IBANs do.

    >>> mod_97("DE89 3704 0044 0532 0130 00"), mod_97("DE88 3704 0044 0532 0130 00")
    (True, False)
    """
    plain = text.replace(" ", "")
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def _rule(name: str, pattern: str, *signs: str, stems: tuple[str, ...] = (), check: Check | None = None) -> SecretRule:
    """`{START}` is where no letter or digit stands before: an underscore may (`pay_sk-...`)."""
    return SecretRule(name, re.compile(pattern.replace("{START}", "(?<![A-Za-z0-9])")), signs, stems, check)


NAMES = (
    r"pass(?:word|wd|phrase)|pwd|secret|api[_-]?key|access[_-]?key|auth(?:orization)?|(?:access|auth|refresh|session|id|bearer)"
    r"[_-]?token|token|client[_-]?secret|private[_-]?key|credentials?|cookie|cvv|cvc"
    r"|passwort|kennwort|contraseña|mot[ _-]de[ _-]passe|密码|密碼|パスワード"
)
# Of each name a part, as `str.casefold` has it. None has an i: patterns take the dotless one for it, and folding does not.
STEMS = (
    "pass",
    "pwd",
    "secret",
    "key",
    "auth",
    "token",
    "credent",
    "cook",
    "cvv",
    "cvc",
    "kennwort",
    "contrase",
    "密码",
    "密碼",
    "パスワード",
)
NO_VALUE = r"(?!(?:null|none|true|false|required|bearer|basic|<redacted)\b)"
AT = r"(?:[@\uff20]|%40|\\u0040)"
TOP_DOMAIN = r"(?:xn--[\w-]{2,59}|[^\W\d_]{2,24})"
CARD_GAP = r"(?:[ \u00a0\u2009\u202f\u2010-\u2015-]|%20|\+)?"
# What stands between quotes, in JSON and in JSON that is itself a text in JSON, where a quote inside is `\\\"`.
QUOTED = (
    r"\"((?!<redacted)(?:[^\"\\]|\\.){1,4000})"
    r"|'((?!<redacted)(?:[^'\\]|\\.){1,4000})"
    r"|\\[\"']((?!<redacted)(?:[^\"'\\]|\\{3}.|\\\\(?!\\)|\\[^\"'\\]){1,4000})"
)
RULES: tuple[SecretRule, ...] = (
    _rule(
        "private_key",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}-----)?",
        "PRIVATE KEY",
    ),
    _rule("jwt", r"{START}eyJ[\w-]{8,4000}\.[\w-]{8,8000}\.[\w-]{0,4000}", "eyJ"),
    _rule("stripe_key", r"{START}(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,300}", "_live_", "_test_", "whsec_"),
    _rule("model_key", r"{START}(?:g?sk[-_]|xai-|pplx-|r8_|nvapi-|fw_|tgp_)(?=[\w-]{0,200}\d)[\w-]{20,300}", "sk-", "sk_", "xai-", "pplx-", "r8_", "nvapi-", "fw_", "tgp_"),
    _rule("aws_key", r"{START}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", "AKIA", "ASIA", "ABIA", "ACCA"),
    _rule("github_token", r"{START}(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{22,255})", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    _rule("gitlab_token", r"{START}gl(?:pat|ptt|dt|rt|cbt|oas)-[\w-]{20,100}", "glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "gloas-"),
    _rule("slack_token", r"{START}xox[a-z]-[\w-]{10,300}|{START}xapp-[\w-]{10,300}|hooks\.slack\.com/services/[\w/]{20,100}", "xox", "xapp-", "hooks.slack.com"),
    _rule("google_key", r"{START}AIza[\w-]{35}|{START}ya29\.[\w.-]{20,2000}|{START}GOCSPX-[\w-]{20,60}", "AIza", "ya29.", "GOCSPX-"),
    _rule("registry_token", r"{START}(?:npm_[A-Za-z0-9]{30,100}|pypi-AgE[\w-]{40,400}|hf_[A-Za-z0-9]{30,100}|dapi[0-9a-f]{32}|dckr_pat_[\w-]{20,100})", "npm_", "pypi-AgE", "hf_", "dapi", "dckr_pat_"),
    _rule("sendgrid_key", r"{START}SG\.[\w-]{16,32}\.[\w-]{30,60}", "SG."),
    _rule("account_key", r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/=]{20,200})", "Key="),
    _rule("url_password", r"://[^/\s:@]{0,100}:([^/\s@]{1,200})@", "://"),
    _rule("scheme", r"(?i){START}(?:bearer|basic|token)\s{1,3}(?=[\w.~+/=-]{0,100}\d)([\w.~+/=-]{16,4000})", stems=("bearer", "bas", "token")),
    _rule("quoted", rf"(?is)(?<![a-z])(?:{NAMES})\\?[\"']?\s{{0,3}}[:=\uff1a]\s{{0,3}}(?:{QUOTED})", stems=STEMS),
    _rule("url_encoded", rf"(?i)(?<![a-z])(?:{NAMES})(?:%22|%27)?(?:%20|\+)?(?:%3A|%3D)(?:%20|\+)?(?:%22|%27)?({NO_VALUE}(?:[^\s\"'%&]|%(?!2[267C]|7D)){{4,500}})", "%3"),
    _rule("assigned", rf"(?i)(?<![a-z])(?:{NAMES})\s{{0,3}}(?:[:=\uff1a]\s{{0,3}}|is\s{{1,3}}(?=\S{{0,100}}\d))({NO_VALUE}[^\s\"',;&}}<>\\]{{4,500}})", stems=STEMS),
    _rule("card", rf"(?<![\d.-])[2-6]\d{{3}}(?:(?:{CARD_GAP}\d{{2,6}}){{2,4}}|(?:\.\d{{4}}){{3}})(?![\d-]|\.\d)", *"23456", check=luhn),
    _rule("iban", r"{START}[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b", check=mod_97),
    _rule(EMAIL, rf"(?<![\w.%+-])(?:[\w.%+-]{{1,64}}'){{0,2}}[\w.%+-]{{1,64}}{AT}(?:[\w-]{{1,63}}\.){{1,8}}{TOP_DOMAIN}\b", "@", "\uff20", "%40", "\\u0040"),
    _rule(EMAIL, rf"\"[^\"@\\\r\n]{{1,64}}\"@(?:[\w-]{{1,63}}\.){{1,8}}{TOP_DOMAIN}\b", '"@'),
)  # fmt: skip


def find_secrets(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, rule id) of each secret, in order of the text and without overlaps. Finds that overlap are one secret,
    from the first's start to the last's end, by the first row's name: what is assigned to a password may have a key in it.
    """
    if len(text) < SHORTEST_SECRET or (len(text) < SHORTEST_WORD and text.replace("_", "").isalpha()):
        return
    found: list[tuple[int, int, int]] = []
    addresses: list[tuple[int, int, int]] = []
    folded = text.casefold()
    for row, rule in enumerate(RULES):
        if _may_have(text, rule.signs) and _may_have(folded, rule.stems):
            kept = addresses if rule.id == EMAIL else found
            spans = (match.span(match.lastindex or 0) for match in rule.pattern.finditer(text))
            kept += [(*span, row) for span in spans if rule.check is None or rule.check(text[slice(*span)])]
    secrets = _apart(found)
    # The host behind a password in a URL looks like an address, and may be shown.
    starts = [start for start, _, _ in secrets]
    alone = []
    for start, end, row in addresses:
        after = bisect(starts, start)
        if (not after or secrets[after - 1][1] <= start) and (after == len(starts) or end <= starts[after]):
            alone.append((start, end, row))
    for start, end, row in _apart([*secrets, *alone]) if alone else secrets:
        yield start, end, RULES[row].id


def _may_have(text: str, signs: tuple[str, ...]) -> bool:
    for sign in signs:  # a hundred for each text: `any` takes twice as long
        if sign in text:
            return True
    return not signs


def _apart(found: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """(start, end, row) in order, those that overlap as one, in one pass: a text may hold 40,000 of them."""
    merged: list[tuple[int, int, int]] = []
    for start, end, row in sorted(found):
        if merged and start < merged[-1][1]:
            before = merged[-1]
            merged[-1] = before[0], max(before[1], end), min(before[2], row)
        else:
            merged.append((start, end, row))
    return merged


def with_stand_ins(text: str, stand_in: Callable[[str], str]) -> str:
    """A text in which something stands for each secret."""
    pieces, at = [], 0
    for start, end, _ in find_secrets(text):
        pieces += [text[at:start], stand_in(text[start:end])]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def without_secrets(text: str, mark: str = MARK) -> str:
    """A text in which the mark stands for each secret.

    >>> without_secrets("mail of jane@example.com")
    'mail of <redacted>'
    """
    return with_stand_ins(text, lambda _: mark)


SENSITIVE_NAMES = re.compile(
    rf"(?i)(?:.{{0,100}}[_\-. ])?(?:{NAMES}|ssn|pin|card[_-]?number|iban|email|e-mail)|(?:.{{0,100}})(?:Password|Secret|ApiKey|Token|PrivateKey)"
)


LONGEST_NAME = 200  # characters; what is longer is no field's name
LONGEST_KEPT = 64  # characters of a name that is remembered: argument names are traced content, and 4,096 of them are at most 1 MiB


def names_a_secret(name: str) -> bool:
    """Whether a field of this name holds a secret, whatever it looks like: `password`, `X-Api-Key`, `dbPassword`.

    >>> names_a_secret("db_password"), names_a_secret("accessToken"), names_a_secret("max_tokens"), names_a_secret("author")
    (True, True, False, False)
    """
    if len(name) <= LONGEST_KEPT:
        return _known_name(name)
    return len(name) <= LONGEST_NAME and SENSITIVE_NAMES.fullmatch(name) is not None


@lru_cache(4096)  # a few names stand in all messages, and in each trace's arguments
def _known_name(name: str) -> bool:
    return SENSITIVE_NAMES.fullmatch(name) is not None
