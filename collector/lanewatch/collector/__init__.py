"""From OTLP bytes to whole traces: receive, inflate, decode, assemble."""
