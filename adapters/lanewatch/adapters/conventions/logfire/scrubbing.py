"""What Logfire's scrubber leaves: `[Scrubbed due to '...']` in place of a value, also deep inside arguments.

Arguments with a hole are not what the model wrote, nor what a tool got: they count as redacted.
"""

from typing import TypeVar

from msgspec.structs import replace

from lanewatch.adapters.facts import LlmCall, ToolRun
from lanewatch.adapters.json_text import dump
from lanewatch.adapters.messages import Message, ToolCall
from lanewatch.adapters.reading import SCRUBBED, Content, State

_Run = TypeVar("_Run", bound=ToolRun)


def unscrubbed(content: Content) -> Content:
    """The content, or a redacted one where the scrubber has been in it."""
    if content.state is not State.CAPTURED:
        return content
    text = content.raw if content.raw is not None else dump(content.value)
    return Content(None, None, State.REDACTED) if SCRUBBED in text else content


def unscrubbed_run(run: _Run) -> _Run:
    """A run whose arguments and result are whole, or redacted."""
    arguments, result = unscrubbed(run.arguments), unscrubbed(run.result)
    if arguments is run.arguments and result is run.result:
        return run
    return replace(run, arguments=arguments, result=result)


def unscrubbed_call(call: LlmCall) -> LlmCall:
    """A model call whose requests have whole arguments, or redacted ones."""
    if not any(unscrubbed(part.arguments) is not part.arguments for m in call.output for part in m.calls):
        return call
    return replace(call, output=tuple(_message(message) for message in call.output))


def _message(message: Message) -> Message:
    parts = tuple(
        replace(part, arguments=unscrubbed(part.arguments)) if isinstance(part, ToolCall) else part
        for part in message.parts
    )
    return replace(message, parts=parts)
