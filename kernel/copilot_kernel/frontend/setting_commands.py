"""Commands that set something at the agent: its mode, its model, its options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from ..chat import choices
from ..chat.choices import Choice, Setting
from ..errors import UsageError
from ..rendering.plain import visible_text
from . import report
from .cell import Cell
from .context import CommandContext, drawn, show, tell

if TYPE_CHECKING:
    from copilot_widgets.field import Field

Set = Callable[[Setting, Choice], Awaitable[None]]


async def mode(command_context: CommandContext, cell: Cell, rest: str) -> None:
    """`%mode [NAME]`."""

    async def put(setting: Setting, choice: Choice) -> None:
        await command_context.do(lambda chat: chat.set_mode(str(choice.value)))

    await _one(cell, choices.modes(await command_context.offered("modes")), rest, put)


async def model(command_context: CommandContext, cell: Cell, rest: str) -> None:
    """`%model [NAME]`."""

    async def put(setting: Setting, choice: Choice) -> None:
        await command_context.do(lambda chat: chat.set_model(str(choice.value)))

    await _one(cell, choices.models(await command_context.offered("models")), rest, put)


async def options(command_context: CommandContext, cell: Cell, rest: str) -> None:
    """`%options [OPTION VALUE]`."""

    async def put(setting: Setting, choice: Choice) -> None:
        await command_context.do(lambda chat: chat.set_option(setting.id, choice.value))

    found = choices.options(await command_context.offered("options"))
    id, _, value = rest.partition(" ")
    if value.strip():
        setting = choices.find_option(found, id)
        await put(setting, choice := choices.find(setting, value))
        tell(cell, _set(setting, choice))
    elif id:
        await _choose(cell, [choices.find_option(found, id)], put)
    else:
        await _choose(cell, [setting for setting in found if setting.choices], put)


async def _one(cell: Cell, setting: Setting, typed: str, put: Set) -> None:
    if not setting.choices:
        raise UsageError(f"This agent has no {setting.id}s to choose from.", "%options shows what it lets you set.")
    if typed:
        await put(setting, choice := choices.find(setting, typed))
        tell(cell, _set(setting, choice))
    else:
        await _choose(cell, [setting], put)


async def _choose(cell: Cell, settings: Sequence[Setting], put: Set) -> None:
    static = report.choices(settings[0]) if len(settings) == 1 else report.options(settings)
    if not (cell.live and settings):
        show(cell, static)
        return
    from .choosing import Menu, choose

    async def apply(picks: tuple[int | None, ...]) -> str:
        changed = [(s, s.choices[n]) for s, n in zip(settings, picks, strict=True) if n is not None and n != s.current]
        for setting, choice in changed:
            await put(setting, choice)
        return ", ".join(_set(setting, choice) for setting, choice in changed)

    await choose(cell, Menu(tuple(map(_field, settings)), "Apply", drawn(static)), apply)


def _field(setting: Setting) -> Field:
    from copilot_widgets.field import Field

    names = tuple(visible_text(choice.name or choice.word) for choice in setting.choices)
    hints = tuple(visible_text(choice.about or choice.label) for choice in setting.choices)
    words = tuple(choice.word for choice in setting.choices)
    return Field(visible_text(setting.name), names, setting.current, hints, words)


def _set(setting: Setting, choice: Choice) -> str:
    return f"{setting.name}: {choice.label}"
