"""The agent's tools for the notebook: what they are, how they are served, and what must be allowed."""
