"""The running sidecar: its parts put together, its threads, and what is said while it runs."""
