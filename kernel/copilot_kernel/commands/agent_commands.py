"""Commands about the agent: its status, which one it is, what it lets the user set, sign-in, log, attachments."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any

from copilot_widgets.field import PickerField

from ..acp.locate import located
from ..acp.mcp import McpOffer, select_servers
from ..acp.messages import AudioBlock, Block, EmbeddedResource, ImageBlock, TextBlock
from ..chat import choices
from ..chat.choices import Choice, SessionSetting
from ..chat.running_files import instructions
from ..chat.session_options import SessionOptions
from ..config import BUILT_IN_AGENTS, MODE_NAMES
from ..errors import UsageError
from ..mcp_config import McpServer, describe
from ..places import folder_beside
from ..rendering.attachment import context_name
from ..rendering.plain import visible_line, visible_text
from ..rendering.report import Report, render_lines
from .command_context import CommandContext, CommandState, Completions
from .command_output import CommandOutput, Menu, doing, show_done
from .permission_commands import BYPASSING

TO_CHANGE = "To change it, type for example %{} {}."
NO_CHOICE = "This agent offers no choice of {}."
SET_AN_OPTION = "%options OPTION VALUE sets one."
HARMLESS = ("mode", "model", "thought_level")
"""Categories of options that let an agent do nothing more."""
LOG_LINES = 100
"""Lines of the log that are shown, unless a number is given."""
MAX_NAMED_ATTACHMENTS = 20
"""Attached files that are named."""

_NO_SERVERS = "No MCP servers. Add them with the setting COPILOT_KERNEL_MCP_SERVERS."

Put = Callable[[SessionOptions, str, str | bool], Coroutine[Any, Any, None]]
"""Sets the option of this id, the mode or the model, to a value."""

# -- what it is -----------------------------------------------------------------------------------------------------


async def status(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%status`."""
    now = context.situation(output.live)
    bypasses = now.in_force.mode == "bypassPermissions"
    rows = tuple((name, value) for name, value in _facts(now) if value)
    output.show(Report("Status", rows=rows, note=BYPASSING if bypasses else "", alarms=bypasses))


