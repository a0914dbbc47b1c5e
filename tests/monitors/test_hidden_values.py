"""Hidden values at the artifact boundary: compared by their tokens, or neither equal nor different."""

from typing import Any

import pytest
from lanewatch.adapters.artifact_messages import Artifact, message_dicts
from lanewatch.adapters.facts import ErrorInfo
from lanewatch.adapters.records import Executed
from lanewatch.monitors.artifact_divergence import compare_artifact
from lanewatch.monitors.artifact_outcomes import ArtifactOutcome, Compared
from lanewatch.monitors.contracts import Contract, Rule
from lanewatch.monitors.redaction.tokens import MARK, Key, key_of, token
from lanewatch.monitors.reference_calls import compare_reference
from lanewatch.monitors.session_artifacts import compare_session
from lanewatch.monitors.tools import Registry, Tool

from tests.monitors.records import dispatch, record, request

KEY = key_of(b"0123456789abcdef-one")
OTHER = key_of(b"0123456789abcdef-two")
EQUAL, DIVERGENT, UNSUPPORTED = ArtifactOutcome.EQUAL, ArtifactOutcome.DIVERGENT, ArtifactOutcome.UNSUPPORTED


def seen(arguments: Any, result: Any = None, **fields: Any) -> Any:
    """A record of one call, asked for and run with these."""
    run = dispatch("pay", arguments, result=result, executed=Executed.YES, **fields)
    return record(
        requests=(request("pay", arguments),), dispatches=(run,), messages=({"type": "human", "content": "q"},)
    )


def messages(arguments: Any, content: str | None = None, call_id: str = "call_1") -> list[dict[str, Any]]:
    """An artifact of one call, with a result where there is one."""
    ai: dict[str, Any] = {"type": "ai", "content": "", "tool_calls": [{"name": "pay", "args": arguments}]}
    ai["metadata"] = {"tool_call_ids": [call_id]}
    tool = {"type": "tool", "content": content, "metadata": {"tool_call_id": call_id}}
    return [ai] if content is None else [ai, tool]


def compared(rec: Any, given: list[dict[str, Any]], registry: Registry | None = None) -> Compared:
    """The comparison of an artifact."""
    return compare_artifact(rec, Artifact("p", "o", message_dicts(given)), registry or Registry())


@pytest.mark.parametrize(
    ("ran", "told", "key", "verdict"),
    [
        ("[REDACTED]", "4111", None, UNSUPPORTED),
        ("[REDACTED]", "[REDACTED]", None, UNSUPPORTED),
        ("4111", "[REDACTED]", None, UNSUPPORTED),
        (MARK, MARK, KEY, UNSUPPORTED),
        ("[Scrubbed due to 'card']", 4111, None, UNSUPPORTED),
        ("card [REDACTED] of Bob", "card 4111 of Bob", None, UNSUPPORTED),
        ("card 4111 of Bob", "card __REDACTED__ of Bob", None, UNSUPPORTED),
        ("card [REDACTED] of Bob", "card [REDACTED] of Bob", None, UNSUPPORTED),
        ("card [REDACTED] of Bob", token("card 4111 of Bob", KEY), KEY, UNSUPPORTED),
        (f"[REDACTED] {token('x', KEY)}", f"[REDACTED] {token('y', KEY)}", KEY, UNSUPPORTED),
        ({"[REDACTED]": 1}, {"to": 1}, None, UNSUPPORTED),
        ({"[REDACTED]": 1}, {"[REDACTED]": 1}, None, UNSUPPORTED),
        ({"__REDACTED__": 1, "n": 1}, {"to": 1, "n": 2}, None, DIVERGENT),
        ({"to": 1}, {"of": 1}, None, DIVERGENT),
        (token("4111", KEY), token("4111", KEY), None, EQUAL),
        (token("4111", KEY), "4111", KEY, EQUAL),
        (token("4111", KEY), "4111", None, UNSUPPORTED),
        (token("4111", KEY), token("4111", OTHER), KEY, UNSUPPORTED),
        (token("4111", KEY), "4112", KEY, DIVERGENT),
        (token("4111", KEY), token("4112", KEY), None, DIVERGENT),
    ],
)
def test_hidden_arguments_compare_by_their_tokens_alone(ran: Any, told: Any, key: Key | None, verdict: Any) -> None:
    """At the artifact as at the dispatch, also within lists and objects."""
    for wrap in (lambda value: value, lambda value: [{"number": value}]):
        found = compared(seen({"card": wrap(ran), "n": 1}), messages({"card": wrap(told), "n": 1}), Registry(key=key))

        assert found.verdict is verdict
        assert found.reason == ("hidden_arguments" if verdict is UNSUPPORTED else None)


def test_the_record_s_own_objects_are_no_proof_of_what_is_hidden_in_them() -> None:
    """The glance at the usual artifact sees holes too, in arguments and in results."""
    hidden = {"card": "[REDACTED]"}
    result = '{"to": "[REDACTED]"}'

    assert compared(seen(hidden), messages(hidden)).verdict is UNSUPPORTED
    whole = {"card": "4111"}
    assert compared(seen(whole, result), messages(whole, result)).reason == "hidden_results"


