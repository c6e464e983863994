"""Parts of every cell-based front end: output area, questions, pickers, %commands."""
