"""Our commands in cells: what each one asks of the chat, and what the cell then shows."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..errors import CopilotError, UsageError
from . import permission_commands, report, session_commands, setting_commands
from .cell import Cell
from .chat_runner import CLOSE_LIMIT
from .context import CommandContext, show, tell
from .parse import Command, Prompt, parse, slash_name
from .table import TABLE, unknown

Run = Callable[[CommandContext, Cell, str], Coroutine[Any, Any, None]]

LINES = 100
"""Of the wire's log, unless a number is given."""


async def read(command_context: CommandContext, code: str) -> tuple[Command | Prompt, ...]:
    """See `parse`. A `/name` of ours waits for the agent to say whether it is the agent's. Raises UsageError."""
    if slash_name(code) and command_context.state is None:
        with suppress(CopilotError):
            await command_context.ready()
    return parse(code, [command.name for command in command_context.situation().conversation.commands])


async def run(command_context: CommandContext, cell: Cell, command: Command) -> None:
    """Do what `command` says and show it in `cell`. Raises CopilotError."""
    await RUNS[command.name](command_context, cell, command.rest)


async def _help(command_context: CommandContext, cell: Cell, rest: str) -> None:
    name = rest.lstrip("%/")
    if name and name not in TABLE:
        raise unknown(name)
    show(cell, report.one_command(TABLE[name]) if name else report.all_commands())


async def _status(command_context: CommandContext, cell: Cell, rest: str) -> None:
    show(cell, report.status(command_context.situation(cell.live)))


async def _mcp(command_context: CommandContext, cell: Cell, rest: str) -> None:
    from ..acp.locate import locate
    from ..acp.mcp import offer

    now = command_context.situation(cell.live)
    servers, info = now.settings.mcp_servers, now.info
    show(cell, report.mcp(now, offer(servers, info, locate(now.settings.agent, os.environ)) if info else None))


async def _log(command_context: CommandContext, cell: Cell, rest: str) -> None:
    from ..rendering.report import render_lines

    if rest and not (rest.isascii() and rest.isdigit() and 0 < len(rest) < 7):
        raise UsageError(f"{rest} is no number of lines.", f"Type {TABLE['log'].usage}.")
    lines = command_context.home.chat.log() if command_context.home.chat else []
    cell.display(render_lines("The last turn on the wire", lines[-int(rest or LINES) :]))


async def _agent(command_context: CommandContext, cell: Cell, rest: str) -> None:
    from ..acp.locate import locate

    if not rest:
        show(cell, report.agent(command_context.situation(cell.live)))
        return
    launch, settings = locate(rest, os.environ), command_context.situation().settings
    await command_context.home.reopen(CLOSE_LIMIT)
    command_context.sessions = ()
    command_context.settings = replace(settings, agent=rest, origins={**settings.origins, "agent": "%agent"})
    tell(cell, f"The next prompt starts {launch.label}.")


async def _attach(command_context: CommandContext, cell: Cell, rest: str) -> None:
    if paths := _words(rest):
        await command_context.attach(paths)
    show(cell, report.attached(command_context.situation().attached))


async def _login(command_context: CommandContext, cell: Cell, rest: str) -> None:
    await command_context.do(lambda chat: chat.authenticate(rest))
    tell(cell, "Signed in.")


async def _logout(command_context: CommandContext, cell: Cell, rest: str) -> None:
    await command_context.do(lambda chat: chat.logout())
    tell(cell, "Signed out.")


async def _restart(command_context: CommandContext, cell: Cell, rest: str) -> None:
    await command_context.do(lambda chat: chat.restart())
    tell(cell, "The agent is ended; the next prompt starts it again.")


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"The names of the files cannot be read: {error}.", "Check the quotes.") from error


RUNS: dict[str, Run] = {
    "help": _help,
    "status": _status,
    "sessions": session_commands.sessions,
    "resume": session_commands.resume,
    "new": session_commands.new,
    "close": session_commands.close,
    "delete": session_commands.delete,
    "mode": setting_commands.mode,
    "model": setting_commands.model,
    "options": setting_commands.options,
    "permissions": permission_commands.permissions,
    "agent": _agent,
    "attach": _attach,
    "mcp": _mcp,
    "login": _login,
    "logout": _logout,
    "log": _log,
    "restart": _restart,
}
"""What each command of `TABLE` does."""
