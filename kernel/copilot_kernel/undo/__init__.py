"""Undo: what a turn of the agent changed, in files and in cells, and how to restore it.

Import from the modules: `cells` is light, `history` is not.
"""
