"""Ragas' own metrics, asked through a judge that answers well, badly, or not at all: a number is always a judgement."""

import math
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lanewatch.monitors.judge import ragas_metrics
from lanewatch.monitors.judge.calls import MemoryJournal, Reservation
from lanewatch.monitors.judge.endpoint import Endpoint
from lanewatch.monitors.judge.metrics import BY_NAME, METRICS, Evaluator
from lanewatch.monitors.judge.ragas_llm import by_embedder
from lanewatch.monitors.judge.ragas_metrics import MAX_CONTEXTS, RAGAS_VERSION, RagasEvaluator
from lanewatch.monitors.judge.ragas_recipes import RECIPES
from lanewatch.monitors.judge.results import EvaluationOutcome, Reason, Result
from lanewatch.monitors.judge.samples import Sample

from tests.judge_server.good_answers import good_answer
from tests.judge_server.server import JudgeServer
from tests.monitors.judge.asked import Asked
from tests.monitors.judge.judged_samples import SAMPLE, judged, judged_by
from tests.monitors.judge.test_endpoint_faults import ENDS, SECONDS

NAMES = [metric.name for metric in METRICS if metric.evaluator is Evaluator.RAGAS]
PAID = [name for name in NAMES if BY_NAME[name].paid]
# Requests for the sample above, each context and statement counted; balanced metrics are asked in two orders.
CALLS = {
    "context_relevance": 4,
    "context_utilization": 3,
    "faithfulness": 3,  # its statements once, its verdicts twice
    "response_groundedness": 4,
    "answer_relevancy": 3,  # one question, two of embeddings
    "quoted_spans_alignment": 0,
    "topic_adherence": 4,
    "agent_goal_accuracy": 2,
}


def answers(**by_title: Any) -> Any:
    """A judge that says something else to the schemas that are named, and is satisfied with the rest."""

    def answer(title: str, given: Any, prompt: str) -> Any:
        if title not in by_title:
            return good_answer(title, given, prompt)
        said = by_title[title]
        return said(given, prompt) if callable(said) else said

    return answer


def test_every_metric_of_ragas_has_a_recipe() -> None:
    """And every recipe is a row."""
    assert set(RECIPES) == set(NAMES) == set(CALLS)


@pytest.mark.parametrize("name", NAMES)
def test_a_good_answer_is_a_score(name: str) -> None:
    """With the model, what it cost, and as many requests as stated."""
    with JudgeServer() as server:
        result = judged_by(server, name)

    assert result.outcome is EvaluationOutcome.SCORED
    assert result.value is not None
    assert result.value > 0.8
    assert len(server.calls) == CALLS[name] == result.cost.calls
    assert result.judge_model == ("judge-1" if BY_NAME[name].paid else None)
    assert result.flags == ()


@pytest.mark.parametrize("mode", ENDS)
def test_a_metric_that_swallows_errors_says_what_they_were(mode: str) -> None:
    """ResponseGroundedness turns any exception into NaN; what it was, is the outcome, and nothing more was asked."""
    end, n_requests = ENDS[mode]
    with JudgeServer(mode) as server:
        result = judged(Asked(server, seconds=SECONDS.get(mode, 10.0)), "response_groundedness")

    came = "scored" if result.value == 1.0 else result.reason
    assert came == end
    assert len(server.calls) == (n_requests + 3 if end == "scored" else n_requests)
    assert result.value is None or math.isfinite(result.value)


@pytest.mark.parametrize("name", PAID)
@pytest.mark.parametrize("mode", ["500", "401", "429_retry_after_long", "refusal_field", "finish_length", "prose_only"])
def test_a_failure_is_no_zero(name: str, mode: str) -> None:
    """Each metric, each kind of failure: unscored, with the reason of the call."""
    with JudgeServer(mode) as server:
        result = judged_by(server, name)

    assert (result.outcome, result.value) == (EvaluationOutcome.UNSCORED, None)
    assert result.reason == ENDS[mode][0]
    assert len(server.calls) == ENDS[mode][1]


