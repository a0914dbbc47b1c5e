"""Marks that filters and guards leave in errors and payloads, where no field and no finish reason says it.

- The type of an exception is the stronger mark: it has one meaning. Only types that are about the answer or the question
  as a whole are listed; what stops a tool alone (`ToolInputGuardrailTripwireTriggered`) is that tool's affair.
- Words in an error's message are the codes that APIs put there (HTTP 400 with a code, raised as a plain BadRequestError).
- Payloads are searched only where an answer has no text, and at their ends.
"""

import re
from collections.abc import Mapping
from typing import Any

from lanewatch.adapters.facts import ErrorInfo

EXCERPT = 4000  # characters at either end of a payload or message that are searched

# The last part of an exception's dotted name -> the library that raises it.
EXCEPTIONS = {
    "ModelRefusalError": "openai_agents",  # LangChain has one of the same name and meaning
    "OpenAIRefusalError": "langchain",
    "InputGuardrailTripwireTriggered": "openai_agents",
    "OutputGuardrailTripwireTriggered": "openai_agents",
    "ContentFilterFinishReasonError": "openai",
    "ContentFilterError": "pydantic_ai",
    "ContentPolicyViolationError": "litellm",
    "GuardrailRaisedException": "litellm",
    "BlockedPiiEntityError": "litellm",
    "OpenAIModerationError": "langchain",
    "ServiceContentFilterException": "semantic_kernel",
    "ContentFilterAIException": "semantic_kernel",
    "AgentContentFilterException": "agent_framework",
    "ChatClientContentFilterException": "agent_framework",
    "IntegrationContentFilterException": "agent_framework",
    "LLMCallBlockedError": "crewai",
    "BlockedPromptException": "google_generativeai",
    "RefusalError": "any",  # names that applications and smaller clients give their own
    "PromptBlocked": "any",
    "PromptBlockedError": "any",
    "PromptBlockedException": "any",
}
# Codes in an error's message or a payload, in lower case -> their id.
CODES = {
    "responsibleaipolicyviolation": "azure.responsible_ai_policy_violation",
    "content_policy_violation": "openai.content_policy_violation",
    "triggering azure openai's content management": "azure.content_management_policy",
    "rejected as a result of our safety system": "openai.safety_system",
    "violating our usage policy": "openai.usage_policy",
    "output blocked by content filtering policy": "anthropic.content_filtering_policy",
    "data_inspection_failed": "dashscope.data_inspection_failed",
}
CODE = re.compile(r"""['"]code['"]: ?['"]content_filter['"]""")
BLOCKED_PROMPT = re.compile(
    r"""['"]?block_?reason['"]?[:=] ?(?:<?BlockedReason\.)?['"]?"""
    r"(SAFETY|BLOCKLIST|PROHIBITED_CONTENT|MODEL_ARMOR|JAILBREAK|IMAGE_SAFETY)\b",
    re.IGNORECASE,
)
FILTERED = re.compile(r"""['"]filtered['"]: ?true""", re.IGNORECASE)
# Attributes in which instrumentors leave a response, or what Azure's filters found in it.
PAYLOADS = (
    "output.value",
    "gen_ai.completion.0.content_filter_results",
    "gen_ai.prompt.prompt_filter_results",
    "gen_ai.output.messages",
    "gcp.vertex.agent.llm_response",
)


def raised(error: ErrorInfo | None) -> str | None:
    """The id of the refusal that an error's type tells, as `litellm.GuardrailRaisedException`; else None."""
    name = (error.type or "").rpartition(".")[2] if error is not None else ""
    library = EXCEPTIONS.get(name)
    return None if library is None else f"{library}.{name}"


def said(error: ErrorInfo | None) -> str | None:
    """The id of a filter's code in an error's message; else None."""
    return _code(error.message) if error is not None and error.message else None


def left(attributes: Mapping[str, Any]) -> str | None:
    """The id of a filter's mark in a span's payloads; for spans whose answer has no text."""
    for key in PAYLOADS:
        value = attributes.get(key)
        if not isinstance(value, str):
            continue
        for part in _ends(value):
            if BLOCKED_PROMPT.search(part):
                return "gemini.block_reason"
            if "filter" in part and FILTERED.search(part):
                return "azure.content_filter_results"
    return None


def _code(text: str) -> str | None:
    for part in _ends(text):
        folded = part.lower()
        found = next((rule for code, rule in CODES.items() if code in folded), None)
        if found is not None:
            return found
        if CODE.search(folded):
            return "azure.content_filter"
        if "block" in folded and BLOCKED_PROMPT.search(part):
            return "gemini.block_reason"
    return None


def _ends(text: str) -> tuple[str, ...]:
    return (text,) if len(text) <= 2 * EXCERPT else (text[:EXCERPT], text[-EXCERPT:])
