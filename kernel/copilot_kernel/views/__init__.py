"""What views of a conversation share, in cells and in the chat of the server: questions, lexers, when to draw."""
