"""A cell's output: its messages, what a turn shows in it, questions, and pickers."""
