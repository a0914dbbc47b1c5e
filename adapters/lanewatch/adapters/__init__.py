"""From a trace to what happened in it: conventions, pairing, records, artifact."""
