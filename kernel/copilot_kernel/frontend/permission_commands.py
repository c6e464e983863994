"""The command about permissions: show them, and change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..chat.choices import Choice, Setting, find
from ..config import PERMISSION_MODES
from ..errors import UsageError
from .allowed import permissions as report
from .cell import Cell
from .context import CommandContext, show, tell
from .modes import SAVE
from .table import TABLE

if TYPE_CHECKING:
    from ..chat import Chat
    from ..permissions.rulebook import Kind


async def permissions(command_context: CommandContext, cell: Cell, rest: str) -> None:
    """`%permissions [mode NAME | allow RULE | ask RULE | deny RULE | remove RULE]`."""
    word, _, what = rest.partition(" ")
    match word:
        case "":
            _show(command_context, cell)
        case "mode":
            await _mode(command_context, cell, what.strip())
        case "allow" | "ask" | "deny":
            await _add(command_context, cell, word, what.strip())
        case "remove":
            await _remove(command_context, cell, what.strip())
        case _:
            raise UsageError(f"%permissions {word} means nothing.", f"Type {TABLE['permissions'].usage}.")


def _show(command_context: CommandContext, cell: Cell) -> None:
    for said in report(command_context.situation(cell.live)):
        show(cell, said)


async def _mode(command_context: CommandContext, cell: Cell, name: str) -> None:
    if name:
        modes = Setting("permission mode", "Mode", tuple(Choice(mode, mode) for mode in PERMISSION_MODES))
        mode = _known(name, modes)

        async def work(chat: Chat) -> None:
            chat.set_permission_mode(mode)

        await command_context.do(work)
    show(cell, report(command_context.situation(cell.live))[0])


def _known(name: str, modes: Setting) -> str:
    try:
        return str(find(modes, name).value)
    except UsageError as error:
        hint = f"Choose one of: {', '.join(PERMISSION_MODES)}."
        raise UsageError(f'Unknown permission mode "{name}".', hint) from error


async def _add(command_context: CommandContext, cell: Cell, kind: Kind, typed: str) -> None:
    """What it means is told after it was done: a rule that means everything may be meant so."""
    from ..permissions.rulebook import check

    rule = typed.removesuffix(SAVE).strip()
    _require(rule, kind)
    warning = check(rule) if kind == "allow" else ""
    said = await command_context.do(lambda chat: chat.add_rule(kind, rule, to_settings=typed.endswith(SAVE)))
    tell(cell, said)
    if warning:
        cell.stream(f"Careful: {rule}: {warning}\n", "stderr")


async def _remove(command_context: CommandContext, cell: Cell, rule: str) -> None:
    _require(rule, "remove")
    origins = {each.origin for each in command_context.situation().in_force.stated if each.text == rule}

    async def work(chat: Chat) -> None:
        chat.remove_rule(rule)

    await command_context.do(work)
    tell(cell, f"No longer in force in this conversation: {rule}{_elsewhere(origins)}")


def _elsewhere(origins: set[str]) -> str:
    """Where it still stands for other conversations."""
    from ..permissions.rulebook import HERE

    places = ", ".join(sorted(origins - {HERE}))
    return f". It still stands in: {places}" if places else ""


def _require(rule: str, word: str) -> None:
    if not rule:
        raise UsageError(f"%permissions {word} needs a rule.", f"For example: %permissions {word} Bash(git status)")
