"""Prints the documentation of the commands: `python -m copilot_kernel.commands > docs/commands.md`."""

from .reference import markdown

print(markdown(), end="")
