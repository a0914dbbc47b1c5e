"""`lanewatch demo`: recorded traffic of real agents, sent into a real sidecar."""
