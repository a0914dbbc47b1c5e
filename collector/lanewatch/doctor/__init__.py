"""`lanewatch doctor` and `lanewatch health`: what a running sidecar is asked, and what to do about the answers."""
