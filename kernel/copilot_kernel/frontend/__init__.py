"""What every cell-based front end needs: output area, questions, pickers, %commands."""
