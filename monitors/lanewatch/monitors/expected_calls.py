"""The calls that an artifact of a trace must tell of, may tell of, and under which names, arguments and results.

What ran is the reference. A call that a model asked for and that did not run may be told or left out: where such a call
differs first is the dispatch, not the artifact. The same holds for a call that ran otherwise than asked (told either way),
for a run that nobody asked for, and for what runs inside a run.
"""

from collections import defaultdict
from collections.abc import Hashable
from typing import Any

import msgspec

from lanewatch.adapters.artifact import UNPARSED
from lanewatch.adapters.identity import canonical, name_keys
from lanewatch.adapters.records import Dispatch, Executed, IdQuality, ToolRequest

TRUSTED = (IdQuality.REAL, IdQuality.ITEM)
MIXED = 4  # forms of one call that are told mixed as well
ANY = object()  # arguments that are not recorded: every value fits


class Form(msgspec.Struct, frozen=True):
    """A name and arguments under which a call is told truly. `arguments` is ANY where they are not recorded."""

    name: str
    arguments: Any

    def identities(self) -> tuple[tuple[str, Any], ...]:
        """Equal keys for what is the same call; none where the arguments are not known."""
        if self.arguments is ANY:
            return ()
        value = canonical(self.arguments)
        return tuple((name, value) for name in name_keys(self.name))


class ExpectedCall(msgspec.Struct, frozen=True):
    """One call. `forms` begin with how it ran; `times` is how often its body ran; `round` numbers the model's answers.

    `results` are what the model was shown and what the tool returned, `errors` what it raised; both are empty where
    nothing is recorded. `place` is None for what stands in no order: runs that no model asked for. `doubtful`: nobody knows
    whether its body ran.
    """

    tool: str
    call_ids: tuple[str, ...]
    forms: tuple[Form, ...]
    ran: bool
    times: int
    results: tuple[Any, ...]
    errors: tuple[str, ...]
    requested: Any
    span_id: str
    place: int | None
    round: int | None = None
    doubtful: bool = False


def expected_calls(requests: tuple[ToolRequest, ...], dispatches: tuple[Dispatch, ...]) -> tuple[ExpectedCall, ...]:
    """The calls of one trace, in the order in which models asked for them; unasked runs last."""
    answers: dict[int, list[Dispatch]] = defaultdict(list)
    inner: dict[int, list[Dispatch]] = defaultdict(list)
    for dispatch in dispatches:
        if dispatch.executed is not Executed.YES:
            continue
        if dispatch.request is not None:
            answers[dispatch.request].append(dispatch)
        elif dispatch.inside is not None:
            inner[dispatch.inside].append(dispatch)
    places = {id(dispatch): place for place, dispatch in enumerate(dispatches)}
    asked = [
        _asked(index, request, answers[index], [d for run in answers[index] for d in inner[places[id(run)]]])
        for index, request in enumerate(requests)
    ]
    unasked = [
        _unasked(dispatch) for dispatch in dispatches if dispatch.executed is Executed.YES and dispatch.request is None
    ]
    return (*asked, *unasked)


def told_call(
    *,
    name: str,
    arguments: Any,
    call_id: str | None,
    result: Any,
    error: str | None,
    span_id: str,
    place: int | None,
    round_: int | None = None,
    ran: bool = True,
    doubtful: bool = False,
) -> ExpectedCall:
    """A call that is known to have run from elsewhere than a trace, in the place where it ran. Arguments of None are not
    known; a call without arguments has `{}`.
    """
    return ExpectedCall(
        tool=name,
        call_ids=(call_id,) if call_id else (),
        forms=(Form(name, _told_as(arguments)),),
        ran=ran,
        times=1,
        results=() if result is None else (result,),
        errors=(error,) if error else (),
        requested=None,
        span_id=span_id,
        place=place,
        round=round_,
        doubtful=doubtful,
    )


def _asked(index: int, request: ToolRequest, runs: list[Dispatch], inner: list[Dispatch]) -> ExpectedCall:
    asked = request.arguments if request.arguments is not None else request.arguments_raw
    as_asked = Form(request.name, _told_as(asked) if request.arguments_state == "captured" else ANY)
    forms = [_form(run) for run in (*runs, *inner)] + [as_asked]
    shown = [] if request.observed_result is None else [request.observed_result]
    ids = (request.call_id, *request.aliases) if request.call_id_quality in TRUSTED else ()
    return ExpectedCall(
        tool=request.name,
        call_ids=tuple(one for one in ids if one),
        forms=_distinct(forms),
        ran=bool(runs),
        times=max(1, len(runs)),
        results=tuple(shown + [run.result for run in (*runs, *inner) if run.result is not None]),
        errors=_errors(*runs, *inner),
        requested=asked,
        span_id=runs[0].span_id if runs else request.span_id,
        place=index,
        round=request.turn,
    )


def _unasked(run: Dispatch) -> ExpectedCall:
    """Told or not: what ran without a model's request is a difference at the dispatch, or none."""
    ids = (run.call_id,) if run.call_id else ()
    results = () if run.result is None else (run.result,)
    return ExpectedCall(run.name, ids, (_form(run),), False, 1, results, _errors(run), None, run.span_id, None)


def _form(run: Dispatch) -> Form:
    return Form(run.name, _told_as(run.arguments) if run.arguments_state == "captured" else ANY)


def _told_as(arguments: Any) -> Any:
    """How a message holds arguments: Ragas takes an object only, so a text stands under the artifact's own key."""
    if arguments is None:
        return ANY
    return arguments if isinstance(arguments, dict) else {UNPARSED: arguments}


def _errors(*runs: Dispatch) -> tuple[str, ...]:
    return tuple(run.error.message for run in runs if run.error is not None and run.error.message)


def _distinct(forms: list[Form]) -> tuple[Form, ...]:
    """Each once; then every name with all arguments, as an artifact may tell the name that was asked for and the
    arguments that ran.
    """
    mixed = [Form(a.name, b.arguments) for a in forms[:MIXED] for b in forms[:MIXED] if a is not b]
    kept: dict[Hashable, Form] = {}
    for form in (*forms, *mixed):
        kept.setdefault((form.name, form.arguments is ANY or canonical(form.arguments)), form)
    return tuple(kept.values())
