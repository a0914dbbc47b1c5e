"""Finish reasons by which an API says that a filter, a safety system or the model itself withheld an answer.

The table holds what the clients' own types name, in lower case with underscores; a framework's spelling
(`FinishReason.SAFETY`, `content-filter`) is brought to that. What may have other causes is not in it: Gemini's OTHER and
LANGUAGE, Cohere's ERROR. LiteLLM turns Gemini's OTHER into `content_filter` before a span is written, which nothing
here can undo.
"""

# reason -> the API that has it
WITHHELD = {
    "content_filter": "openai",  # also Azure, Mistral's and others' OpenAI-like APIs, and the OTel GenAI conventions
    "refusal": "anthropic",
    "content_filtered": "bedrock",
    "guardrail_intervened": "bedrock",
    "safety": "gemini",
    "prohibited_content": "gemini",
    "blocklist": "gemini",
    "spii": "gemini",
    "recitation": "gemini",
    "escalation": "gemini",  # "Request was filtered by an escalation rule"
    "jailbreak": "gemini",  # a reason to block the prompt, which ADK writes as the error's code
    "model_armor": "gemini",
    "image_safety": "gemini",
    "image_prohibited_content": "gemini",
    "image_recitation": "gemini",
    "error_toxic": "cohere",
    "sensitive": "zhipu",
}
LENGTH = 80  # characters; a finish reason is a word


def withheld(finish_reason: str | None) -> str | None:
    """The id of the reason, as `gemini.safety`, where it says that the answer was withheld; else None."""
    if not finish_reason or len(finish_reason) > LENGTH:
        return None
    reason = finish_reason.strip().strip("[]'\"").rpartition(".")[2].lower().replace("-", "_").replace(" ", "_")
    api = WITHHELD.get(reason)
    return None if api is None else f"{api}.{reason}"
