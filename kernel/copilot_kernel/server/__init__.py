"""The door for other programs: a Jupyter Server extension with an OpenAI-compatible API and a chat over WebSocket."""
