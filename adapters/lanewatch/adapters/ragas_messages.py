"""The artifact as Ragas' own message objects. The only module that imports ragas, and only when it is called.

Needs the extra `ragas` (`make ragas` in a checkout). Importing ragas takes seconds and about 220 MB, so a sidecar that does
not judge never does it. Its telemetry is switched off before anything of it is imported: it posts synchronously.
"""

import copy
import os
from collections.abc import Iterable
from typing import Any

# Lanewatch is in no package index: what bears its name there would be somebody else's.
EXTRA = "'.[ragas]' in a checkout of Lanewatch (or: make ragas)"
INSTALL = f"ragas is not installed: pip install {EXTRA}"


class RagasMissingError(ImportError):
    """The extra is not installed."""


def to_ragas(messages: Iterable[dict[str, Any]]) -> list[Any]:
    """`ragas.messages` objects (HumanMessage, AIMessage with ToolCall, ToolMessage) for message dictionaries.

    Values are copied deeply: ragas keeps nested arguments as the caller's own objects. Raises RagasMissingError.
    """
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    try:
        from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage  # noqa: PLC0415 - see above
    except ImportError as error:
        raise RagasMissingError(INSTALL) from error
    made: list[Any] = []
    for message in copy.deepcopy(list(messages)):
        content, metadata = message["content"], message["metadata"]
        if message["type"] == "human":
            made.append(HumanMessage(content=content, metadata=metadata))
        elif message["type"] == "tool":
            made.append(ToolMessage(content=content, metadata=metadata))
        else:
            calls = [ToolCall(name=call["name"], args=call["args"]) for call in message["tool_calls"] or ()]
            made.append(AIMessage(content=content, metadata=metadata, tool_calls=calls or None))
    return made


def to_sample(messages: Iterable[dict[str, Any]]) -> Any:
    """A `MultiTurnSample` of the messages; ragas validates their order when it is made and raises ValueError."""
    user_input = to_ragas(messages)
    from ragas.dataset_schema import MultiTurnSample  # noqa: PLC0415 - to_ragas has switched telemetry off

    return MultiTurnSample(user_input=user_input)
