"""Drift in the sidecar, as a report, and the references that it is held against."""
