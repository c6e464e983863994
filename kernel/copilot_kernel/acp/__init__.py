"""The wire: one agent, its bytes and its messages (Agent Client Protocol, version 1)."""
