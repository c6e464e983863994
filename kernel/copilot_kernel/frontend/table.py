"""Every command of ours: its name, what may stand after it, and what it is for. Help, completion and the documentation
are made of this."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from ..errors import UsageError


@dataclass(frozen=True, slots=True)
class Entry:
    """`arguments` is empty if nothing may stand after the name; `summary` is one line, `details` what it leaves out."""

    name: str
    summary: str
    arguments: str = ""
    details: str = ""

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"%{self.name} {self.arguments}".rstrip()


_PICK = "Without {}, you choose from a list; where nobody can choose, the list is printed."

_ENTRIES = (
    Entry("help", "List the commands, or explain one.", "[COMMAND]"),
    Entry(
        "status",
        "Show the agent, its session, and what is set.",
        details="Also the context in use, what may be done without a question, and what goes with the next prompt.",
    ),
    Entry(
        "sessions",
        "List the conversations of this folder, and go on with one.",
        "[all]",
        "With all, those of other folders too. Needs an agent that lists its sessions.",
    ),
    Entry(
        "resume",
        "Go on with an earlier conversation.",
        "[ID | last]",
        f"The beginning of an ID is enough; last is the one used last. {_PICK.format('ID')}",
    ),
    Entry("new", "Begin a new conversation with the next prompt."),
    Entry("close", "Close the conversation at the agent; it can be resumed if the agent keeps it."),
    Entry("delete", "Delete a conversation at the agent, for ever.", "ID", "The beginning of an ID is enough."),
    Entry(
        "mode",
        "Show or change the agent's mode.",
        "[NAME]",
        f"What a mode means is the agent's business; %permissions is ours. {_PICK.format('NAME')}",
    ),
    Entry("model", "Show or change the agent's model.", "[NAME]", _PICK.format("NAME")),
    Entry("options", "Show or change what else the agent lets you set.", "[OPTION VALUE]", _PICK.format("OPTION")),
    Entry(
        "permissions",
        "Show what is allowed, asked about and denied, and what was decided; or change it.",
        "[mode NAME | allow RULE | ask RULE | deny RULE | remove RULE]",
        "Changes are for this conversation. The modes are default, acceptEdits, bypassPermissions and plan; a rule is, "
        "for example, Read, Edit(src/**), Bash(git status), WebFetch(domain:example.com) or mcp__server__tool. What is "
        "denied goes before what is asked about, and that before what is allowed. With --save at the end, a rule is "
        "also kept in your config file. GitHub Copilot CLI itself is told at its start what is denied: %restart.",
    ),
    Entry(
        "agent",
        "Show the agent's command line, or change to another agent.",
        "[COMMAND]",
        "A command line, tcp://HOST:PORT, or demo; until this kernel ends. The agent that runs is ended.",
    ),
    Entry(
        "attach",
        "Let files go with the next prompt.",
        "[FILE…]",
        "Such lines may stand above a prompt. Names with blanks need quotes. Without FILE, it shows what waits.",
    ),
    Entry("mcp", "Show the MCP servers that the agent is given."),
    Entry("login", "Sign in to the agent.", "[METHOD]", "METHOD is one of the agent's; without it, the first."),
    Entry("logout", "Sign out of the agent."),
    Entry(
        "log",
        "Show what went over the wire in the last turn, without secrets.",
        "[LINES]",
        "The last LINES lines; 100 without a number.",
    ),
    Entry("restart", "End the agent; the next prompt starts it again."),
)

TABLE = {entry.name: entry for entry in _ENTRIES}
"""By name, without the `%`, in the order of the documentation."""


def unknown(name: str) -> UsageError:
    """The error for a name that is none of these: it names the one that was probably meant."""
    near = get_close_matches(name.lower(), TABLE, n=1)
    hint = f"Did you mean %{near[0]}?" if near else "%help lists the commands. A prompt must begin otherwise."
    return UsageError(f"There is no command %{name}.", hint)
