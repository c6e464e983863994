"""Commands, options and modes of agents that change what this client relies on (`agent_changes.toml`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from ..acp.messages import SessionState
from ..acp.results import short_name
from .paths import agents_named, policy_data

Kind = Literal["place", "questions", "session", "turns"]


@dataclass(frozen=True, slots=True)
class AgentChange:
    """A row of the list, which describes its members."""

    agent: str
    kind: Kind
    command: str = ""
    option: str = ""
    says: str = ""
    only: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    def applies(self, words: str) -> bool:
        """Return True if these words behind the command, or this value of the option, make the change."""
        return words in self.only if self.only else words not in self.unless


@cache
def changes_of(agent: str) -> tuple[AgentChange, ...]:
    """The rows of the agent with this command line and name; all of them, if it is unknown."""
    known, rows = agents_named(agent), policy_data("agent_changes.toml")["row"]
    return tuple(AgentChange(**row) for row in rows if not known or row["agent"] in known)


def unasking(rows: tuple[AgentChange, ...], state: SessionState) -> list[str]:
    """The options and the mode of the session, with their values, that end questions."""
    words = {"True": "on", "False": "off"}
    reported = {str(each.get("id")): words.get(value := str(each.get("currentValue")), value) for each in state.options}
    values = {**reported, "mode": short_name(state.mode or "")}.items()
    found = (f"{name} {value}" for row in rows for name, value in values if row.option == name and row.applies(value))
    return list(dict.fromkeys(found))
