"""The same capture, live over every protocol and replayed from files, gives the same records."""

CAPTURES = (
    "langchain_oi/03_parallel",
    "openai_traceloop/04_retry",
    "openai-v2-events/03_parallel",
    "llamaindex_oi/06_runtime_alias",
)
GRPC = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
