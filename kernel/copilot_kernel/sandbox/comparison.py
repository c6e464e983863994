"""Comparison of a project's protected files, once after each turn.

Mounts keep the agent from changing those that existed when its sandbox was made. They cannot keep it from creating
others; and Linux takes a mount off a file that a program outside replaces by a rename, as many editors do.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path

from .protected import Search


class Kind(Enum):
    """Kind of change, as a line for the user."""

    NEW = "New since the agent was started: {}. Review what is there: Git, editors or other agents act on it."
    CHANGED = (
        "Changed since the agent was started, perhaps by the agent: {}. Review what is there. It may no longer be "
        "protected, so the next prompt restarts the agent, unless other conversations on the server use it."
    )
    PARTIAL = "Not all protected files could be compared: too many, or unreadable, in {}."


class Comparison:
    """`states` are the protected paths, with what was there the last time: at first when the sandbox was made.

    `is_changed`: from then on, the agent may write to one of them.
    """

    def __init__(self, project: Path, states: Mapping[str, str]) -> None:
        self.project, self.states, self.is_changed = project, states, False
        self._missed: set[str] = set()

    def compare(self) -> dict[Kind, list[str]]:
        """Return changes since the last comparison, as names for the user. Reads the disk."""
        search, before = Search(self.project), self.states
        self.states = states_of((*before, *search.paths))
        new = [path for path, state in self.states.items() if state and not before.get(path)]
        changed = [path for path, state in self.states.items() if state and before.get(path) not in ("", None, state)]
        missed = [folder for folder in search.missed if folder not in self._missed]
        self._missed.update(missed)
        self.is_changed |= bool(changed)
        found = {Kind.NEW: new, Kind.CHANGED: changed, Kind.PARTIAL: missed}
        return {kind: [self._name(path) for path in paths] for kind, paths in found.items() if paths}

    def _name(self, path: str) -> str:
        return "the project" if path == str(self.project) else os.path.relpath(path, self.project)


def states_of(paths: Iterable[str]) -> dict[str, str]:
    """Return the state at each path: it differs after a replacement or a write to a file; empty if nothing is there.

    What is in a folder does not count: a mount holds it whatever changes there outside, as Git's folder does at each
    commit.
    """
    return {path: _state_of(path) for path in paths}


def _state_of(path: str) -> str:
    try:
        state = os.stat(path)
    except OSError:
        return "unknown" if os.path.lexists(path) else ""
    # Inodes are used again, and times of a folder change with what is in it.
    file = () if stat.S_ISDIR(state.st_mode) else (state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    return repr((state.st_dev, state.st_ino, *file))
