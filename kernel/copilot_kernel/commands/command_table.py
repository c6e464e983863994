"""Our `%commands`: what a cell asks for, and the table of commands, which also makes help and completion.

A new command is a function in one of the `…_commands` modules, a row of `TABLE` and a name in `TOPICS`;
`python -m tests.docs_lists` adds it to `docs/commands.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ..chat.choices import Choice, models, modes
from ..chat.slash import is_one_of
from ..errors import CopilotError, UsageError
from ..rendering.report import Report
from . import agent_commands, permission_commands, session_commands, undo_commands
from .command_context import CommandContext, CommandState, Completions
from .command_output import CommandOutput

BEFORE_A_PROMPT = "attach"
MAX_USAGE = 24
"""Characters of a usage in the list of commands."""
TOPICS = {
    "Conversation": ("sessions", "resume", "new", "close", "delete"),
    "Changes": ("changes", "undo"),
    "Permissions": ("permissions",),
    "Context": ("attach", "context", "mcp"),
    "Agent": ("status", "mode", "model", "options", "agent", "login", "logout", "log", "restart"),
}
"""Topics of the list of commands, all but `help`."""

_OURS = re.compile(r"%+([A-Za-z]\w*)[ \t]*(.*)")
_EITHER = re.compile(r"/([A-Za-z]\w*)(?:[ \t]+(.*))?")
_ELSEWHERE = "Put the rest into a cell of its own."


@dataclass(frozen=True, slots=True)
class Command:
    """The name of one of our commands, and what was typed after it."""

    name: str
    rest: str = ""


def _words(words: Callable[[CommandState], Sequence[Choice]]) -> Callable[[CommandState, str], Completions]:
    """Completions of one word after a command's name."""
    return lambda now, typed: (0, words(now))


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A row of `TABLE`.

    `run` does it; `summary` is one line, `details` what it leaves out; `arguments` is empty if nothing may stand after
    the name, and `complete` gets what was typed there.
    """

    name: str
    run: Callable[[CommandContext, CommandOutput, str], Coroutine[Any, Any, None]]
    summary: str
    arguments: str = ""
    details: str = ""
    complete: Callable[[CommandState, str], Completions] = lambda now, typed: (0, ())

    @property
    def usage(self) -> str:
        """Usage line."""
        return f"%{self.name} {self.arguments}".rstrip()


async def read(context: CommandContext, code: str) -> tuple[tuple[Command, ...], str]:
    """Parse a cell. A `/name` of ours waits for the agent to say whether it is the agent's. Raises UsageError."""
    if slash_name(code) and context.conversation.state is None:
        with suppress(CopilotError):
            await context.ready()
    return parse(code, [command.name for command in context.conversation.commands])


async def run(context: CommandContext, output: CommandOutput, command: Command) -> None:
    """Do what `command` says and show it in `output`. Raises CopilotError."""
    spec = TABLE[command.name]
    try:
        await spec.run(context, output, command.rest)
    except UsageError as error:
        error.hint = error.hint or f"Usage: {spec.usage}"
        raise


def complete(name: str, typed: str, now: CommandState) -> Completions:
    """Return completions if `typed` stands between the name of a command and the cursor."""
    return TABLE[name].complete(now, typed) if name in TABLE else (0, ())


def parse(cell: str, advertised: Iterable[str] = ()) -> tuple[tuple[Command, ...], str]:
    """Return the commands of a cell, and the prompt below them, empty if there is none.

    `advertised` are the agent's own commands, without the `/`.

    Raises UsageError for a `%name` that is not a command, since it must not reach the agent by mistake, and for lines
    after a command that cannot belong to it.
    """
    text, found = cell.strip(), list[Command]()
    while command := _command(text, advertised):
        text = text.partition("\n")[2].strip()
        _check(command, bool(found), text)
        found.append(command)
    return tuple(found), text


