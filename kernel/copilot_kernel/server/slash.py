"""Slash commands of the chat: the notebook's `%` commands by the same dispatcher; what they say, as text and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import UsageError
from ..frontend import commands
from ..frontend.cell import Bundle, Cell
from ..frontend.context import CommandContext, drawn
from ..frontend.parse import Command
from ..frontend.report import Report
from ..frontend.sessions import LAST, find_session
from ..frontend.table import TABLE
from .wire import Said

ALIASES = {"models": "model"}
"""Names of the chat protocol."""
ELSEWHERE = {
    "close": "It is closed when nobody has used it for a while; /new begins another one.",
    "agent": "The agent of this server is a setting: COPILOT_KERNEL_AGENT.",
    "log": "Other conversations go over the same wire; the log is in the notebook.",
    "restart": "Other conversations use the same agent; restart the server instead.",
}
"""Commands that are the server's business, not a conversation's."""
READS = frozenset({"help", "status", "sessions", "models", "mcp", "permissions"})
"""What does not wait for the turn that runs, if nothing stands after the name."""
_LIVE = frozenset({"status", "sessions", "attach", "mcp", "permissions"})

_NAME = re.compile(r"/([A-Za-z][\w-]*)(?:[ \t]+(.*))?", re.DOTALL)
_PERCENT = re.compile(rf"%(?=(?:{'|'.join(TABLE)})\b)")


def to_agent(text: str) -> str:
    """What a prompt says: `//name` is the agent's `/name`."""
    return text[1:] if text.startswith("//") else text


def parse(text: str, advertised: tuple[str, ...] = ()) -> Command | None:
    """The command of ours in `text`; None for a prompt, also for a command that only the agent knows.

    Raises UsageError for one that nobody knows.
    """
    match = _NAME.fullmatch(text.strip())
    if match is None or text.strip().startswith("//"):
        return None
    name, rest = ALIASES.get(match[1], match[1]), (match[2] or "").strip()
    if name not in TABLE and match[1] in advertised:
        return None
    if name not in TABLE:
        raise UsageError(f"There is no command /{match[1]}.", f"/help lists them; //{match[1]} goes to the agent.")
    if rest and not TABLE[name].arguments:
        raise UsageError(f"Nothing may stand after /{name}.", f"//{name} goes to the agent.")
    return Command("sessions") if name == "resume" else Command(name, rest)


def switch(text: str) -> Command | None:
    """`/new` and `/resume ID`: they are about which conversation this is."""
    match = _NAME.fullmatch(text.strip())
    name, rest = (match[1], (match[2] or "").strip()) if match else ("", "")
    return Command(name, rest) if (name == "resume" and rest) or (name == "new" and not rest) else None


async def find(command_context: CommandContext, typed: str) -> str:
    """The id of the session whose id begins so; an agent that lists none may know it. Raises UsageError."""
    here = command_context.state.id if command_context.state else ""
    try:
        found = await command_context.list_sessions(here=typed == LAST)
    except UsageError:
        if typed == LAST:
            raise
        return typed
    return find_session(found, typed, here).id


def is_quick(text: str) -> bool:
    """It only reads, so that it need not wait."""
    match = _NAME.fullmatch(text.strip())
    return bool(match and match[1] in READS and not match[2])


async def run(command_context: CommandContext, command: Command) -> Said:
    """Do what `command` says. Raises CopilotError."""
    if command.name in ELSEWHERE and (command.rest or command.name != "agent"):
        raise UsageError(f"/{command.name} is not for a chat on a server.", ELSEWHERE[command.name])
    if (
        command.name == "delete"
        and command.rest
        and command_context.state
        and command_context.state.id.startswith(command.rest)
    ):
        raise UsageError("This is the conversation that is open here.", "Begin a /new one first.")
    if command.name == "help" and not command.rest:
        return _said([drawn(_help())])
    sheet = OutputRecorder(live=command.name in _LIVE)
    await commands.run(command_context, cast(Cell, sheet), command)
    return _said(sheet.bundles)


def ours(text: str) -> str:
    """`text` with the names of commands as they are typed here."""
    return _PERCENT.sub("/", text)


@dataclass
class OutputRecorder:
    """What a command needs of a cell, where nobody can be asked anything: it takes down what is shown."""

    live: bool
    bundles: list[Bundle] = field(default_factory=list)
    widgets: bool = False
    widgets_seen: bool = False
    cell_id: str | None = None

    def display(self, data: Bundle, *, display_id: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        """One more thing to show."""
        self.bundles.append(data)

    def update(self, data: Bundle, *, display_id: str, metadata: dict[str, Any] | None = None) -> None:
        """The newest look."""
        self.bundles.append(data)

    def stream(self, text: str, name: str = "stdout") -> None:
        """Plain text."""
        self.bundles.append({"text/plain": text})

    @contextmanager
    def owning(self) -> Iterator[None]:
        """There are no widgets here."""
        yield

    async def input(self, prompt: str) -> str:
        """Nobody can be asked: raises EOFError."""
        raise EOFError("a command of the chat asks nothing")


def _help() -> Report:
    names = [entry for entry in TABLE.values() if entry.name not in ELSEWHERE]
    rows = [(ours(entry.usage), entry.summary) for entry in names]
    rows.append(("/models", "List the agent's models."))
    return Report("Commands", ("Type", "to"), tuple(rows), "Anything else is a prompt; //NAME is the agent's /NAME.")


def _said(bundles: list[Bundle]) -> Said:
    text = "\n\n".join(str(each.get("text/plain", "")) for each in bundles)
    html = "".join(str(each.get("text/html", "")) for each in bundles)
    return Said(ours(text), ours(html))