def test_what_is_proved_to_differ_counts_beside_what_is_hidden() -> None:
    """A divergence with its path, and the doubt is kept."""
    found = compared(seen({"card": "[REDACTED]", "n": 1}), messages({"card": "4111", "n": 2}))

    assert [(one.kind, one.path) for one in found.divergences] == [("arguments", "$.n")]
    assert compared(seen({"card": "[REDACTED]"}), messages({"n": 2})).divergences[0].path == "$.card"


def test_a_hidden_value_that_a_contract_does_not_compare_is_no_doubt() -> None:
    """A trace id may be hidden as well as be another one."""
    registry = Registry((Tool("pay", contract=Contract({("card",): Rule.VOLATILE})),))

    assert compared(seen({"card": "[REDACTED]"}), messages({"card": "x"}), registry).verdict is EQUAL


@pytest.mark.parametrize(
    ("result", "content", "verdict"),
    [
        ({"x": "[REDACTED]"}, '{"x": "real"}', UNSUPPORTED),
        ({"x": "[REDACTED]"}, '{"x": "[REDACTED]"}', UNSUPPORTED),
        ({"x": "real"}, "__REDACTED__", UNSUPPORTED),
        ("paid to [REDACTED]", "paid to Ann", UNSUPPORTED),
        ("paid to Ann", "paid to [REDACTED]", UNSUPPORTED),
        ({"x": "[REDACTED]", "y": 1}, '{"x": "real", "y": 2}', DIVERGENT),
        ({"x": "[REDACTED]"}, '{"z": "real"}', DIVERGENT),
        ({"[REDACTED]": 1}, '{"to": 1}', UNSUPPORTED),
        ({"to": 1}, '{"[REDACTED]": 1}', UNSUPPORTED),
        ('{"[REDACTED]": 1}', '{"to": 1}', UNSUPPORTED),
        ([{"[REDACTED]": 1}], '[{"to": 1}]', UNSUPPORTED),
        ({"[REDACTED]": 1, "y": 1}, '{"to": 1, "y": 2}', DIVERGENT),
        ({"to": 1}, '{"of": 1}', DIVERGENT),
        ({"x": token("real", KEY)}, '{"x": "real"}', EQUAL),
        ({"x": token("real", KEY)}, f'{{"x": "{token("real", KEY)}"}}', EQUAL),
        ({"x": token("real", KEY)}, '{"x": "other"}', DIVERGENT),
    ],
)
def test_placeholders_in_results_are_never_compared(result: Any, content: str, verdict: ArtifactOutcome) -> None:
    """Whichever side hides: nobody is blamed for it, and it is no pass."""
    found = compared(seen({"n": 1}, result), messages({"n": 1}, content), Registry(key=KEY))

    assert found.verdict is verdict
    assert found.reason == ("hidden_results" if verdict is UNSUPPORTED else None)


def test_the_path_of_another_result_is_not_that_of_a_hidden_value() -> None:
    """What is hidden comes first here, and is passed over."""
    found = compared(seen({"n": 1}, {"x": "[REDACTED]", "y": 1}), messages({"n": 1}, '{"x": "real", "y": 2}'))
    named = compared(seen({"n": 1}, {"[REDACTED]": 1, "y": 1}), messages({"n": 1}, '{"to": 1, "y": 2}'))

    assert [(one.kind, one.path) for one in found.divergences] == [("result", "$.y")]
    assert [(one.kind, one.path) for one in named.divergences] == [("result", "$.y")]


def test_a_hidden_result_that_names_no_call_is_told_of_none() -> None:
    """Nor is a hidden error, nor a message that nothing is known to be the result of."""
    loose = messages({"n": 1})
    loose[0]["metadata"] = None
    loose += [{"type": "tool", "content": text} for text in ("[REDACTED]", "more")]
    assert compared(seen({"n": 1}, "real"), loose).reason == "hidden_results"
    error = ErrorInfo("E", message="no card [REDACTED]")

    assert compared(seen({"n": 1}, error=error), messages({"n": 1}, "no card 4111")).reason == "hidden_results"
    stray = [*messages({"n": 1}, "real"), {"type": "tool", "content": "[REDACTED]", "metadata": {"tool_call_id": "?"}}]
    assert compared(seen({"n": 1}, "real"), stray).reason == "hidden_results"


def test_a_session_s_artifact_is_judged_alike() -> None:
    """Each of its traces gets the doubt, where it has no difference of its own."""
    given = [{"type": "human", "content": "q"}, *messages({"card": "x"})]
    found = compare_session([seen({"card": "[REDACTED]"})], Artifact("p", "o", message_dicts(given)))

    assert found is not None
    assert [one.verdict for one in found.values()] == [UNSUPPORTED]


def test_a_reference_call_is_held_against_no_placeholder() -> None:
    """Nor is one that is hidden itself met."""
    artifact = Artifact("p", "o", message_dicts(messages({"card": "[REDACTED]"})))

    assert compare_reference(artifact, [{"name": "pay", "args": {"card": "4111"}}]).verdict is UNSUPPORTED
    assert compare_reference(artifact, [{"name": "pay", "args": {"card": "[REDACTED]"}}]).verdict is UNSUPPORTED
