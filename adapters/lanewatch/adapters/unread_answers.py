"""Answers of a model that its span does not show whole: one that broke off, and one that its client could not read.

A call that failed before the model answered (no connection, an error status) asked for nothing. One that failed later,
over what the model had said or in the middle of a stream, may have asked for tools, and so may an output that its token
limit ended: clients close the JSON that broke off (LangChain, in streams), or drop the call.
"""

import re

from lanewatch.adapters.facts import ErrorInfo, LlmCall

# Finish reasons of an output that its limit of tokens ended: OpenAI's, Anthropic's, Gemini's, the Responses API's.
LIMIT_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "max-tokens", "incomplete"})
# Classes of the SDKs of OpenAI, Anthropic, Google, AWS and httpx, and what LangChain derives of them.
BEFORE_AN_ANSWER = re.compile(
    r"(APIStatus|APIConnection|Connect|ConnectTimeout|HTTPStatus|RateLimit|BadRequest|InvalidRequest|Authentication"
    r"|PermissionDenied|AccessDenied|NotFound|UnprocessableEntity|InternalServer|ServiceUnavailable|Overloaded|Throttl"
    r"|ContextWindowExceeded|ContentPolicyViolation|ResourceExhausted|Unauthori[sz]ed|Forbidden|ModelHTTP|ClientError$"
    r"|ServerError$|HttpResponseError$|^HTTPError$|NameResolution|^gaierror$|SSLError$|^SSLCertVerification|^CertificateError$"
    r"|^PoolTimeout$|^WriteTimeout$|^[45]\d\d$|^_OTHER$)"
)
# Of messages: a status, a connection that was never made (its timeout too, a read's not), a server that takes no more.
REFUSED = re.compile(
    r"\b(error|status|http(/\d(\.\d)?)?)([ _-]?code)?\W{1,3}[45]\d\d\b|^\W{0,2}[45]\d\d\b|connection (error|refused)"
    r"|connect(ion)? timeout|connection (to \S{1,253} )?timed out|name or service not known|name resolution"
    r"|getaddrinfo failed|nodename nor servname|no route to host|network is unreachable|certificate.verify.failed"
    r"|\boverloaded(_error)?\b|model_not_found"
    r"|\bmodel\W{1,3}([\w.:/@-]{1,128}\W{1,3})?(is |was |does )?not (found|exist)",
    re.IGNORECASE,
)
MESSAGE_LIMIT = 1000  # characters of an error's message that are looked at


def may_hide_calls(call: LlmCall) -> bool:
    """Whether the model may have asked for tools that this call's span does not show, or shows otherwise."""
    if call.error is not None:
        return not _shows_something(call) and not _before_an_answer(call.error)
    if (call.finish_reason or "").lower() not in LIMIT_REASONS:
        return False
    asked = [part for message in call.output for part in message.calls]
    if not asked:
        return not _shows_something(call)
    return all(isinstance(part.arguments.value, dict) for part in asked)  # else the one that broke off is shown


def _shows_something(call: LlmCall) -> bool:
    return any(message.parts for message in call.output)


def _before_an_answer(error: ErrorInfo) -> bool:
    name = (error.type or "").rpartition(".")[2]
    return (
        BEFORE_AN_ANSWER.search(name) is not None or REFUSED.search((error.message or "")[:MESSAGE_LIMIT]) is not None
    )
