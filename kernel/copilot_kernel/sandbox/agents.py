"""Folders where known agents keep their state, and what of it they may change in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class AgentState:
    """One folder. Inside it is a private one that the project's agent keeps, with these of the user's in it.

    `written` are shared and writable: sessions and logs. All others that exist are read-only, but `own` are not there.
    """

    folder: Path
    written: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


def agent_states(program: str, environ: Mapping[str, str], home: Path) -> tuple[AgentState, ...]:
    """Return the state folders of the agent whose program has this name; empty for an unknown one."""

    def place(variable: str, default: str, below: str = "") -> Path:
        chosen = environ.get(variable)
        return Path(chosen, below) if chosen else home / default / below

    match program:
        case "copilot" | "copilot-linux-x64" | "copilot-linux-arm64":
            folder = place("COPILOT_HOME", ".copilot")
            return (AgentState(folder, ("session-state", "logs"), ("settings.json.lock",)),)
        case "gemini":
            folder = Path(environ.get("GEMINI_CLI_HOME", home), ".gemini")
            return (AgentState(folder, ("tmp", "history"), ("projects.json",)),)
        case "opencode":
            return (
                AgentState(
                    place("XDG_DATA_HOME", ".local/share", "opencode"),
                    ("log",),
                    ("opencode.db", "opencode.db-shm", "opencode.db-wal", "storage", "snapshot", "bin"),
                ),
                AgentState(place("XDG_CONFIG_HOME", ".config", "opencode")),
                AgentState(place("XDG_STATE_HOME", ".local/state", "opencode"), own=("locks",)),
            )
    return ()
