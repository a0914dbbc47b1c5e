"""Handoffs: what somebody needs who has to look into a lane that fails, written to a file and shown."""