@pytest.mark.parametrize(("name", "n_good"), [(name, n) for name in PAID for n in range(1, CALLS[name])])
def test_a_failure_in_the_middle_is_no_score_of_the_rest(name: str, n_good: int) -> None:
    """Of two judges, one that failed would leave the other's rating as the mean."""
    with JudgeServer("404") as server:
        server.plays(*["ok"] * n_good)
        result = judged_by(server, name)

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSCORED, Reason.BAD_REQUEST)
    assert len(server.calls) == n_good + 1
    assert result.cost.calls == n_good + 1


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("faithfulness", "verdict_2"),
        ("faithfulness", "verdict_yes"),
        ("faithfulness", "verdict_minus_1"),
        ("faithfulness", "verdict_half"),
        ("faithfulness", "verdict_nan"),
        ("context_utilization", "verdict_2"),
        ("context_utilization", "verdict_null"),
        ("agent_goal_accuracy", "verdict_2"),
        ("agent_goal_accuracy", "verdict_yes"),
        ("response_groundedness", "verdict_3"),
        ("context_relevance", "verdict_half"),
    ],
)
def test_a_verdict_out_of_range_is_invalid(name: str, mode: str) -> None:
    """Asked again within the retry budget, and then unscored."""
    with JudgeServer(mode) as server:
        result = judged_by(server, name)

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSCORED, Reason.JUDGE_INVALID)
    first_calls = 1 if name in {"faithfulness", "agent_goal_accuracy"} else 0
    assert len(server.calls) == first_calls + 3


@pytest.mark.parametrize("n", [0, 1, 4, 6, 50])
def test_five_statements_need_five_verdicts(n: int) -> None:
    """Ragas would divide by however many came."""
    verdict = {"statement": "s", "reason": "r", "verdict": 1}
    with JudgeServer(answers=answers(NLIStatementOutput={"statements": [verdict] * n})) as server:
        result = judged_by(server, "faithfulness")

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSCORED, Reason.JUDGE_INVALID)


@pytest.mark.parametrize("classifications", [[], [True], [True, True, True]])
def test_each_topic_needs_its_classification(classifications: list[bool]) -> None:
    """Ragas fills up with no, and cuts what is too much, without a word."""
    with JudgeServer(answers=answers(TopicClassificationOutput={"classifications": classifications})) as server:
        result = judged_by(server, "topic_adherence")

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSCORED, Reason.JUDGE_INVALID)


def test_a_judge_that_names_topics_without_end_is_invalid() -> None:
    """Each topic is a call that is paid."""
    with JudgeServer(answers=answers(TopicExtractionOutput={"topics": ["t"] * 1000})) as server:
        result = judged_by(server, "topic_adherence")

    assert result.reason is Reason.JUDGE_INVALID
    assert len(server.calls) == 3


@pytest.mark.parametrize("verdict", [1, 1.0, True, "1"])
def test_a_verdict_may_be_spelt_in_four_ways(verdict: Any) -> None:
    """None of them leaves a doubt."""
    with JudgeServer(
        answers=answers(
            ContextPrecisionOutput={"reason": "r", "verdict": verdict},
            CompareOutcomeOutput={"reason": "r", "verdict": verdict},
        )
    ) as server:
        results = [judged_by(server, name) for name in ("context_utilization", "agent_goal_accuracy")]

    assert [result.value for result in results] == [pytest.approx(1.0), 1.0]


