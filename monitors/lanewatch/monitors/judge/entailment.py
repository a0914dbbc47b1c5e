"""The judge's second way of holding an answer against its contexts: split by rule, each claim judged by a model, all in one request.

Unlike Ragas' faithfulness the claims are the answer's own sentences (`claims`), split the same way each time, so that a score changes with the
answer or the judge and not with how a model put it in other words; it costs one request an order; and it tells what contradicts
from what is not mentioned.
"""

from collections import Counter
from typing import Any

import msgspec

from lanewatch.monitors.judge.asking import Asking, identity
from lanewatch.monitors.judge.claims import claims
from lanewatch.monitors.judge.endpoint import Endpoint
from lanewatch.monitors.judge.failures import InvalidAnswer, JudgeFailure
from lanewatch.monitors.judge.fencing import RULE, VERSION, fenced
from lanewatch.monitors.judge.injection import flags_of
from lanewatch.monitors.judge.judged import failed, scored, unsupported
from lanewatch.monitors.judge.metrics import Metric
from lanewatch.monitors.judge.orders import agreed, orders_of
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.samples import Sample

PROMPT_VERSION = "1"
SUPPORTED, CONTRADICTED, NOT_MENTIONED = "supported", "contradicted", "not_mentioned"
VERDICTS = (SUPPORTED, CONTRADICTED, NOT_MENTIONED)
SCHEMA: dict[str, Any] = {
    "title": "ClaimVerdicts",
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "claim": {"type": "integer", "description": "the claim's number"},
                    "verdict": {"type": "string", "enum": list(VERDICTS)},
                },
                "required": ["claim", "verdict"],
            },
        }
    },
    "required": ["verdicts"],
}
_INSTRUCTION = """\
You are given numbered claims and some contexts. For each claim say whether the contexts support it. Use nothing but the contexts:
what you know yourself does not count.
- supported: the contexts state it, or it follows from what they state without any doubt, also in other words or by simple arithmetic.
- contradicted: the contexts state something that can't be true together with it, as another number, name, date, or its negation.
- not_mentioned: neither. A claim of which one part is supported and another is not mentioned, is not_mentioned.
Give exactly one verdict for each claim, in their order. Return the output as JSON that complies with this JSON Schema:
"""
_FORM = "Do not use single quotes in your response but double quotes.\n"
_EXAMPLE = """\
--------EXAMPLE-----------
Input: {"contexts": ["The ferry left Oban at 9:15 with 40 passengers."], "claims": [{"claim": 1, "text": "The ferry left Oban in \
the morning."}, {"claim": 2, "text": "It carried 60 passengers."}, {"claim": 3, "text": "It was late."}]}
Output: {"verdicts": [{"claim": 1, "verdict": "supported"}, {"claim": 2, "verdict": "contradicted"}, \
{"claim": 3, "verdict": "not_mentioned"}]}
-----------------------------

Now perform the same with the following input
input: """


class EntailmentEvaluator:
    """An `Evaluates` for `entailment_support`: the share of an answer's claims that its contexts support.

    `endpoint` None: unsupported. `orders` 1 asks in the recorded order of the contexts only, at half of the price.
    """

    def __init__(self, endpoint: Endpoint | None, *, orders: int = 2) -> None:
        self._endpoint = endpoint
        self._orders = orders

    @property
    def prompt_version(self) -> str:
        """Changes whenever the prompt may: a part of the key under which scores are kept."""
        return f"entailment-{PROMPT_VERSION}/fence-{VERSION}/orders-{self._orders}"

    async def evaluate(self, metric: Metric, sample: Sample) -> Result:
        """The result of one sample. Its label is the worst verdict that any claim got."""
        if self._endpoint is None:
            return unsupported(Reason.NO_ENDPOINT)
        found = [claim.text for claim in claims(sample.answer or "")]
        contexts = [context for context in sample.contexts if context.strip()]
        reason = _missing(sample, found, contexts)
        if reason is not None:
            return Result(EvaluationOutcome.NOT_APPLICABLE, reason)
        flags, asking = flags_of(sample), Asking(self._endpoint, metric.name, identity(sample))
        try:
            orders = orders_of(contexts, sample.trace_id, self._orders)
            verdicts = [await _asked(asking, found, order) for order in orders]
        except JudgeFailure as failure:
            return failed(asking, flags, failure)
        value = agreed([_share(one) for one in verdicts])
        if value is None:
            return failed(asking, flags, JudgeFailure(Reason.UNSTABLE))
        explanation = "\n".join(f"{verdict}: {claim}" for claim, verdict in zip(found, verdicts[0], strict=True))
        return scored(asking, flags, metric, value, explanation, label=_worst(verdicts), coverage=1.0)


def _missing(sample: Sample, found: list[str], contexts: list[str]) -> Reason | None:
    if not (sample.answer or "").strip():
        return Reason.NO_ANSWER
    if not contexts:
        return Reason.NO_CONTEXTS
    return None if found else Reason.NO_CLAIMS


async def _asked(asking: Asking, found: list[str], contexts: tuple[str, ...]) -> list[str]:
    """A verdict for each claim. Raises `JudgeFailure`."""
    data = {"contexts": contexts, "claims": [{"claim": n, "text": text} for n, text in enumerate(found, 1)]}
    schema = msgspec.json.encode(SCHEMA).decode()
    text = fenced(msgspec.json.encode(data).decode()).text
    user = f"{_INSTRUCTION}{schema}{_FORM}\n{_EXAMPLE}{text}\nOutput: "
    verdicts: list[str] = await asking.chat(RULE, user, SCHEMA, lambda answer: verdicts_of(answer, len(found)))
    return verdicts


def verdicts_of(answer: dict[str, Any], n: int) -> list[str]:
    """The verdicts by claim. Raises `InvalidAnswer` unless each of the n claims has exactly one, of the three words."""
    rows = answer.get("verdicts")
    if not isinstance(rows, list) or len(rows) != n or not all(isinstance(row, dict) for row in rows):
        raise InvalidAnswer
    told = {row.get("claim"): row.get("verdict") for row in rows if isinstance(row.get("claim"), int)}
    if set(told) != set(range(1, n + 1)) or any(verdict not in VERDICTS for verdict in told.values()):
        raise InvalidAnswer
    return [str(told[number]) for number in range(1, n + 1)]


def _share(verdicts: list[str]) -> float:
    return Counter(verdicts)[SUPPORTED] / len(verdicts)


def _worst(orders: list[list[str]]) -> str:
    """One contradiction weighs more than many claims that stand nowhere."""
    said = {verdict for verdicts in orders for verdict in verdicts}
    return next(verdict for verdict in (CONTRADICTED, NOT_MENTIONED, SUPPORTED) if verdict in said)
