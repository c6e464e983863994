"""OpenAI's API over an agent."""
