"""Print the page about the commands: `python -m copilot_kernel.frontend > docs/commands.md`."""

from __future__ import annotations

from .commands import TABLE, CommandSpec

_HEAD = """\
# Commands

What a cell may hold instead of a prompt. A command is one line and has the cell to itself; only `%attach` lines may
stand above a prompt. `/NAME` goes to the agent if it has a command of that name, else it is ours, if we have one; Tab
completes both, Shift-Tab explains them.

| Type | to |
|---|---|
"""

_FOOT = """
Made by `python -m copilot_kernel.frontend`; a test checks that it is current.
"""


def markdown() -> str:
    """The page `docs/commands.md`."""
    return _HEAD + "".join(map(_row, TABLE.values())) + _FOOT


def _row(spec: CommandSpec) -> str:
    usage = spec.usage.replace("|", "\\|")
    return f"| `{usage}` | {spec.summary} {spec.details}".rstrip() + " |\n"


if __name__ == "__main__":
    print(markdown(), end="")
