"""Prints the documentation of the commands: `python -m copilot_kernel.frontend > docs/commands.md`."""

from .reference import markdown

print(markdown(), end="")