async def agent(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%agent [COMMAND]`."""
    now = context.situation(output.live)
    if not rest:
        origin = now.settings.origins.get("agent", "")
        output.show(Report(rows=(("Agent", _agent_name(now)), ("Command", _command(now)), ("Set by", origin))))
        return
    launch = located(replace(now.settings, agent=rest))
    if rest not in BUILT_IN_AGENTS:
        await output.confirm(f"This makes the next prompt start: {rest}", "Start it")
    await context.chat_runner.reopen()
    context.sessions = ()
    context.settings = replace(now.settings, agent=rest, origins={**now.settings.origins, "agent": "%agent"})
    show_done(output, f"Agent: {launch.label} · The next prompt goes to it.")


restart = doing(lambda chat, _: chat.restart(), "The agent has ended; the next prompt starts it again.")
login = doing(lambda chat, method: chat.authenticate(method), "Signed in.")
logout = doing(lambda chat, _: chat.logout(), "Signed out.")


async def log(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%log [LINES]`."""
    if rest and not (rest.isascii() and rest.isdigit() and 0 < len(rest) < 7):
        raise UsageError(f'"{rest}" is not a number of lines.')
    lines = context.chat_runner.chat.log() if context.chat_runner.chat else []
    output.display(render_lines("Messages of the last turn", lines[-int(rest or LOG_LINES) :]))


async def mcp(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%mcp`."""
    now = context.situation(output.live)
    servers, info = now.settings.passed_servers, now.info
    if not servers:
        output.show(Report(note=_NO_SERVERS))
        return
    offered = select_servers(servers, info, located(now.settings)) if info else None
    rows = tuple((server.name, describe(server), _how(server, offered)) for server in servers)
    output.show(Report("MCP servers", ("Name", "Server", "For this agent"), rows))


def logins(now: CommandState, typed: str) -> Completions:
    """Completions after `%login`."""
    methods = now.info.auth_methods if now.info else ()
    return 0, [Choice(method.id, method.id, method.name, method.description) for method in methods]


def _facts(now: CommandState) -> Iterator[tuple[str, str]]:
    """Return facts about the agent; in a batch run, without what differs from run to run."""
    settings, state, book = now.settings, now.state, now.in_force
    yield "Agent", _agent_name(now)
    yield "Command", _command(now)
    yield "Session", (state.id if now.live else "open") if state else "none is open"
    yield "Title", now.conversation.title if now.live else ""
    beside = folder_beside(settings)
    yield "Folder", settings.folder + (f" ({beside})" if beside else "") if now.live else ""
    for setting in (choices.modes(state), choices.models(state), *choices.more_options(state)):
        yield setting.name, _current(setting)
    yield "Context", _context(now) if now.live else ""
    yield "Instructions", ", ".join(instructions(settings)) if now.live else ""
    yield "Notebook", now.unseen
    yield "Sandbox", now.sandbox
    yield "Agent process", now.sharing if now.live else ""
    yield "Its own commands and modes", "; ".join(now.standing)
    yield "Permissions", f"{MODE_NAMES[book.mode]} ({book.mode})"
    yield "Allowed without asking", ", ".join(book.texts("allow"))
    yield "Always asked about", ", ".join(book.texts("ask"))
    yield "Denied", ", ".join(book.texts("deny"))
    yield "With the next prompt", ", ".join(map(name_of, now.attached[:MAX_NAMED_ATTACHMENTS]))


def _agent_name(now: CommandState) -> str:
    if now.info is None:
        return "not running; the next prompt starts it"
    return " ".join(filter(None, (now.info.title or now.info.name or "nameless", now.info.version)))


def _command(now: CommandState) -> str:
    return now.settings.agent or "GitHub Copilot CLI, if it is found"


def _context(now: CommandState) -> str:
    usage = now.conversation.usage
    if usage is None:
        return ""
    return f"{usage.used:,} of {usage.size:,} tokens" if usage.size > 0 else f"{usage.used:,} tokens"


def _how(server: McpServer, offered: McpOffer | None) -> str:
    if offered is None:
        return "known once the agent runs"
    if server in offered.flagged:
        return "passed by Copilot's own flag"
    return next((f"not passed: {why}" for unsent, why in offered.unsent if unsent == server), "passed")


# -- attachments ----------------------------------------------------------------------------------------------------


async def attach(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%attach [FILE…]`."""
    try:
        paths = shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"Cannot read the file names: {error}.", "Check the quotes.") from error
    if paths:
        await context.attach(paths)
    blocks = context.situation().attached
    if not blocks:
        output.show(Report("Nothing is attached", note="%attach FILE… attaches files to the next prompt."))
        return
    more = f"and {len(blocks) - MAX_NAMED_ATTACHMENTS} more" if len(blocks) > MAX_NAMED_ATTACHMENTS else ""
    output.show(
        Report(
            "With the next prompt", rows=tuple((name_of(each),) for each in blocks[:MAX_NAMED_ATTACHMENTS]), note=more
        )
    )


async def context(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%context`."""
    rows = tuple((name_of(block), _size(block)) for block in context.situation().sent)
    if rows:
        output.show(Report("With the last prompt", ("What", "Size"), rows))
    else:
        output.show(Report(note="The last prompt was sent as typed, with nothing else."))


def _size(block: Block) -> str:
    match block:
        case TextBlock(text=text) | EmbeddedResource(text=str(text)):
            return f"{len(text):,} characters"
        case EmbeddedResource(blob=str(data)) | ImageBlock(data=data) | AudioBlock(data=data):
            return f"{len(data) * 3 // 4:,} bytes"
    return "a link"


def name_of(block: Block) -> str:
    """Return the name of an attachment."""
    if isinstance(block, TextBlock):
        return " ".join(block.text.split())[:60]
    names = (getattr(block, name, "") for name in ("name", "uri", "mime_type"))
    return context_name(block) or next(filter(None, names), "something else")


# -- what the agent lets the user set -------------------------------------------------------------------------------


async def mode(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%mode [NAME]`."""
    setting = choices.modes(await context.chat_runner.do(lambda chat: chat.options.offered("modes")))
    await _set_or_choose(context, output, "mode", setting, rest, lambda options, _, to: options.set_mode(str(to)))


async def model(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%model [NAME]`."""
    setting = choices.models(await context.chat_runner.do(lambda chat: chat.options.offered("models")))
    await _set_or_choose(context, output, "model", setting, rest, lambda options, _, to: options.set_model(str(to)))


async def options(context: CommandContext, output: CommandOutput, rest: str) -> None:
    """`%options [OPTION VALUE]`."""
    id, _, value = rest.partition(" ")
    found = choices.options(await context.chat_runner.do(lambda chat: chat.options.offered("options")))
    if id:
        setting = choices.find_option(found, id)
        await _set_or_choose(
            context, output, f"options {setting.id}", setting, value.strip(), SessionOptions.set_option
        )
    else:
        settings = [setting for setting in found if setting.choices]
        await _choose(context, output, "options", settings, _options_report(settings), SessionOptions.set_option)


def option_values(now: CommandState, typed: str) -> Completions:
    """Completions after `%options`."""
    found, (id, blank, _) = choices.options(now.state), typed.partition(" ")
    if not blank:
        return 0, [Choice(each.id, each.id, each.name, each.about) for each in found]
    return len(id) + 1, next((each.choices for each in found if each.id.casefold() == id.casefold()), ())


async def _confirm(context: CommandContext, output: CommandOutput, setting: SessionSetting, choice: Choice) -> None:
    """Ask about what ends the agent's questions, and what is not known to be harmless; a click is the user's own."""
    chat, category = context.chat_runner.chat, setting.category or setting.id
    rows = [row for row in (chat.commands.changes if chat else ()) if row.option in (setting.id, category)]
    ends = dict.fromkeys(row.says for row in rows if row.applies(choice.word))
    if ends or not (rows or category in HARMLESS):
        sets = f"This sets the agent's option {setting.id} to {choice.word}"
        await output.confirm(". ".join((sets, *ends)), "Set it")


async def _set_or_choose(
    context: CommandContext, output: CommandOutput, command: str, setting: SessionSetting, typed: str, put: Put
) -> None:
    if typed:
        choice = choices.find(setting, typed)
        await _confirm(context, output, setting, choice)
        show_done(output, await _set(context, setting, choice, put))
    elif not setting.choices:
        raise UsageError(NO_CHOICE.format(setting.id), "%options shows what it lets you set.")
    else:
        await _choose(context, output, command, [setting], _choices_report(setting, command), put)


async def _choose(
    context: CommandContext,
    output: CommandOutput,
    command: str,
    settings: Sequence[SessionSetting],
    static: Report,
    put: Put,
) -> None:
    async def apply(number: int, index: int) -> str:
        return await _set(context, settings[number], settings[number].choices[index], put)

    if settings:
        chat = await context.chat_runner.opened()
        await output.choose(Menu(command, tuple(map(_field, settings)), static, lambda: chat.session), apply)
    else:
        output.show(static)


def _field(setting: SessionSetting) -> PickerField:
    names = tuple(visible_text(choice.name or choice.word) for choice in setting.choices)
    hints = tuple(visible_text(choice.about or choice.label) for choice in setting.choices)
    return PickerField(visible_text(setting.name), names, setting.current, hints)


def _choices_report(setting: SessionSetting, command: str) -> Report:
    rows = tuple(
        ("•" if number == setting.current else "", choice.word, choice.name, choice.about)
        for number, choice in enumerate(setting.choices)
    )
    other = next((choice.word for choice in setting.choices if choice is not setting.chosen), "")
    example = TO_CHANGE.format(command, visible_line(other)) if other else ""
    return Report(setting.name, ("", "Type", "Name", ""), rows, example)


def _options_report(settings: Sequence[SessionSetting]) -> Report:
    rows = tuple(
        (each.id, each.name, _current(each), ", ".join(choice.word for choice in each.choices)) for each in settings
    )
    return Report("Options", ("Option", "Name", "Value", "Values"), rows, SET_AN_OPTION)


def _current(setting: SessionSetting) -> str:
    return setting.chosen.label if setting.chosen else ""


async def _set(context: CommandContext, setting: SessionSetting, choice: Choice, put: Put) -> str:
    await context.chat_runner.do(lambda chat: put(chat.options, setting.id, choice.value))
    return f"{setting.name}: {choice.label}"
