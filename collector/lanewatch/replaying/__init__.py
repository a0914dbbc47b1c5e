"""Recorded OTLP, read as live traffic is, and told for a terminal or as JSON."""
