"""From records to verdicts and metrics: divergence, lanes, exposition."""
