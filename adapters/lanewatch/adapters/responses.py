"""Answers that end a turn, and whether they refuse.

A refusal is told, in order of certainty, by the API (a field or part of its own, or finish reason content_filter), by
the exception with which a framework answers it, or by the text.
"""

from msgspec.structs import replace

from lanewatch.adapters.facts import LlmCall, Step, ToolKind, ToolRun
from lanewatch.adapters.messages import Message
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Response
from lanewatch.adapters.refusals import refuses

REFUSAL_EXCEPTIONS = ("ModelRefusalError", "ContentFilterError", "ContentFilterFinishReasonError", "RefusalError")
FILTERED = ("content_filter", "content-filter", "refusal", "safety")


def read_responses(calls: list[LlmCall], runs: list[ToolRun], steps: list[Step]) -> list[Response]:
    """The answers of a trace, in order of time: outputs without tool calls, and runs of an output tool."""
    answers: list[tuple[int, Response]] = []
    for call in calls:
        asks = any(not part.by_provider for message in call.output for part in message.calls)
        if call.output_state is not State.CAPTURED or asks:  # what a provider runs is answered in the same output
            continue
        answers.extend((call.span.end_ns, _response(call, message)) for message in call.output)
    for run in runs:
        if run.kind is ToolKind.OUTPUT and run.error is None:
            text = run.result.text
            told = "text" if refuses(text) else None
            answers.append((run.span.end_ns, Response(text, told is not None, "stop", told, run.span.span_id.hex())))
    answers.sort(key=lambda pair: pair[0])
    for step in steps:
        _complete(answers, step)
    responses = [response for _, response in answers]
    return _with_refusal_of_steps(responses, calls, steps)


def _complete(answers: list[tuple[int, Response]], step: Step) -> None:
    """Give the last answer inside an agent the text that the agent gave its caller, where it only ends with that."""
    if not step.answer:
        return
    for place in range(len(answers) - 1, -1, -1):
        ended, response = answers[place]
        if step.span.start_ns <= ended <= step.span.end_ns and response.text:
            if step.answer.endswith(response.text):
                answers[place] = (ended, replace(response, text=step.answer))
            return


def _response(call: LlmCall, message: Message) -> Response:
    finish = message.finish_reason or call.finish_reason
    refusal = message.refusal
    text = message.text or refusal
    told = None
    if refusal is not None or (finish or "").lower() in FILTERED:
        told = "api"
    elif refuses(text):
        told = "text"
    return Response(text, told is not None, finish, told, call.span.span_id.hex())


def _with_refusal_of_steps(responses: list[Response], calls: list[LlmCall], steps: list[Step]) -> list[Response]:
    """A refusal that the model's own span lost: told by a step's serialised event, or by the exception it raised."""
    if any(response.refusal for response in responses):
        return responses
    buried = next((step.refusal for step in steps if step.refusal), None)
    errors = [step.error for step in steps] + [call.error for call in calls]
    raised = next((error for error in errors if error is not None and _is_refusal(error.type)), None)
    if buried is None and raised is None:
        return responses
    told = "api" if buried is not None else "exception"
    last = responses[-1] if responses else Response(None, False, None)
    text = buried or last.text or (raised.message if raised is not None else None)
    return [*responses[:-1], Response(text, True, last.finish_reason, told, last.span_id)]


def _is_refusal(kind: str | None) -> bool:
    return (kind or "").rpartition(".")[2] in REFUSAL_EXCEPTIONS
