"""Answers that end a turn, and what is told of each: refused, abstained, answered, or nothing.

Told, in order of certainty, by the API (a field or part of its own, a finish reason), by a filter's mark, by the type of
the exception with which a client or framework answers, and last by the answer's words. An output that was withheld
before it had any text is an answer too: one without text.
"""

from typing import NamedTuple

from msgspec.structs import replace

from lanewatch.adapters.dispositions import finish_reasons, markers, texts
from lanewatch.adapters.facts import ErrorInfo, LlmCall, Step, ToolKind, ToolRun
from lanewatch.adapters.messages import Message
from lanewatch.adapters.reading import State
from lanewatch.adapters.records import Disposition, DispositionSource, Response


class _Refusal(NamedTuple):
    """How a refusal was told."""

    source: DispositionSource
    rule: str | None = None
    text: str | None = None


def read_responses(calls: list[LlmCall], runs: list[ToolRun], steps: list[Step]) -> list[Response]:
    """The answers of a trace, in order of time: outputs without tool calls, and runs of an output tool."""
    answers: list[tuple[int, Response]] = []
    for call in calls:
        asks = any(not part.by_provider for message in call.output for part in message.calls)
        if asks:  # what a provider runs is answered in the same output
            continue
        if call.output_state is State.CAPTURED and call.output:
            answers.extend((call.span.end_ns, _response(call, message)) for message in call.output)
        elif (how := _withheld(call)) is not None:
            answers.append(
                (call.span.end_ns, _refused(Response(None, call.finish_reason, span_id=call.span.span_id.hex()), how))
            )
    for run in runs:
        if run.kind is ToolKind.OUTPUT and run.error is None:
            said = _by_words(Response(run.result.text, "stop", span_id=run.span.span_id.hex()))
            answers.append((run.span.end_ns, said))
    answers.sort(key=lambda pair: pair[0])
    for step in steps:
        _complete(answers, step)
    return _with_refusal_of_steps(answers, calls, steps)


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
    response = Response(message.text or refusal, finish, span_id=call.span.span_id.hex())
    if refusal is not None:
        return _refused(response, _Refusal(DispositionSource.FIELD))
    if (reason := finish_reasons.withheld(finish)) is not None:
        return _refused(response, _Refusal(DispositionSource.FINISH_REASON, reason))
    if not response.text and (mark := markers.left(call.span.attributes)) is not None:
        return _refused(response, _Refusal(DispositionSource.MARKER, mark))
    return _by_words(response)


def _withheld(call: LlmCall) -> _Refusal | None:
    """How a call whose output is not there tells that it was withheld. A hidden output tells nothing."""
    if (reason := finish_reasons.withheld(call.finish_reason)) is not None:
        return _Refusal(DispositionSource.FINISH_REASON, reason)
    if call.error is None and call.output_state is State.CAPTURED and (mark := markers.left(call.span.attributes)):
        return _Refusal(DispositionSource.MARKER, mark)
    return None


def _by_words(response: Response) -> Response:
    """What the answer's words tell, which is little: no rule that finds something leaves it undetermined."""
    found = texts.judge(response.text)
    if found is None:
        return response
    return replace(
        response,
        disposition=found.disposition,
        disposition_source=DispositionSource.TEXT,
        disposition_rule=found.rule,
    )


def _refused(response: Response, how: _Refusal) -> Response:
    return replace(
        response,
        text=how.text or response.text,
        disposition=Disposition.REFUSED,
        disposition_source=how.source,
        disposition_rule=how.rule,
    )


def _with_refusal_of_steps(
    answers: list[tuple[int, Response]], calls: list[LlmCall], steps: list[Step]
) -> list[Response]:
    """A refusal that the model's own span lost: told by a step's serialised event, or by the exception it raised. An
    error before the last answer ended was recovered: another model, or a retry, has answered.
    """
    responses = [response for _, response in answers]
    if any(response.refusal for response in responses):
        return responses
    how = next((_Refusal(DispositionSource.FIELD, text=step.refusal) for step in steps if step.refusal), None)
    ended = answers[-1][0] if answers else 0
    failed: list[Step | LlmCall] = [*steps, *calls]
    errors = [one.error for one in failed if one.error is not None and one.span.end_ns >= ended]
    how = how or next(filter(None, map(_raised, errors)), None)
    if how is None:
        return responses
    last = responses[-1] if responses else Response(None)
    if last.text and how.source is not DispositionSource.FIELD:
        how = how._replace(text=None)  # what the model said before it was stopped; the message is the framework's
    return [*responses[:-1], _refused(last, how)]


def _raised(error: ErrorInfo) -> _Refusal | None:
    if (rule := markers.said(error)) is not None:
        return _Refusal(DispositionSource.MARKER, rule)
    if (rule := markers.raised(error)) is not None:
        # These pass on the model's words; a guard's message is the framework's, and no answer.
        return _Refusal(DispositionSource.EXCEPTION, rule, error.message if rule.endswith("RefusalError") else None)
    return None
