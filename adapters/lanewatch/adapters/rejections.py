"""Texts by which a runtime says that it did not run a tool, told apart from what tools themselves answer.

A guard's text stands where a result would stand. Wrongly taken for one, a tool's own "payment declined" would make a
call that ran look blocked, so a text proves a rejection only where it speaks of the tool, the call or the guard as such;
wording that may be either only casts doubt. Patterns are tried on excerpts, so that long texts cost no more than short.
"""

import re

from lanewatch.adapters.facts import Executed

REJECTION_LIMIT = 400  # characters; a guard's text is a sentence or two, a document that speaks of policies is longer
EXCERPT = 2000  # characters at either end of an error's text that patterns are tried on

_GUARD = (
    r"(polic(y|ies)|guard ?rails?|middleware|hooks?|moderation|(safety|security|permission|content) "
    r"(polic(y|ies)|checks?|filters?|rules?))"
)
_PERSON = r"(humans?|users?|reviewers?|approvers?|operators?|administrators?|admins?|supervisors?|moderators?)"
_STOPPED = (
    r"(blocked|rejected|denied|refused|declined|disallowed|forbidden|prevented|vetoed|stopped|skipped|cancell?ed)"
)
_NOT_RUN = r"not (been )?(approved|executed|carried out|run|performed|allowed|permitted)"
_TOOL = r"(tool|function)( (call|execution|use|usage|invocation))?"
_TOOL_CALL = r"(tool|function) (call|execution|use|usage|invocation)"
_SOME = r"((an?|the|our|your|input|output|tool|company|human) )*"

