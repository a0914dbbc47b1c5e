"""Hold one line of `lanewatch replay --format jsonl` against what really happened, as recorded inside the agent.

A facet (requests, dispatches, retrievals, responses) is `exact` where the records equal the truth, `flagged` where they
do not and the output says so (evidence other than complete, `executed: unknown`, a divergence at the execution
boundary), and `wrong` where nothing says so. `divergence` is `hit`, `missed`, `open` (no verdict expected, for want of
evidence), `quiet`, or `false` (reported where there is none). A recording without retrieval has no such facet.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

Record = dict[str, Any]
Verdicts = dict[str, str]

SEPARATORS = re.compile(r"[-./:]|__")  # frameworks prefix tool names: plugin-tool, server.tool, ns__tool
EXACT_FLOAT_LIMIT = 2**53


def judge(line: Record, truth: Record) -> Verdicts:
    """Return the verdict of each facet that the recording has, and of `divergence`."""
    evidence = _Evidence(line)
    requests = _collect(line, "requests")
    dispatches = _dispatches(line, truth["scenario"])
    doubtful = evidence.open("dispatches") or any(d.get("executed") == "unknown" for d in dispatches)
    doubtful = doubtful or any(d.get("boundary") == "execution" for d in _collect(line, "divergences"))

    verdicts = {
        "requests": _verdict(_match(requests, truth["llm_emitted_calls"], same_request), evidence.open("requests")),
        "dispatches": _verdict(_match(dispatches, truth["dispatched"], same_dispatch), doubtful),
    }
    if truth["retrieved"] and truth.get("retriever") != "tool":
        equal = _match(_collect(line, "retrievals"), truth["retrieved"], same_retrieval)
        verdicts["retrievals"] = _verdict(equal, evidence.open("retrievals"))
    verdicts["responses"] = _verdict(_said(line, truth), evidence.open("responses"))
    reported = any(d.get("boundary") in ("dispatch", "execution") for d in _collect(line, "divergences"))
    verdicts["divergence"] = _divergence(reported, diverged(truth), doubtful or evidence.open("requests"))
    return verdicts


def diverged(truth: Record) -> bool:
    """Tell whether what the model asked for differs from what ran; an alias that the runtime resolved counts too."""
    dispatched = truth["dispatched"]
    if any(ran.get("via") and not same_name(ran["via"], ran["name"]) for ran in dispatched):
        return True
    return not _match(truth["llm_emitted_calls"], dispatched, _carried_out)


def same_name(seen: str | None, true: str | None) -> bool:
    """Compare tool names without case and punctuation, and without a prefix that a framework put before it."""
    return _fold(true) in (_fold(seen), _fold(SEPARATORS.split(seen or "")[-1]))


def same_request(seen: Record, true: Record) -> bool:
    """Compare a request with a call that the model wrote; arguments that are no JSON object must be kept as text."""
    wanted = parsed(true["arguments_raw"])
    got = seen.get("arguments")
    if not same_name(seen.get("name"), true["name"]):
        return False
    if isinstance(wanted, str):
        return bool((seen.get("arguments_raw") or (got if isinstance(got, str) else None)) == wanted)
    return canonical(got if got is not None else {}) == canonical(wanted)


def same_dispatch(seen: Record, true: Record) -> bool:
    """Compare a dispatch with a tool body that ran, under its own name or the one it was called by."""
    names = [name for name in (true["name"], true.get("via")) if name]
    arguments = seen.get("arguments")
    return any(same_name(seen.get("name"), name) for name in names) and (
        canonical(arguments if arguments is not None else {}) == canonical(true.get("args") or {})
    )


def same_retrieval(seen: Record, true: Record) -> bool:
    """Compare documents in rank order: by id where all have one, or else by text."""
    got, wanted = seen.get("documents") or [], true["documents"]
    ids = [document.get("id") for document in got]
    if all(ids) and all(document.get("id") for document in wanted) and ids == [d.get("id") for d in wanted]:
        return True
    return bool(wanted) and [_text(document) for document in got] == [_text(document) for document in wanted]


def canonical(value: object) -> object:
    """Make values comparable: key order and 1 against 1.0 don't matter; booleans, null, texts, big integers do."""
    match value:
        case dict():
            return "object", frozenset((key, canonical(item)) for key, item in value.items())
        case list():
            return "array", tuple(canonical(item) for item in value)
        case bool() | None:
            return "literal", value
        case float() if value.is_integer() and abs(value) < EXACT_FLOAT_LIMIT:
            return "number", repr(int(value))
        case int() | float():
            return "number", repr(value)
        case _:
            return "text", value


def parsed(raw: Any) -> Any:
    """Read arguments as the model wrote them: an object, {} for nothing, or the text where it is no JSON object."""
    if raw is None or raw == "":
        return {}
    if not isinstance(raw, str):
        return raw
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    return value if isinstance(value, dict) else raw


class _Evidence:
    """What a line says of its own completeness; silence claims completeness."""

    def __init__(self, line: Record) -> None:
        self._states = [trace.get("evidence") or {} for trace in line.get("traces", [])]

    def open(self, facet: str) -> bool:
        """Tell whether any trace says that its records of this kind are not complete."""
        return any(states.get(facet, "complete") != "complete" for states in self._states)


def _collect(line: Record, key: str) -> list[Record]:
    return [record for trace in line.get("traces", []) for record in trace.get(key, [])]


def _dispatches(line: Record, scenario: str) -> list[Record]:
    """Collect what is said to have run; in scenario 06 the alias is a tool too, whose body only calls the real one."""
    ran = [dispatch for dispatch in _collect(line, "dispatches") if dispatch.get("executed") != "no"]
    if scenario.startswith("06") and any(same_name(dispatch.get("name"), "cancel_subscription") for dispatch in ran):
        return [dispatch for dispatch in ran if not same_name(dispatch.get("name"), "cancel_sub")]
    return ran


def _match(seen: Iterable[Record], true: Iterable[Record], same: Callable[[Record, Record], bool]) -> bool:
    """Pair each record with one of the truth; nothing may be left over on either side, order does not matter."""
    left = list(true)
    for record in seen:
        position = next((index for index, other in enumerate(left) if same(record, other)), None)
        if position is None:
            return False
        del left[position]
    return not left


def _carried_out(asked: Record, ran: Record) -> bool:
    names = same_name(asked["name"], ran["name"]) or same_name(asked["name"], ran.get("via"))
    return names and canonical(parsed(asked["arguments_raw"])) == canonical(ran.get("args") or {})


def _said(line: Record, truth: Record) -> bool:
    """Tell whether every final answer was seen, and a refusal exactly where the scenario (09) is one."""
    responses = _collect(line, "responses")
    texts = {(response.get("text") or "").strip() for response in responses}
    refused = any(response.get("refusal") for response in responses)
    answers = {answer.strip() for answer in truth["final_answers"] if answer}
    return answers <= texts and refused == truth["scenario"].startswith("09")


def _verdict(equal: bool, said_so: bool) -> str:
    if equal:
        return "exact"
    return "flagged" if said_so else "wrong"


def _divergence(reported: bool, real: bool, no_verdict_expected: bool) -> str:
    if not real:
        return "false" if reported else "quiet"
    if reported:
        return "hit"
    return "open" if no_verdict_expected else "missed"


def _fold(name: str | None) -> str:
    return re.sub(r"[^a-z0-9]", "", (name or "").lower())


def _text(document: Record) -> str:
    return str(document.get("content") or document.get("text") or "").strip()
