"""A choice is put to whoever can make it: a picker in the cell, or a line of input, while the cell waits.

Afterwards a line stands where the picker stood.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from copilot_widgets.field import Field, Picks

from ..conversation.model import Notice
from ..errors import CopilotError
from ..rendering.notice import render_notice
from ..rendering.typed import named
from .asking import ATTEMPTS, Show
from .cell import Bundle, Cell
from .first import first
from .output_area import Page
from .presence import while_shown
from .slots import OpenQuestion

if TYPE_CHECKING:
    from copilot_widgets.picker import Picker

T = TypeVar("T")

Apply = Callable[[Picks], Awaitable[str]]
"""Does what was chosen and says what was done; nothing if it was not done."""

KEPT = "Everything is as it was."
FAILED = "This could not be set, or not all of it."
UNSURE = "It was interrupted while the choice was told to the agent."
LEAVE = "an empty line leaves everything as it is"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Menu:
    """What is asked: `button` says what choosing does, `static` is shown where there are no widgets."""

    fields: tuple[Field, ...]
    button: str
    static: Bundle


Outcome = tuple[bool, T | None]
"""Whether it was decided, and what; None leaves everything as it is."""


async def choose(cell: Cell, menu: Menu, apply: Apply) -> None:
    """Let somebody choose, and apply it. `cell` must be live. Raises what `apply` raises."""
    page = Page(cell, asyncio.get_running_loop())
    closing: list[Callable[[Notice], None]] = []

    def put(question: OpenQuestion) -> None:
        closing.append(page.open_question(-1, question))

    said = KEPT
    try:
        _, picks = await _outcome(cell, menu, put)
        if picks is not None:
            said = UNSURE
            said = await apply(picks) or KEPT
    except CopilotError:
        said = FAILED
        raise
    finally:
        line = Notice(-1, 0, "info", said)
        for close in closing:
            close(line)
        page.settle()
        if not closing:
            cell.display(render_notice(line))


async def _outcome(cell: Cell, menu: Menu, put: Show) -> Outcome[Picks]:
    clicked = _clicked(cell, menu, put) if cell.widgets else None
    if clicked is None:
        cell.display(menu.static)
        return await _typed(cell, menu.fields)
    if cell.widgets_seen:
        return await clicked
    return await first(clicked, _typed(cell, menu.fields), decides=lambda outcome: outcome[0])


def _clicked(cell: Cell, menu: Menu, put: Show) -> Awaitable[Outcome[Picks]] | None:
    """Show the picker: what is awaited is the click. None where ipywidgets does not work."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Outcome[Picks]] = loop.create_future()

    def settle(picks: Picks | None) -> None:
        if not outcome.done():
            outcome.set_result((True, picks))

    def done(picks: Picks | None) -> None:
        loop.call_soon_threadsafe(settle, picks)

    try:
        widget = _widget(cell, menu, done)
    except Exception:
        _log.exception("no picker, the choice is asked in words")
        return None

    def close() -> None:
        with cell.owning():
            widget.close()

    put(OpenQuestion({**menu.static, **widget.bundle()}, close))
    nothing: Outcome[Picks] = (True, None)
    return while_shown(cell, widget, outcome, nothing)


def _widget(cell: Cell, menu: Menu, done: Callable[[Picks | None], None]) -> Picker:
    from copilot_widgets.picker import Picker

    with cell.owning():
        return Picker(menu.fields, menu.button, done)


async def _typed(cell: Cell, fields: Sequence[Field]) -> Outcome[Picks]:
    """Of several fields, first which one; the others stay."""
    decided, chosen = (True, 0) if len(fields) == 1 else await _line(cell, [field.label for field in fields])
    if not decided or chosen is None:
        return decided, None
    decided, number = await _line(cell, fields[chosen].names, fields[chosen].words)
    if not decided or number is None:
        return decided, None
    return True, tuple(number if place == chosen else field.current for place, field in enumerate(fields))


async def _line(cell: Cell, names: Sequence[str], words: Sequence[str] = ()) -> Outcome[int]:
    """The number whose name or word, or which itself, was typed. At the end of input nothing is decided."""
    names = [" ".join(name.split()) for name in names]
    prompt = "  ".join(f"{number}) {name}" for number, name in enumerate(names, 1))
    for _ in range(ATTEMPTS):
        try:
            typed = await cell.input(f"{prompt}  ({LEAVE}): ")
        except EOFError:
            break
        if not typed.strip():
            return True, None
        for known in (names, words):
            if (number := named(typed, known, range(len(known)))) is not None:
                return True, number
    return False, None