def test_what_the_judge_finds_unsupported_is_a_low_score() -> None:
    """A true 0 stays one: three of five statements, none of three contexts."""

    def three_of_five(given: Any, _: str) -> Any:
        return {
            "statements": [
                {"statement": one, "reason": "r", "verdict": int(n < 3)} for n, one in enumerate(given["statements"])
            ]
        }

    with JudgeServer(
        answers=answers(NLIStatementOutput=three_of_five, ContextPrecisionOutput={"reason": "r", "verdict": 0})
    ) as server:
        faithful, used = (judged_by(server, name) for name in ("faithfulness", "context_utilization"))

    assert faithful.value == pytest.approx(0.6)
    assert used.value == 0.0
    assert faithful.explanation is not None
    assert faithful.explanation.splitlines()[4] == "0 It is red.: r"


PLAIN = "The bridge was built by Ito Endo. It is painted red every year. Two trains cross it each hour."
TELLING = msgspec.structs.replace(
    SAMPLE,
    answer=PLAIN,
    messages=(
        {"type": "human", "content": "Tell me about the bridge.", "metadata": None},
        {"type": "ai", "content": PLAIN, "metadata": None, "tool_calls": []},
    ),
)
EVASION = msgspec.structs.replace(SAMPLE, answer="Bridges are impressive. Each of them has a story.")
SMALL_TALK = msgspec.structs.replace(
    SAMPLE,
    messages=(
        {"type": "human", "content": "Hello!", "metadata": None},
        {"type": "ai", "content": "Hello, how are you?", "metadata": None, "tool_calls": []},
    ),
)
NOTHING = answers(
    StatementGeneratorOutput={"statements": []},
    AnswerRelevanceOutput={"question": "What?", "noncommittal": 1},
    TopicExtractionOutput={"topics": []},
)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("answer_relevancy", "answers: "),
        ("context_relevance", "rating: 2 of 2"),
        ("response_groundedness", "rating: 2 of 2"),
        ("topic_adherence", "topics: "),
    ],
)
def test_a_score_says_what_the_judge_gave(name: str, told: str) -> None:
    """Also of metrics whose judge gives no reasons: the question, the rating or the topics that the number is made of."""
    with JudgeServer() as server:
        result = judged_by(server, name)

    assert result.value is not None
    assert result.explanation is not None
    assert result.explanation.startswith(told)


def test_an_evasive_answer_is_set_apart_and_not_scored_0() -> None:
    """Ragas multiplies by 0 what the judge calls noncommittal."""
    with JudgeServer(answers=NOTHING) as server:
        result = judged_by(server, "answer_relevancy", EVASION)

    assert (result.outcome, result.reason) == (EvaluationOutcome.NOT_APPLICABLE, Reason.ABSTAINED)
    assert result.cost.calls == 3


@pytest.mark.parametrize("name", ["faithfulness", "topic_adherence"])
def test_a_judge_that_finds_nothing_in_what_plainly_tells_something_is_invalid(name: str) -> None:
    """An absence is in no coverage and alerts nobody; three whole sentences can't be nothing."""
    with JudgeServer(answers=NOTHING) as server:
        result = judged_by(server, name, TELLING)

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSCORED, Reason.JUDGE_INVALID)
    assert len(server.calls) == 3


def test_an_answer_without_a_question_is_invalid_and_not_0() -> None:
    """Ragas gives 0.0 where the judge names no question."""
    with JudgeServer(answers=answers(AnswerRelevanceOutput={"question": " ", "noncommittal": 0})) as server:
        result = judged_by(server, "answer_relevancy")

    assert result.reason is Reason.JUDGE_INVALID


def test_an_answer_without_statements_has_nothing_to_judge() -> None:
    """Ragas gives NaN."""
    with JudgeServer(answers=NOTHING) as server:
        result = judged_by(server, "faithfulness", EVASION)

    assert (result.outcome, result.reason) == (EvaluationOutcome.NOT_APPLICABLE, Reason.NO_CLAIMS)


def test_a_conversation_without_topics_has_nothing_to_judge() -> None:
    """Ragas gives NaN."""
    with JudgeServer(answers=NOTHING) as server:
        result = judged_by(server, "topic_adherence", SMALL_TALK)

    assert (result.outcome, result.reason) == (EvaluationOutcome.NOT_APPLICABLE, Reason.NO_TOPICS)


