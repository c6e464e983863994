"""Undo: what a turn of the agent changed, in files and in cells, and putting it back as it was.

Import from the modules: `cells` is light, `history` is not.
"""
