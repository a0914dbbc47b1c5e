"""What a span's W3C trace state tells of its sampling, and nothing else of it: other vendors' entries are not our business.

OpenTelemetry's entry is `ot=...`, with `th:` for the sampling threshold (tracestate-probability-sampling).
"""

from typing import Any

MAX_TRACE_STATE = 512  # characters; W3C asks for no more (Trace Context, 3.3.1.5)


def sampling_state(trace_state: Any) -> str:
    """The state where it holds OpenTelemetry's entry; empty where it does not, or is too long, or no text.

    >>> sampling_state("vendor=x,ot=th:8"), sampling_state("vendor=x"), sampling_state(None)
    ('vendor=x,ot=th:8', '', '')
    """
    if not trace_state or not isinstance(trace_state, str | bytes) or len(trace_state) > MAX_TRACE_STATE:
        return ""
    text = trace_state if isinstance(trace_state, str) else trace_state.decode("utf-8", "replace")
    return text if "ot=" in text else ""
