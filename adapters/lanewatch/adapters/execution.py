"""Whether a tool's body ran, as far as its span, and the tools that models were offered, tell.

A TOOL span is no proof of a dispatch: frameworks write one, with status ERROR, for a call whose arguments they refused,
and one with status OK whose result is the text of a guardrail. The exception, its stack trace, the text and the tool's
schema tell. Where they do not, the answer is `unknown`: to call a run no run would be silently wrong.
"""

import re
from typing import Any

from msgspec.structs import replace

from lanewatch.adapters.argument_schema import Fit, fit
from lanewatch.adapters.facts import HANDOFF, ErrorInfo, ErrorKind, Executed, Shape, ToolKind, ToolRun
from lanewatch.adapters.failures import enters, frames_of, is_pause, mentions, stack_of
from lanewatch.adapters.identity import fold
from lanewatch.adapters.reading import State
from lanewatch.adapters.rejections import rejected, says_invalid_arguments, says_unknown_tool
from lanewatch.adapters.told_failures import told_by_result

# Raised by frameworks alone, before a body runs.
REFUSED_ARGUMENTS = frozenset(
    {
        "ToolInvocationError", "ToolInputParsingException", "InvalidToolInputError", "InvalidToolArgumentsError",
        "AI_InvalidToolInputError", "AI_InvalidToolArgumentsError", "ModelBehaviorError", "ToolArgumentsError",
    },
)  # fmt: skip
# Raised by frameworks, and by bodies that read something else with the same library.
MAYBE_REFUSED_ARGUMENTS = frozenset({"ValidationError", "JSONDecodeError"})
ARGUMENT_PARSERS = frozenset(
    {
        "_parse_input", "_to_args_and_kwargs", "_parse_function_arguments", "validate_arguments",
        "gather_function_parameters",  # Semantic Kernel
        "validate_input",  # Strands
    },
)  # fmt: skip
NAMELESS = frozenset({"", "_OTHER", "tool_error"})  # OpenTelemetry's, and MCP's for a result that is an error
BAD_CALL = re.compile(
    r"(?P<function>[\w.<>]{1,200})\(\) (got an unexpected keyword argument|missing \d+ required|takes \d+ positional"
    r"|takes from \d+|got multiple values|got some positional-only)"
)
# OpenAI's Agents SDK hides the cause, of a refusal as of a failure.
TELLS_NOTHING = re.compile(r"details are redacted|^An error occurred while running the tool", re.IGNORECASE)
CUT_LIMIT = 1000  # characters; malformed JSON that is longer may have been cut by an attribute limit
HANDED_OVER = "ParentCommand"  # LangGraph raises it to go on elsewhere in the graph around: no failure
DELEGATIONS = frozenset({fold("delegate_work_to_coworker"), fold("ask_question_to_coworker")})


def judged(run: ToolRun, offered: dict[str, Any], *, cut: bool = False) -> ToolRun:
    """A run with its kind, `executed` and the kind of its error decided. `offered`: tool name -> JSON Schema of its
    arguments. `cut`: values of the trace were cut, so that JSON that breaks off says nothing of the model.
    """
    if run.kind is ToolKind.OUTPUT:
        return run
    if _hands_over(run):
        # No body of the application: what was done with the arguments only the other agent's spans show.
        return replace(run, kind=ToolKind.HANDOFF, executed=Executed.UNKNOWN)
    if run.error is not None and (run.error.type or "").rpartition(".")[2] == HANDED_OVER:
        return replace(run, error=None)
    if run.error is not None:
        left_open = run.executed is Executed.UNKNOWN and run.error.kind is ErrorKind.CANCELLED
        if run.executed is Executed.NO or left_open:
            return run  # its convention knows: the framework refused the call, or ended before it
        schema = run.schema if run.schema is not None else offered.get(run.name)
        executed, kind = _of_error(run, run.error, schema if isinstance(schema, dict) else None, cut=cut)
        if run.executed is Executed.UNKNOWN and executed is Executed.YES:
            executed = run.executed
        return replace(run, executed=executed, error=replace(run.error, kind=kind))
    executed, error = told_by_result(run.result, run.name)
    if run.executed is not Executed.YES and executed is Executed.YES:
        return run  # its convention knows better: a cached result, a client that can't see whether the server ran it
    return replace(run, executed=executed, error=error)


def _hands_over(run: ToolRun) -> bool:
    """Whether this is CrewAI's delegation or LlamaIndex' handoff, which their instrumentors report as tools."""
    name = fold(run.name)
    return name in DELEGATIONS or (name == HANDOFF and "to_agent" in (run.arguments.value or ()))


def _of_error(
    run: ToolRun, error: ErrorInfo, schema: dict[str, Any] | None, *, cut: bool
) -> tuple[Executed, ErrorKind]:
    name = (error.type or "").rsplit(".", 1)[-1]
    message, stack = error.message or "", stack_of(run.span)
    refused = BAD_CALL.search(message[:CUT_LIMIT])
    at_call = refused is not None and refused["function"].rpartition(".")[2] == run.name
    if is_pause(error):
        return Executed.UNKNOWN, ErrorKind.DEFERRED
    if rejected(message) is Executed.NO:
        return Executed.NO, ErrorKind.BLOCKED
    if not at_call and enters(stack, run.name):
        return Executed.YES, ErrorKind.CANCELLED if "Cancel" in name else ErrorKind.FAILURE
    if "Cancel" in name:
        return Executed.UNKNOWN, ErrorKind.CANCELLED
    names_tool = mentions(message, run.name)
    if says_unknown_tool(message):
        return Executed.NO if names_tool else Executed.UNKNOWN, ErrorKind.VALIDATION
    if at_call or name in REFUSED_ARGUMENTS or not ARGUMENT_PARSERS.isdisjoint(frames_of(stack)):
        return Executed.NO, ErrorKind.VALIDATION
    malformed = not cut and _is_malformed_json(run)
    fits = Fit.MAY if schema is None else fit(run.arguments.value, schema)
    broken = malformed or fits is Fit.BREAKS
    if name in MAYBE_REFUSED_ARGUMENTS or refused is not None or says_invalid_arguments(message):
        return Executed.NO if names_tool or broken else Executed.UNKNOWN, ErrorKind.VALIDATION
    if malformed:
        return Executed.NO, ErrorKind.VALIDATION
    if (not message and name in NAMELESS) or TELLS_NOTHING.search(message[-CUT_LIMIT:]):
        if broken:
            return Executed.NO, ErrorKind.VALIDATION
        held = fits is Fit.FITS and run.arguments.state is State.CAPTURED  # a validator has nothing to refuse
        return Executed.YES if held else Executed.UNKNOWN, ErrorKind.FAILURE
    return Executed.YES, ErrorKind.FAILURE


def _is_malformed_json(run: ToolRun) -> bool:
    """Whether the arguments are the start of a JSON object that never closes: no framework calls a body with that."""
    raw = run.arguments.raw
    return run.shape is Shape.TEXT and raw is not None and len(raw) <= CUT_LIMIT and raw.lstrip()[:1] == "{"
