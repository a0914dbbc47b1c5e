"""What models were shown as the results of their calls, out of the inputs of later calls.

Every input repeats the history before it, and ids may be used again in a later turn: the result of a request is the
first one of its id that the input of the asking call did not have yet.
"""

from bisect import bisect_right
from collections import defaultdict

from lanewatch.adapters.facts import LlmCall
from lanewatch.adapters.identity import id_quality
from lanewatch.adapters.messages import Message, ToolCall, ToolResult
from lanewatch.adapters.records import IdQuality


class ShownResults:
    """Results in model inputs, by call id, in order of the calls whose inputs hold them."""

    def __init__(self, calls: list[LlmCall]) -> None:
        self._turns: dict[str, list[int]] = defaultdict(list)
        self._results: dict[str, list[list[ToolResult]]] = defaultdict(list)
        for turn, call in enumerate(calls):
            by_id: dict[str, list[ToolResult]] = defaultdict(list)
            for message in call.input:
                for result in message.results:
                    if result.call_id:
                        by_id[result.call_id].append(result)
            for call_id, results in by_id.items():
                self._turns[call_id].append(turn)
                self._results[call_id].append(results)

    def result(self, call_ids: tuple[str | None, ...], turn: int, ordinal: int = 0) -> ToolResult | None:
        """The result of the call with one of these ids that model call `turn` asked for; `ordinal` counts the calls of
        that output that share the id.
        """
        for call_id in call_ids:
            if not call_id or call_id not in self._turns:
                continue
            turns, results = self._turns[call_id], self._results[call_id]
            place = bisect_right(turns, turn)
            known = len(results[place - 1]) if place and turns[place - 1] == turn else 0
            for later in results[place:]:
                if len(later) > known + ordinal:
                    return later[known + ordinal]
            if place < len(results) and not known:  # history was trimmed, or two calls were answered as one
                return results[place][-1]
        return None


def aliases_in_inputs(calls: list[LlmCall]) -> dict[str, str]:
    """Rule R4: call ids by the item ids that outputs hold in their place (OpenAI's Responses API through OpenLLMetry:
    `fc_...` in the output and in repeated calls, `call_...` on the result). A turn's calls and the results behind them
    belong together in order, where there are as many of one as of the other.
    """
    aliases: dict[str, str] = {}
    outputs = (part for call in calls for message in call.output for part in message.calls)
    if not any(id_quality(part.call_id, part.name) is IdQuality.ITEM for part in outputs):
        return aliases
    for call in calls:
        asked: list[ToolCall] = []
        told: list[ToolResult] = []
        for message in (*call.input, Message("assistant")):
            if message.role == "assistant" and told:
                if len(asked) == len(told):
                    pairs = zip(asked, told, strict=True)
                    aliases.update(
                        {a.call_id: b.call_id for a, b in pairs if _bridges(a, b) and a.call_id and b.call_id}
                    )
                asked, told = [], []
            asked.extend(message.calls)
            told.extend(message.results)
    return aliases


def _bridges(asked: ToolCall, told: ToolResult) -> bool:
    return (
        id_quality(asked.call_id, asked.name) is IdQuality.ITEM
        and id_quality(told.call_id, asked.name) is IdQuality.REAL
        and not asked.aliases
    )
