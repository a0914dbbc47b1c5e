"""The sample of a trace: what the last answer was asked, was given, and said, without what must be hidden."""

from typing import Any

import msgspec
import pytest
from lanewatch.adapters.records import Disposition, Document, Evidence, Incomplete, Retrieval, Usage
from lanewatch.monitors.judge.sample import characters, draft_of, sample_of
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.redaction.redactor import Redactor
from lanewatch.monitors.tools import Registry, Tool

from tests.monitors.records import answer, generation, record, request, retrieval

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3


def human(text: str) -> dict[str, Any]:
    """What a person said."""
    return {"content": text, "metadata": None, "type": "human"}


def ai(text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    """What the model said, and asked for."""
    return {"content": text, "metadata": None, "type": "ai", "tool_calls": list(calls) or None}


def found(start_ns: int, *documents: Document) -> Retrieval:
    """A retrieval at a time."""
    return Retrieval("query", documents, None, "cc" * 8, start_ns, start_ns + 1)


def test_the_last_answer_is_judged_with_the_last_question() -> None:
    """And with the model call that gave it."""
    calls = (
        generation(span_id="a1" * 8, model="first"),
        generation(span_id="a2" * 8, model="second", provider="p", response_id="r-2", usage=Usage(7, 9), end_ns=50),
    )
    answers = tuple(
        msgspec.structs.replace(answer(text), span_id=span) for text, span in (("One.", "a1" * 8), ("Two.", "a2" * 8))
    )
    sample = draft_of(record(generations=calls, responses=answers, messages=(human("first?"), human("second?"))))

    assert (sample.question, sample.answer, sample.span_id) == ("second?", "Two.", "a2" * 8)
    assert (sample.model, sample.provider, sample.response_id, sample.n_answer_tokens) == ("second", "p", "r-2", 9)
    assert sample.time_ns == 50


def test_a_refusal_without_text_is_the_answer() -> None:
    """The API withheld it; an earlier answer is not what the person got."""
    withheld = msgspec.structs.replace(answer("x", refusal=True), text=None)
    sample = draft_of(record(responses=(answer("Before."), withheld)))

    assert (sample.answer, sample.disposition) == (None, Disposition.REFUSED)


def test_contexts_are_each_document_once_by_time_and_rank() -> None:
    """A document that two searches found is one; a blank one is none."""
    late = found(5, Document(0, "d", "delta"), Document(1, "a", "alpha"))
    early = found(1, Document(1, "b", "beta"), Document(0, "a", "alpha"), Document(2, "x", " \n"))
    sample = draft_of(record(retrievals=(late, early)))

    assert sample.contexts == ("alpha", "beta", "delta")


def test_what_was_retrieved_after_the_answer_is_no_context_of_it() -> None:
    """The answer can't rest on it."""
    call = generation(span_id="a1" * 8, end_ns=10)
    said = msgspec.structs.replace(answer(), span_id="a1" * 8)
    retrievals = (found(1, Document(0, "a", "before")), found(11, Document(0, "b", "after")))

    assert draft_of(record(generations=(call,), responses=(said,), retrievals=retrievals)).contexts == ("before",)


def test_documents_without_their_text_make_the_evidence_partial() -> None:
    """What an id stands for is not known: no judge may take the rest for all."""
    sample = draft_of(record(retrievals=(found(1, Document(0, "a", "alpha"), Document(1, "b")),)))

    assert sample.evidence["retrievals"] is Evidence.PARTIAL


def test_a_record_that_was_given_up_has_no_whole_evidence() -> None:
    """Nothing was made of the trace."""
    given_up = record(incomplete=Incomplete.WORK_LIMIT, generations=(), responses=())

    assert set(draft_of(given_up).evidence.values()) == {Evidence.PARTIAL}


def test_the_query_stands_for_a_question_that_nobody_asked() -> None:
    """A search without a model call."""
    assert draft_of(record(retrievals=(retrieval("alpha"),))).question == "a question"


def test_secrets_and_sensitive_arguments_leave_every_part() -> None:
    """The store and the worker hold redacted content alone."""
    registry = Registry([Tool("refund", sensitive=(("iban",),))])
    iban = "DE02 1203 0000 0000 2020 51"
    known = record(
        requests=(request("refund", {"iban": iban}),),
        retrievals=(retrieval(f"key {SECRET}"),),
        responses=(answer(f"Paid to {iban}."),),
        messages=(human(f"to {iban}"), ai("", {"name": "refund", "args": {"iban": iban}}), human(f"with {SECRET}")),
    )
    text = msgspec.json.encode(sample_of(known, Redactor(registry=registry))).decode()

    assert SECRET not in text
    assert iban not in text
    assert "Paid to" in text
    assert SECRET in draft_of(known).contexts[0]


def test_a_sensitive_argument_is_hidden_however_short_it_is() -> None:
    """By its place: "42" can't be looked for in texts."""
    registry = Registry([Tool("unlock", sensitive=(("floor",),))])
    known = record(messages=(ai("", {"name": "unlock", "args": {"floor": "42", "door": "42"}}),))
    (message,) = sample_of(known, Redactor(registry=registry)).messages
    arguments = message["tool_calls"][0]["args"]

    assert arguments["floor"] != "42"
    assert arguments["door"] == "42"


def test_a_sample_survives_json_whatever_was_traced() -> None:
    """Half a surrogate pair becomes U+FFFD; the store and every endpoint need UTF-8."""
    known = record(responses=(answer("cut \ud83d"),), messages=(human("q\udc00"), ai("", {"name": "f", "args": {}})))
    sample = sample_of(known, Redactor())

    assert sample.answer == "cut \ufffd"
    assert msgspec.json.decode(msgspec.json.encode(sample), type=Sample) == sample


def test_characters_are_of_arguments_too() -> None:
    """A tool that was given a file is as long as the file, however deep it lies."""
    deep: Any = "x" * 1000
    for _ in range(5000):
        deep = [deep]
    sample = Sample("t", 0, "s", 0, messages=(ai("", {"name": "save", "args": {"file": deep, "n": 7}}),))

    assert characters(sample) == len("name") + len("save") + len("args") + len("file") + len("n") + 1 + 1000


@pytest.mark.parametrize(("text", "length"), [("abc", 3), ("", 0)])
def test_characters_are_of_all_its_texts(text: str, length: int) -> None:
    """Not of names and ids."""
    sample = Sample("t", 0, "s", 0, question=text, contexts=(text,), messages=({"content": text}, {"content": None}))

    assert characters(sample) == 3 * length
