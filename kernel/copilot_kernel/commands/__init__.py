"""What else the user may type: a cell is a prompt or a command."""
