"""Client services for the agent: files of the project, and commands in terminals (`fs/*`, `terminal/*`).

Both take two steps, so that the user or a rule judges what will really happen: `Files.locate` and `prepare` resolve a
request, `Files.read`, `Files.write` and `Terminals.create` carry it out. Failures are `HostError`s. Nothing here asks
for permission or knows the protocol.
"""

from .command import TerminalCommand, prepare
from .disk_stage import DiskStage
from .files import Files, ProjectPath, read_for_display
from .git import is_tracked
from .terminals import ExitStatus, Terminals

__all__ = [
    "DiskStage",
    "ExitStatus",
    "Files",
    "ProjectPath",
    "TerminalCommand",
    "Terminals",
    "is_tracked",
    "prepare",
    "read_for_display",
]