def slash_name(cell: str) -> str:
    """The name of ours that the cell begins with after a `/`: it is ours only if the agent does not know it."""
    match = _EITHER.fullmatch(cell.strip().partition("\n")[0])
    return match[1] if match and match[1] in TABLE else ""


def unknown(name: str) -> UsageError:
    """The error for a name that is not in `TABLE`: it names the one that was probably meant."""
    near = [f"%{each}" for each in get_close_matches(name.lower(), TABLE, n=2)]
    hint = f"Did you mean {' or '.join(near)}?" if near else "%help lists the commands; a prompt must not begin with %."
    return UsageError(f"No such command: %{name}", hint)


def _command(text: str, advertised: Iterable[str]) -> Command | None:
    line = text.partition("\n")[0]
    if match := _OURS.fullmatch(line):
        if match[1] not in TABLE:
            raise unknown(match[1])
        return Command(match[1], match[2].strip())
    name = slash_name(line)
    if not name or is_one_of(line, advertised):
        return None
    return Command(name, line.removeprefix(f"/{name}").strip())


def _check(command: Command, is_late: bool, after: str) -> None:
    name = command.name
    if command.rest and not TABLE[name].arguments:
        raise UsageError(f"%{name} takes no arguments.", _ELSEWHERE)
    if name == BEFORE_A_PROMPT:
        return
    if is_late:
        raise UsageError(f"%{name} cannot follow %{BEFORE_A_PROMPT}.", f"Put %{name} into a cell of its own.")
    if after:
        raise UsageError(f"%{name} is one line, and more follows it in this cell.", _ELSEWHERE)


def overview(names: Collection[str], note: str) -> Report:
    """The commands of these names by topic."""
    rows = list[tuple[str, str, str]]()
    for topic, members in TOPICS.items():
        shown = [TABLE[name] for name in members if name in names]
        rows += [("" if number else topic, _brief(spec), spec.summary) for number, spec in enumerate(shown)]
    return Report(rows=rows, note=note, typed=1)


def _brief(spec: CommandSpec) -> str:
    return spec.usage if len(spec.usage) <= MAX_USAGE else f"%{spec.name} […]"


async def _help(context: CommandContext, output: CommandOutput, rest: str) -> None:
    name = rest.lstrip("%/")
    if not name:
        note = (
            "%help COMMAND explains one. Any other text is a prompt to the agent; "
            "/NAME runs the agent's own command if it has one with that name."
        )
        output.show(overview(TABLE, note))
    elif name in TABLE:
        spec = TABLE[name]
        output.show(Report(spec.usage, note=f"{spec.summary} {spec.details}".rstrip()))
    else:
        raise unknown(name)


_PICK = "Without {}, the command shows buttons to choose one, now or later."

