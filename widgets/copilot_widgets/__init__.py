"""Widgets that ask the user something: plain text and options in, one answer out. Independent of the kernel."""
