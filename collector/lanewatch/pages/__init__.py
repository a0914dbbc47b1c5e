"""The pages over HTTP, /metrics first of all: how they are served, and how commands ask a running sidecar's."""
