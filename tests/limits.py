"""How long a test waits for an event. Only a hang reaches it, however busy the machine is."""

LIMIT = 120.0
"""Seconds."""
