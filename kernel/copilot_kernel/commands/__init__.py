"""Our own %commands, in cells and in the chat of the server, and what runs the chat that they work with."""
