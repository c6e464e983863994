"""The notebook as it is open in a page, and as it was saved."""
