"""Slash commands of the chat: the notebook's `%` commands by the same dispatcher."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...commands import command_table
from ...commands.command_context import CommandContext
from ...commands.command_output import CommandOutput
from ...commands.command_table import TABLE, Command
from ...errors import AgentError, CopilotError, UsageError
from ...rendering.failure import render_failure
from ...rendering.markup import Bundle
from ...rendering.report import Wording
from . import wire

WORDING = Wording("try again", "/", frozenset(TABLE))
ALIASES = {"models": "model"}
"""Names of the chat protocol."""
UNAVAILABLE = {
    "close": "It is closed when it has been idle for a while; /new starts another one.",
    "agent": "The agent of this server is a setting: COPILOT_KERNEL_AGENT.",
    "log": "Other conversations share the connection to the agent; see the log in the notebook.",
    "restart": "Other conversations share the agent; restart the server instead.",
}
"""Commands that concern the whole server, and what to do instead."""
DETAILED = frozenset({"status", "sessions", "attach", "mcp", "permissions"})
"""Commands whose output has ids and times; the others would offer a choice to a person."""
WIDENED = "A chat can only restrict the agent further."
WIDENED_HINT = "To allow more, change the server's settings: CopilotApp.chat_permission_mode, CopilotApp.chat_allow."
NOTE = "/models lists the agent's models. Anything else is a prompt; //NAME is the agent's /NAME."

_NAME = re.compile(r"/([A-Za-z][\w-]*)(?:[ \t]+(.*))?", re.DOTALL)


def to_agent(text: str) -> str:
    """The prompt in `text`: `//name` is the agent's `/name`."""
    return text[1:] if text.startswith("//") else text


def parse(text: str, advertised: tuple[str, ...] = ()) -> Command | None:
    """The command of ours in `text`; None for a prompt, also for a command that only the agent knows.

    Raises UsageError for an unknown one.
    """
    typed = _typed(text)
    if typed is None:
        return None
    name = ALIASES.get(typed.name, typed.name)
    if name not in TABLE:
        if typed.name in advertised:
            return None
        raise UsageError(f"Unknown command /{typed.name}.", f"/help lists them; //{typed.name} goes to the agent.")
    if typed.rest and not TABLE[name].arguments:
        raise UsageError(f"/{name} takes no arguments.", f"//{name} goes to the agent.")
    return Command("sessions") if name == "resume" else Command(name, typed.rest)


def parse_switch(text: str) -> Command | None:
    """`/new` or `/resume ID`, which change the conversation of a socket."""
    typed = _typed(text)
    if typed is not None and ((typed.name == "resume" and typed.rest) or (typed.name == "new" and not typed.rest)):
        return typed
    return None


async def run(context: CommandContext, command: Command) -> wire.SocketMessage:
    """Run `command`. Raises CopilotError."""
    if command.name in UNAVAILABLE and (command.rest or command.name != "agent"):
        raise UsageError(f"/{command.name} is not available in a chat.", UNAVAILABLE[command.name])
    state = context.conversation.state
    if command.name == "delete" and command.rest and state and state.id.startswith(command.rest):
        raise UsageError("This conversation is open here.", "Start a /new one first.")
    output = OutputRecorder(live=command.name in DETAILED)
    if command.name == "help" and not command.rest:
        output.show(command_table.overview(TABLE.keys() - UNAVAILABLE, NOTE))
    else:
        await command_table.run(context, output, command)
    return output.result()


def failure(error: CopilotError) -> wire.SocketMessage:
    """Return what happened and what to do next, as text and as HTML."""
    message = str(error) if isinstance(error, AgentError) else WORDING.adapt(str(error))
    html = render_failure(error, WORDING)["text/html"]
    return wire.failure("\n".join(filter(None, (message, WORDING.adapt(error.hint)))), html)


@dataclass
class OutputRecorder(CommandOutput):
    """Keeps what a command shows. It cannot ask."""

    live: bool
    wording = WORDING
    bundles: list[Bundle] = field(default_factory=list)

    def display(self, data: Bundle, /) -> None:
        self.bundles.append(data)

    async def confirm(self, widening: str, allow: str) -> None:
        """Refuse: whoever has the key of the chat may not widen what the server's settings allow."""
        raise UsageError(WIDENED, WIDENED_HINT)

    def result(self) -> wire.SocketMessage:
        """All that was shown."""
        text = "\n\n".join(str(each.get("text/plain", "")) for each in self.bundles)
        html = "".join(str(each.get("text/html", "")) for each in self.bundles)
        return wire.SocketMessage("message", {"content": text}, {"html": html})


def _typed(text: str) -> Command | None:
    match = _NAME.fullmatch(text.strip())
    return Command(match[1], (match[2] or "").strip()) if match else None
