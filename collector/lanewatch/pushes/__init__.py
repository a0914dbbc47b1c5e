"""What evaluators and applications push beside traces: artifacts and outcomes, until the trace is there."""
