"""A Jupyter kernel whose cells are turns of a conversation with an agent."""
