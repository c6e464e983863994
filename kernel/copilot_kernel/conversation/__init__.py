"""The conversation with an agent as immutable values, and the reducer that builds it from updates."""