REJECTED = re.compile(
    # "Blocked by policy", "Tool execution blocked by hook": at the start, since a tool may answer with more than that.
    rf"^\W*(error\W+)?((this|the|your) )?(({_TOOL}|action|call|execution) )?((was|has been|is) )?"
    rf"(blocked|rejected|prevented|stopped|vetoed) by {_SOME}{_GUARD}\b"
    rf"|^\W*(error\W+)?((this|the|your) )?({_TOOL}|action) ((was|has been|is) )?{_STOPPED} (by|due to|because)\b"
    # "Tool execution was not approved", "The tool call `x` was blocked because it was classified as risky"
    rf"|\b(tool|function) (call|execution|use|usage|invocation)\b[^.\n]{{0,80}}\b(was|were|is|has been) "
    rf"(\w+ )?({_NOT_RUN}|{_STOPPED})\b"
    # "User rejected the tool call for `x`"
    rf"|\b{_PERSON} ((has|have) )?({_STOPPED}|(did not|didn.t) approve) (the|this|your|that) {_TOOL}\b"
    # "User denied tool execution", "The user doesn't want to proceed with this tool use"
    rf"|^\W*(error\W+)?(the )?{_PERSON} ((has|have) )?{_STOPPED} {_TOOL_CALL}\b"
    rf"|^\W*(the )?{_PERSON} (does ?n.t|does not|did ?n.t|did not) want to (proceed with|take) this (tool use|action)\b"
    rf"|\b(this action|(the|this) {_TOOL}) (was|has been) {_NOT_RUN}\b",
    re.IGNORECASE,
)
MAYBE_REJECTED = re.compile(
    r"^\W*(error\W+)?(blocked|denied|rejected|refused|declined|forbidden|disallowed|prevented|vetoed"
    r"|not (allowed|permitted|approved|authori[sz]ed)|(requires|needs|awaiting) approval|approval (is )?required)\b"
    rf"|\b{_STOPPED}\b[^.\n]{{0,40}}\b(by|due to|because of)\b[^.\n]{{0,30}}\b{_GUARD}\b"
    rf"|\b(action|call|operation|request|execution) (was|were|is|has been) ({_NOT_RUN}|{_STOPPED})\b"
    r"|\bnot (allowed|permitted|authori[sz]ed) to (call|use|run|execute|invoke)\b"
    r"|\b(violat\w+|against) [^.\n]{0,30}\bpolic(y|ies)\b|\bguard ?rails?\b",
    re.IGNORECASE,
)
# One of these is in all that either of the two finds: looking for them takes a fiftieth of the time.
STEMS = (
    "block", "reject", "denied", "refus", "declin", "allow", "forbid", "prevent", "veto", "stop", "skip", "cancel",
    "approv", "permit", "authori", "violat", "polic", "guard", "not ",
)  # fmt: skip
UNKNOWN_TOOL = re.compile(
    r"\b(unknown|no such|unavailable|non-?existent|unrecogni[sz]ed) (tool|function)\b"
    r"|\b(tool|function|action)\b[^.\n]{0,80}\b(not found|(does|do) ?n.t exist|does not exist"
    r"|is not (a valid|available|registered)|is not part of the provided (tools|functions))"
    r"|\b(is )?not a valid (tool|function)\b",
    re.IGNORECASE,
)
# What frameworks put in place of the result of a call that they did not make; a result's own words never begin so.
NOT_INVOKED = re.compile(
    # LangGraph: "Error: g is not a valid tool, try one of [f].", "Error invoking tool 'f' with kwargs {...} with error:"
    r"^\W*error\W+\S{1,200} is not a valid tool, try one of\b"
    r"|^\W*error (invoking|calling) (tool|function)\b[\s\S]{0,2000}?\b"
    r"(validation errors? for|field required|input should be|unexpected keyword argument|missing \d+ required)\b"
    # Pydantic AI, smolagents, Strands, MCP; Vercel's AI SDK; CrewAI
    r"|^\W*(error\W+)?unknown tool( name)?\b\W{1,4}[\w.-]{1,200}\W{0,3}($|\.|,? (should be one of|available))"
    r"|^\W*(error\W+)?model tried to call (an )?unavailable tool\b"
    r"|^\W*(error\W+)?action '[^']{1,200}' (don.t|doesn.t) exist, these are the only available actions\b",
    re.IGNORECASE,
)
WAITS = re.compile(
    r"\b(this|the) (tool|function) (call|execution|use|invocation) (requires|needs|is (waiting|pending) for|awaits) "
    r"((an?|user|human|your) )*(confirmation|approval)\b"
    r"|^\W*(waiting for|awaiting|pending) ((an?|user|human|your) )*(confirmation|approval) (of|for|to run) (this|the) "
    r"(tool|function)\b",
    re.IGNORECASE,
)
INVALID_ARGUMENTS = re.compile(
    r"\b(invalid|malformed|could not parse|couldn.t parse|failed to parse|unparsable|bad)\b[^.\n]{0,30}"
    r"\b(json|arguments?|tool (input|arguments?))\b"
    r"|\bvalidation errors? for\b|\binvalid[ _]arguments?\b|\bjson ?decode ?error\b"
    r"|\binvalid input for tool\b|\bmandatory input parameters are not present\b"  # Vercel's AI SDK, Google ADK
    r"|\barguments?\b[^.\n]{0,40}"
    r"\b(not valid|invalid|malformed|(do|did|does) ?n[o']t (match|fit|conform|satisfy|meet)|failed validation"
    r"|required and only)\b"
    r"|\bmissing( \d+)? required\b|\bunexpected (keyword )?argument(s|\(s\))?(?!\w)|\bschema (violation|validation)\b"
    r"|\barguments? (parsing|validation) failed\b|\binput validation error\b"
    # Semantic Kernel, of a function's parameter
    r"|\bparameter \S{1,80} is (expected to be parsed to|required but not provided)\b",
    re.IGNORECASE,
)


def rejected(text: str | None) -> Executed:
    """Whether a result's text says that a guard stopped the call: NO when it says so, UNKNOWN when it may, else YES."""
    if not text or len(text) > REJECTION_LIMIT:
        return Executed.YES
    folded = text.casefold()
    if not any(stem in folded for stem in STEMS):
        return Executed.YES
    if REJECTED.search(text):
        return Executed.NO
    return Executed.UNKNOWN if MAYBE_REJECTED.search(text) else Executed.YES


def says_not_invoked(text: str) -> bool:
    """Whether a result's text is a framework's, in place of a call that it did not make: no such tool, bad arguments."""
    return NOT_INVOKED.search(text[: 2 * EXCERPT]) is not None


def waits_for_approval(text: str) -> bool:
    """Whether a result's text says that the call waits for a person."""
    return len(text) <= REJECTION_LIMIT and WAITS.search(text) is not None


def says_unknown_tool(text: str) -> bool:
    """Whether an error's text says that there is no such tool."""
    return any(UNKNOWN_TOOL.search(part) for part in excerpts(text))


def says_invalid_arguments(text: str) -> bool:
    """Whether an error's text says that a tool's arguments were refused."""
    return any(INVALID_ARGUMENTS.search(part) for part in excerpts(text))


def excerpts(text: str) -> tuple[str, ...]:
    """The beginning and the end of a long text, on which patterns are tried."""
    return (text,) if len(text) <= 2 * EXCERPT else (text[:EXCERPT], text[-EXCERPT:])