def test_refusing_every_topic_off_the_list_is_not_scored_0() -> None:
    """It is what the list is for; F1 of nothing answered and nothing to answer is 0 / 0."""
    with JudgeServer(
        answers=answers(
            TopicRefusedOutput={"refused_to_answer": True},
            TopicClassificationOutput=lambda given, _: {"classifications": [False for _ in given["topics"]]},
        )
    ) as server:
        result = judged_by(server, "topic_adherence")

    assert (result.outcome, result.reason) == (EvaluationOutcome.NOT_APPLICABLE, Reason.REFUSED)


def test_answering_off_the_list_is_0() -> None:
    """That one is a judgement."""
    with JudgeServer(
        answers=answers(
            TopicClassificationOutput=lambda given, _: {"classifications": [False for _ in given["topics"]]}
        )
    ) as server:
        result = judged_by(server, "topic_adherence")

    assert (result.outcome, result.value) == (EvaluationOutcome.SCORED, 0.0)


@pytest.mark.parametrize("name", ["faithfulness", "context_relevance", "context_utilization", "quoted_spans_alignment"])
def test_blank_contexts_do_not_reach_a_judge(name: str) -> None:
    """Among others they are left out; alone they are no contexts, and no 0."""
    blank = msgspec.structs.replace(SAMPLE, contexts=("", " \n", "\t"))
    some = msgspec.structs.replace(SAMPLE, contexts=("", "The bridge was built in 1932.", " "))
    with JudgeServer() as server:
        nothing, n_calls = judged_by(server, name, blank), len(server.calls)
        judged_by(server, name, some)

    assert (nothing.outcome, nothing.reason, n_calls) == (EvaluationOutcome.NOT_APPLICABLE, Reason.NO_CONTEXTS, 0)
    for body in server.bodies:
        data = body["messages"][1]["content"].rpartition("input: ")[2]
        assert not re.search(r'"context": "(\s|\\n|\\t)*"', data)


def test_contexts_that_are_a_part_of_the_question_are_no_contexts() -> None:
    """Ragas gives 0.0 without asking anybody."""
    sample = msgspec.structs.replace(SAMPLE, question="What is meant by: It is old.", contexts=("It is old.",))
    with JudgeServer() as server:
        result = judged_by(server, "context_relevance", sample)

    assert (result.outcome, result.reason) == (EvaluationOutcome.NOT_APPLICABLE, Reason.NO_CONTEXTS)
    assert server.calls == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("It was built in 1932.", Reason.NO_QUOTES),
        ("It's the bridge's age that doesn't matter, isn't it?", Reason.NO_QUOTES),
        ('He called it "old".', Reason.NO_QUOTES),
        ('He called it "a very old bridge".', Reason.NONE),
    ],
)
def test_an_answer_without_quotes_is_not_scored_1(answer: str, reason: Reason) -> None:
    """Ragas gives 1.0 where nothing is quoted, and takes apostrophes for quotes."""
    with JudgeServer() as server:
        result = judged_by(server, "quoted_spans_alignment", msgspec.structs.replace(SAMPLE, answer=answer))

    assert result.reason is reason
    assert (result.value == 1.0) == (reason is Reason.NONE)


def test_a_quote_that_stands_nowhere_is_found() -> None:
    """With an apostrophe in it, that stands otherwise in the context."""
    sample = msgspec.structs.replace(
        SAMPLE,
        answer="\u201cthe bridge\u2019s very long span\u201d and \u201ca red old house\u201d",
        contexts=("The bridge's very long span.",),
    )
    with JudgeServer() as server:
        result = judged_by(server, "quoted_spans_alignment", sample)

    assert result.value == 0.5


