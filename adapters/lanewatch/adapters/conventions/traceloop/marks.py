"""What every OpenLLMetry span is told by."""

NAME = "traceloop"
SESSION_KEYS = (
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
    "gen_ai.conversation.id",
    "session.id",
)