_SPECS = (
    CommandSpec(
        "help",
        _help,
        "List the commands, or explain one of them.",
        "[COMMAND]",
        complete=_words(lambda now: [Choice(spec.name, spec.name, about=spec.summary) for spec in TABLE.values()]),
    ),
    CommandSpec(
        "status",
        agent_commands.status,
        "Show the agent, its session and its settings.",
        details="It also shows the context in use, what may run without asking, and what the next prompt includes.",
    ),
    CommandSpec(
        "sessions",
        session_commands.sessions,
        "List the conversations in this folder, and resume one.",
        "[all]",
        "With all, the list includes other folders. The agent must be able to list its sessions.",
        _words(lambda now: [Choice("all", "all", about="include other folders")]),
    ),
    CommandSpec(
        "resume",
        session_commands.resume,
        "Resume an earlier conversation.",
        "[ID | last]",
        "The first characters of an ID are enough; last is the most recently used conversation. Without ID, the "
        "command shows buttons to choose one.",
        session_commands.resumable,
    ),
    CommandSpec("new", session_commands.new, "Start a new conversation with the next prompt."),
    CommandSpec(
        "close",
        session_commands.close,
        "Close the conversation at the agent; you can resume it later if the agent keeps it.",
    ),
    CommandSpec(
        "delete",
        session_commands.delete,
        "Permanently delete a conversation at the agent.",
        "ID",
        "The first characters of the ID are enough.",
        session_commands.session_ids,
    ),
    CommandSpec(
        "changes",
        undo_commands.changes,
        "List the files that the agent changed and the commands that it ran.",
        details="The list covers each turn since the conversation was opened here.",
    ),
    CommandSpec(
        "undo",
        undo_commands.undo,
        "Restore files to their state before a turn.",
        "[TURN] [restore]",
        "Without TURN, the command undoes the last turn. It shows the files and asks first, unless you add restore. It "
        "skips files that have changed since the turn. The next prompt tells the agent what was restored.",
        _words(lambda now: [Choice(undo_commands.RESTORE, undo_commands.RESTORE, about="without asking")]),
    ),
    CommandSpec(
        "mode",
        agent_commands.mode,
        "Show or change the agent's mode.",
        "[NAME]",
        f"The agent defines its modes; use %permissions for the permission mode of this kernel. {_PICK.format('NAME')}",
        _words(lambda now: modes(now.state).choices),
    ),
    CommandSpec(
        "model",
        agent_commands.model,
        "Show or change the agent's model.",
        "[NAME]",
        _PICK.format("NAME"),
        _words(lambda now: models(now.state).choices),
    ),
    CommandSpec(
        "options",
        agent_commands.options,
        "Show or change the agent's other options.",
        "[OPTION VALUE]",
        _PICK.format("OPTION"),
        agent_commands.option_values,
    ),
    CommandSpec(
        "permissions",
        permission_commands.permissions,
        "Show the permission mode, rules and decisions, or change the mode and rules.",
        "[mode NAME | allow RULE | ask RULE | deny RULE | remove RULE | revoke ID | give]",
        "Changes apply to this conversation; a change that allows the agent more asks you first. The modes are "
        "default, acceptEdits, bypassPermissions, plan and sandboxed. Examples of rules are Read, Edit(src/**), "
        "Bash(git status), WebFetch(domain:example.com) and mcp__server__tool. Deny takes precedence over ask, and ask "
        "over allow. --save at the end also saves a rule in your config file. GitHub Copilot CLI reads deny rules when "
        "it starts: use %restart after a change.",
        permission_commands.complete,
    ),
    CommandSpec(
        "agent",
        agent_commands.agent,
        "Show the agent's command line, or switch to another agent.",
        "[COMMAND]",
        "COMMAND is a command line, tcp://HOST:PORT or demo. "
        "The new agent replaces the running one until this kernel ends.",
        _words(lambda now: [Choice("demo", "demo", about="the demo agent: no account, no network")]),
    ),
    CommandSpec(
        "attach",
        agent_commands.attach,
        "Attach files to the next prompt.",
        "[FILE…]",
        "%attach lines can precede a prompt. Quote names that contain spaces. Without FILE, the command lists the "
        "attached files.",
    ),
    CommandSpec(
        "context",
        agent_commands.context,
        "Show what the last prompt included besides its text.",
        details="It lists attached and mentioned files, cells and variables, the last error, and the text that "
        "introduces the notebook.",
    ),
    CommandSpec("mcp", agent_commands.mcp, "Show the MCP servers that are passed to the agent."),
    CommandSpec(
        "login",
        agent_commands.login,
        "Sign in to the agent.",
        "[METHOD]",
        "METHOD is one of the agent's sign-in methods; the default is the first one.",
        agent_commands.logins,
    ),
    CommandSpec("logout", agent_commands.logout, "Sign out of the agent."),
    CommandSpec(
        "log",
        agent_commands.log,
        "Show the last turn's messages to and from the agent, without known forms of tokens.",
        "[LINES]",
        "LINES is how many of the last lines to show; the default is 100.",
    ),
    CommandSpec("restart", agent_commands.restart, "End the agent; the next prompt starts it again."),
)

TABLE: dict[str, CommandSpec] = {spec.name: spec for spec in _SPECS}
"""Commands by name, without the `%`, in the order of the documentation."""
