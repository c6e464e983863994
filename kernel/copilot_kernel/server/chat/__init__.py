"""The chat: a WebSocket protocol, and the page that speaks it."""
