"""Which switch brings message content into the spans, stack by stack: the table of docs/stacks.md, and what hints say.

Most of it was seen in recordings of these stacks with the switch on and off; the page says what was not.
"""

import msgspec

GENAI = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Stack(msgspec.Struct, frozen=True):
    """One stack. `convention` is how its spans are recognised; `by_default` whether they show content.

    `remedy` completes "set ... in the application", where a sidecar sees its content hidden; empty where another row of the
    same convention has it, or nothing can be set.
    """

    name: str
    convention: str
    by_default: str
    switch: str
    remedy: str = ""


STACKS = (
    Stack(
        "OpenTelemetry GenAI (`opentelemetry-instrumentation-openai-v2` and the `genai` family)",
        "otel_genai",
        "off",
        f"`{GENAI}=true`: content as logs. With `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`: `SPAN_ONLY`, "
        "`EVENT_ONLY` (logs) or `SPAN_AND_EVENT`",
        f"{GENAI}=true and OTEL_LOGS_EXPORTER=otlp, or {GENAI}=SPAN_ONLY with "
        "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental",
    ),
    Stack(
        "OpenInference (Arize), for OpenAI, LangChain, LlamaIndex, OpenAI Agents, CrewAI, AutoGen, smolagents, DSPy, ...",
        "openinference",
        "on",
        "`OPENINFERENCE_HIDE_INPUTS=true`, `OPENINFERENCE_HIDE_OUTPUTS=true` and others of that name switch it off",
        "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false",
    ),
    Stack(
        "OpenLLMetry (Traceloop)",
        "traceloop",
        "on",
        "`TRACELOOP_TRACE_CONTENT=false` switches it off; with `use_legacy_attributes=False` it goes out as logs",
        "TRACELOOP_TRACE_CONTENT=true",
    ),
    Stack(
        "Google ADK",
        "google_adk",
        "of model calls: only as logs or not at all",
        f"`{GENAI}=SPAN_AND_EVENT`. `true` means events alone: then tools' spans have neither arguments nor results",
        f"{GENAI}=SPAN_AND_EVENT (true means events alone)",
    ),
    Stack(
        "Semantic Kernel",
        "semantic_kernel",
        "off",
        "`SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true`; messages are logs",
        "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true and OTEL_LOGS_EXPORTER=otlp",
    ),
    Stack(
        "Microsoft Agent Framework",
        "agent_framework",
        "off",
        "`ENABLE_SENSITIVE_DATA=true`. Messages are logs, unless `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental` "
        "puts them on the spans, with a tool's arguments",
        "ENABLE_SENSITIVE_DATA=true, and OTEL_LOGS_EXPORTER=otlp or OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental",
    ),
    Stack(
        "Pydantic AI",
        "pydantic_ai",
        "on",
        "`InstrumentationSettings(include_content=False)` switches it off (names and ids stay)",
        "InstrumentationSettings(include_content=True)",
    ),
    Stack(
        "Logfire",
        "logfire",
        "on",
        "it scrubs by words, and a scrubbed value counts as redacted: `scrubbing=` has the words",
        "fewer words in logfire.configure(scrubbing=...)",
    ),
    Stack(
        "Vercel AI SDK",
        "vercel",
        "on, once telemetry is",
        "`experimental_telemetry: {isEnabled: true}` on each call up to v6; from v7 on where telemetry is registered. "
        "`recordInputs: false`, `recordOutputs: false` switch content off",
        "recordInputs: true and recordOutputs: true",
    ),
    Stack(
        "Strands",
        "strands",
        "on",
        "it does not obey the OpenTelemetry switch; `OTEL_SEMCONV_STABILITY_OPT_IN=...,gen_ai_unredacted_attributes=` redacts",
        "OTEL_SEMCONV_STABILITY_OPT_IN without gen_ai_unredacted_attributes",
    ),
    Stack(
        "LiteLLM",
        "litellm",
        "off",
        f"`{GENAI}=SPAN_ONLY`. `true` means events alone, which are off by default: no content anywhere. "
        "`turn_off_message_logging` must not be set",
        f"{GENAI}=SPAN_ONLY (and turn_off_message_logging must not be set)",
    ),
    Stack(
        "MLflow", "mlflow", "on", "no environment variable for it", "no span processor that removes inputs and outputs"
    ),
    Stack(
        "Langfuse",
        "langfuse",
        "on",
        "a `mask` function hides values, and with them the call ids",
        "no mask function that hides whole inputs and outputs",
    ),
    Stack(
        "LangSmith (OTel export)",
        "langsmith",
        "on",
        "`LANGSMITH_HIDE_INPUTS=true`, `LANGSMITH_HIDE_OUTPUTS=true` switch it off",
        "LANGSMITH_HIDE_INPUTS=false and LANGSMITH_HIDE_OUTPUTS=false",
    ),
    Stack(
        "Haystack",
        "haystack",
        "off",
        "`HAYSTACK_CONTENT_TRACING_ENABLED=true`",
        "HAYSTACK_CONTENT_TRACING_ENABLED=true",
    ),
    Stack(
        "CrewAI",
        "crewai",
        "on",
        "its own spans mostly leave by its own exporter: use the instrumentor of OpenInference or OpenLLMetry",
        "the instrumentor of OpenInference or OpenLLMetry",
    ),
    Stack(
        "AutoGen",
        "autogen",
        "never in its own spans",
        "names and ids alone; add OpenInference's instrumentor, or one of the model's client",
        "OpenInference's instrumentor for AutoGen, or one of the model's client",
    ),
    Stack(
        "OpenAI Agents SDK",
        "openai_agents_v2",
        "by its instrumentor",
        "it has no OpenTelemetry output of its own: use OpenInference's, OpenLLMetry's or OpenTelemetry's instrumentor "
        f"(`{GENAI}=SPAN_AND_EVENT`). A tool's error is hidden by the SDK itself",
        f"{GENAI}=SPAN_AND_EVENT, or the instrumentor of OpenInference",
    ),
    Stack(
        "LlamaIndex (`llama-index-observability-otel`)",
        "llama_index",
        "on",
        "tools' results are not in its spans: OpenInference's instrumentor shows them",
        "OpenInference's instrumentor for LlamaIndex",
    ),
)
UNKNOWN_REMEDY = "the instrumentor's switch for message content (docs/stacks.md)"
_REMEDIES = {stack.convention: stack.remedy for stack in STACKS}


def remedy(convention: str) -> str:
    """What to set in an application whose spans of this convention hide their content.

    >>> remedy("traceloop")
    'TRACELOOP_TRACE_CONTENT=true'
    """
    return _REMEDIES.get(convention) or UNKNOWN_REMEDY