def test_a_score_that_depends_on_the_order_of_contexts_is_unstable() -> None:
    """A judge that believes what stands first: no score, and the reason says why."""

    def first_counts(given: Any, _: str) -> Any:
        return {"rating": 2 if given["context"].startswith("The bridge was built") else 0}

    with JudgeServer(answers=answers(ResponseGroundednessOutput=first_counts)) as server:
        both, recorded = (judged_by(server, "response_groundedness", orders=orders) for orders in (2, 1))

    assert (both.outcome, both.reason, both.cost.calls) == (EvaluationOutcome.UNSCORED, Reason.UNSTABLE, 4)
    assert (recorded.value, recorded.cost.calls) == (1.0, 2)


def test_a_small_difference_between_orders_is_evened_out() -> None:
    """One of two ratings one step lower: the mean of both orders."""
    seen: list[str] = []

    def last_is_lower(given: Any, _: str) -> Any:
        seen.append(given["context"])
        return {"rating": 1 if len(seen) == 4 else 2}

    with JudgeServer(answers=answers(ContextRelevanceOutput=last_is_lower)) as server:
        result = judged_by(server, "context_relevance")

    assert result.value == pytest.approx(0.875)
    assert seen[0] == seen[1] != seen[2] == seen[3]
    assert sorted(seen[0].split("\n")) == sorted(seen[2].split("\n"))


def test_one_context_has_one_order() -> None:
    """Nothing to balance, nothing to pay for."""
    with JudgeServer() as server:
        judged_by(server, "response_groundedness", msgspec.structs.replace(SAMPLE, contexts=("Only one.",)))

    assert len(server.calls) == 2


def test_the_same_sample_is_asked_in_the_same_words() -> None:
    """Otherwise a restart would ask anew what was answered: here nothing goes out a second time."""
    journal = MemoryJournal()
    with JudgeServer() as server:
        first = judged(Asked(server, journal=journal, embeddings_model="e"), "faithfulness")
        again = judged(Asked(server, journal=journal, embeddings_model="e"), "faithfulness")

    assert again == first
    assert len(server.calls) == 3


def test_more_contexts_than_may_be_asked_about_are_unsupported() -> None:
    """One call each: a retriever that returns a thousand documents would cost a thousand calls."""
    many = msgspec.structs.replace(SAMPLE, contexts=tuple(f"context {n}" for n in range(MAX_CONTEXTS + 1)))
    with JudgeServer() as server:
        result = judged_by(server, "context_utilization", many)

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSUPPORTED, Reason.TOO_LONG)
    assert server.calls == []


@pytest.mark.parametrize("mode", ["401", "a_list", "not_json", "empty_body"])
def test_embeddings_that_fail_are_unscored(mode: str) -> None:
    """The judge has answered, and what its questions mean is not known."""
    with JudgeServer(mode) as server:
        server.plays("ok")
        result = judged_by(server, "answer_relevancy")

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSCORED, ENDS[mode][0])


def test_embeddings_may_be_made_on_this_machine() -> None:
    """Any function from texts to rows; a row of zeros has no cosine."""

    def evaluated(row: list[float]) -> Result:
        async def use(endpoint: Endpoint) -> Result:
            evaluator = RagasEvaluator(endpoint, embeds=by_embedder(lambda texts: [row for _ in texts]))
            return await evaluator.evaluate(BY_NAME["answer_relevancy"], SAMPLE)

        return Asked(server).run(use)  # type: ignore[no-any-return]

    with JudgeServer() as server:
        same, zeros = evaluated([0.6, 0.8]), evaluated([0.0, 0.0])

    assert same.value == pytest.approx(1.0)
    assert zeros.reason is Reason.JUDGE_INVALID


@pytest.mark.parametrize(
    ("name", "reason"),
    [("faithfulness", Reason.NO_ENDPOINT), ("answer_relevancy", Reason.NO_ENDPOINT), ("quoted_spans_alignment", None)],
)
def test_without_an_endpoint_only_what_asks_nobody_is_done(name: str, reason: Reason | None) -> None:
    """The rest is unsupported, and said beforehand."""
    evaluator = RagasEvaluator(None)

    assert evaluator.unable(BY_NAME[name]) is reason


