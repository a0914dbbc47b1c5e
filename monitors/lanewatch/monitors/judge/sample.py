"""From a trace's record to the sample that a judge is shown.

The answer that is judged is the trace's last one, and what belongs to it: the last question, what was retrieved until the
answer was there, the model call that gave it. `draft_of` is cheap and holds what must not be stored yet; `sample_of` hides
that, as handoffs do, and holds nothing that JSON or UTF-8 can't hold.
"""

import json
from collections.abc import Iterable

import msgspec

from lanewatch.adapters.records import Disposition, Evidence, Generation, Response, Retrieval, TraceRecord
from lanewatch.collector.surrogates import repaired_text
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.label_text import label_text
from lanewatch.monitors.redaction.redactor import Redactor

UNKNOWN_SERVICE = "unknown"

_encoder = msgspec.json.Encoder(enc_hook=lambda value: f"<{type(value).__name__}>")
_decoder = msgspec.json.Decoder(Sample)


def sample_of(record: TraceRecord, redactor: Redactor) -> Sample:
    """The sample of a record, redacted: this alone may be stored, sent or shown to a judge."""
    return redacted(draft_of(record), record, redactor)


def draft_of(record: TraceRecord) -> Sample:
    """The sample as it was recorded, for looking at what it has; it must not leave this process."""
    response = _answer(record)
    generation = _generation(record, response)
    retrievals = _until(record.retrievals, generation)
    evidence = dict(record.evidence)
    if record.incomplete is not None:
        evidence = dict.fromkeys(evidence, Evidence.PARTIAL)
    elif evidence["retrievals"] is Evidence.COMPLETE and any(
        d.content is None for r in retrievals for d in r.documents
    ):
        evidence["retrievals"] = Evidence.PARTIAL  # ids alone: what they held is not known
    return Sample(
        record.trace_id,
        record.revision,
        record.service or UNKNOWN_SERVICE,
        record.end_ns if generation is None else generation.end_ns,
        span_id=_span(response, generation),
        response_id=None if generation is None else generation.response_id,
        question=_question(record),
        answer=None if response is None else _said(response.text),
        contexts=_contexts(retrievals),
        messages=record.messages,
        disposition=None if response is None else response.disposition,
        evidence=evidence,
        model=None if generation is None else generation.model,
        provider=None if generation is None else generation.provider,
        n_answer_tokens=None if generation is None else generation.usage.output,
    )


def redacted(draft: Sample, record: TraceRecord, redactor: Redactor) -> Sample:
    """A draft of this record without what must be hidden in it. Its service is named as in labels, whatever redacting does to a name:
    what is waited for under one must end under it.
    """
    search = redactor.search(record)
    messages = redactor.messages(record, search)
    rest = redactor.redact(msgspec.structs.replace(draft, messages=()), record, search)
    return _plain(msgspec.structs.replace(rest, messages=messages, service=label_text(draft.service)))


def characters(sample: Sample) -> int:
    """How much text it holds, that of calls' arguments included; every other value counts as one character."""
    found = 0
    left: list[object] = [sample.question, sample.answer, *sample.contexts]
    for message in sample.messages:
        left += [message.get("content"), message.get("tool_calls")]
    while left:  # by hand: how deep arguments go is the application's to say
        value = left.pop()
        if isinstance(value, str):
            found += len(value)
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            left += value
        elif value is not None:
            found += 1
    return found


def _plain(sample: Sample) -> Sample:
    """With what JSON and UTF-8 can hold alone: a half of a surrogate pair becomes U+FFFD."""
    try:
        return _decoder.decode(_encoder.encode(sample))
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(sample, enc_hook=_encoder.enc_hook))
        return _decoder.decode(repaired_text(text))


def _answer(record: TraceRecord) -> Response | None:
    """The last answer; a refusal counts without text, since the API withheld what would stand there."""
    told = (r for r in reversed(record.responses) if _said(r.text) or r.disposition is Disposition.REFUSED)
    return next(told, record.responses[-1] if record.responses else None)


def _generation(record: TraceRecord, response: Response | None) -> Generation | None:
    if response is None or response.span_id is None:
        return None
    return next((one for one in record.generations if one.span_id == response.span_id), None)


def _span(response: Response | None, generation: Generation | None) -> str | None:
    if generation is not None:
        return generation.span_id
    return None if response is None else response.span_id


def _until(retrievals: Iterable[Retrieval], generation: Generation | None) -> tuple[Retrieval, ...]:
    """The retrievals that can have served the answer, in order of time."""
    known = (one for one in retrievals if generation is None or one.start_ns <= generation.end_ns)
    return tuple(sorted(known, key=lambda one: one.start_ns))


def _contexts(retrievals: Iterable[Retrieval]) -> tuple[str, ...]:
    """Documents' texts, each once: by retrieval, then rank. Ragas asks its judge about blank ones too."""
    documents = (d for one in retrievals for d in sorted(one.documents, key=lambda document: document.rank))
    return tuple(dict.fromkeys(text for d in documents if (text := _said(d.content)) is not None))


def _question(record: TraceRecord) -> str | None:
    """The last thing a person said; else what was searched for."""
    for message in reversed(record.messages):
        if message.get("type") == "human":
            return _said(message.get("content"))
    return next((query for one in reversed(record.retrievals) if (query := _said(one.query)) is not None), None)


def _said(text: object) -> str | None:
    return text if isinstance(text, str) and text.strip() else None