def test_without_embeddings_answer_relevancy_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As is everything where Ragas is not."""
    with JudgeServer() as server:

        async def use(endpoint: Endpoint) -> Result:
            return await RagasEvaluator(endpoint).evaluate(BY_NAME["answer_relevancy"], SAMPLE)

        result = Asked(server).run(use)
        monkeypatch.setattr(ragas_metrics, "ragas_installed", lambda: False)
        without = judged_by(server, "faithfulness")

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSUPPORTED, Reason.NOT_INSTALLED)
    assert (without.outcome, without.reason) == (EvaluationOutcome.UNSUPPORTED, Reason.NOT_INSTALLED)
    assert server.calls == []


@pytest.mark.parametrize(
    ("without", "name", "reason"),
    [
        ({"question": None}, "answer_relevancy", Reason.NO_QUESTION),
        ({"answer": " "}, "faithfulness", Reason.NO_ANSWER),
        ({"messages": ()}, "agent_goal_accuracy", Reason.NO_ANSWER),
    ],
)
def test_a_missing_part_is_not_applicable(without: dict[str, Any], name: str, reason: Reason) -> None:
    """Who asks without looking at eligibility first gets no exception."""
    with JudgeServer() as server:
        result = judged_by(server, name, msgspec.structs.replace(SAMPLE, **without))

    assert (result.outcome, result.reason) == (EvaluationOutcome.NOT_APPLICABLE, reason)


def test_an_error_of_the_worker_is_not_the_judges() -> None:
    """A journal that can't be written must stop the worker, though Ragas would swallow that too."""

    class BrokenPurse:
        def reserve(self, metric: str, estimate: Any) -> Reservation:
            raise OSError("disk full")

        def settle(self, reservation: Reservation, usage: Any) -> float | None:
            return None

    with JudgeServer() as server, pytest.raises(OSError, match="disk full"):
        judged(Asked(server, purse=BrokenPurse()), "response_groundedness")


def test_a_bug_in_a_metric_ends_one_sample(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """What Ragas raises of its own is typed and logged by its kind, without the sample's text."""

    async def broken(*_: Any) -> float:
        raise KeyError("The bridge was built in 1932.")

    recipe = msgspec.structs.replace(RECIPES["faithfulness"], run=broken)
    monkeypatch.setitem(RECIPES, "faithfulness", recipe)
    with JudgeServer() as server:
        result = judged_by(server, "faithfulness")

    assert (result.outcome, result.reason) == (EvaluationOutcome.UNSCORED, Reason.WORKER_FAILED)
    assert "KeyError" in caplog.text
    assert "1932" not in caplog.text


def test_what_changes_a_prompt_changes_its_version() -> None:
    """Scores that were made by other prompts are not taken for these; the pin of Ragas is a part of it."""
    lock = (Path(__file__).parents[3] / "requirements" / "ragas.txt").read_text()

    assert RagasEvaluator(None).prompt_version != RagasEvaluator(None, orders=1).prompt_version
    assert RAGAS_VERSION.replace("-", "==") in lock


def test_a_sample_may_bring_its_own_topics() -> None:
    """A canary is not about what the application is for."""
    with JudgeServer() as server:
        judged_by(server, "topic_adherence", msgspec.structs.replace(SAMPLE, topics=("ferries",)))

    assert '"ferries"' in server.bodies[-1]["messages"][1]["content"]
    assert '"bookings"' not in server.bodies[-1]["messages"][1]["content"]


def test_a_sample_without_anything_is_no_exception() -> None:
    """Every metric, an empty sample."""
    empty = Sample("t", 0, "s", 0)
    with JudgeServer() as server:
        outcomes = {judged_by(server, name, empty).outcome for name in NAMES}

    assert outcomes == {EvaluationOutcome.NOT_APPLICABLE}
    assert server.calls == []
