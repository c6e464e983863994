"""Pickers: they stay in a cell that has ended, and apply a choice as soon as nothing else is done with the chat.

Two displays: what can be chosen, for saved notebooks, and the picker, beside which the first is hidden.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from uuid import uuid4

from ..commands.command_output import UNCHANGED, Apply, Menu
from ..errors import CopilotError
from ..rendering.markup import CHOICES, Bundle
from ..rendering.plain import visible_line
from ..rendering.report import render_done, render_report
from .cell import BLANK, Cell

WAITING = "Waiting for the agent…"
NOT_SET = "This could not be set."

_log = logging.getLogger(__name__)


class Pickers:
    """The open ones of a kernel, one for each command. All methods belong to the loop's thread.

    `idle` waits until nothing is being done with the chat.
    """

    def __init__(self, idle: Callable[[], Awaitable[None]]) -> None:
        self._idle = idle
        self._open: dict[str, OpenPicker] = {}
        self._turn = asyncio.Lock()

    def show(self, cell: Cell, menu: Menu, apply: Apply) -> None:
        """Show what can be chosen, and a picker where the front end has widgets."""
        name = menu.command.partition(" ")[0]
        self.close(name)
        try:
            self._open[name] = OpenPicker(cell, menu, partial(self._apply, name, apply))
        except Exception:
            _log.exception("widgets failed; the choices are shown as text")
            cell.display(render_report(menu.static, cell.wording))

    def close(self, name: str) -> None:
        """Close the picker of the command `name`, if there is one: what it shows may not be true any more."""
        if picker := self._open.pop(name, None):
            picker.close()

    def close_stale(self) -> None:
        """Close those whose agent or session is no longer the one that was asked for the choices."""
        for name in [name for name, picker in self._open.items() if picker.is_stale()]:
            self.close(name)

    async def _apply(self, name: str, apply: Apply, field: int, choice: int) -> str:
        """Apply a choice behind whatever is being done. Returns nothing if the picker was closed meanwhile."""
        picker = self._open.get(name)
        async with self._turn:
            await self._idle()
            self.close_stale()
            if picker is None or self._open.get(name) is not picker:
                return ""
            try:
                return await apply(field, choice)
            finally:
                self.close_stale()


class OpenPicker:
    """A picker in `cell`."""

    def __init__(self, cell: Cell, menu: Menu, apply: Apply) -> None:
        from copilot_widgets.picker import Picker

        self._cell, self._apply = cell, apply
        about, loop = menu.subject(), asyncio.get_running_loop()
        self.is_stale: Callable[[], bool] = lambda: menu.subject() is not about
        """Whether the choices were those of another agent or session."""
        self._in_force = [field.current for field in menu.fields]
        self._waiting: dict[asyncio.Task[None], tuple[int, int]] = {}
        self._list_id = uuid4().hex
        with cell.owning():  # what the user picks arrives on the thread that handles comm messages
            self._widget = Picker(menu.fields, lambda *picked: loop.call_soon_threadsafe(self._begin, *picked))
        cell.display(_hideable(render_report(menu.static, cell.wording)), display_id=self._list_id)
        cell.display({**self._widget.bundle(), "text/plain": ""}, display_id=self._picker_id)

    @property
    def _picker_id(self) -> str:
        return f"{self._list_id}-picker"

    def close(self) -> None:
        """Leave nothing in the place of the picker."""
        self._cell.update(BLANK, display_id=self._picker_id)
        with self._cell.owning():
            self._widget.close()

    def _begin(self, field: int, choice: int) -> None:
        if [*self._waiting.values()][-1:] == [(field, choice)]:
            return  # a double click
        task = asyncio.create_task(self._pick(field, choice))
        self._waiting[task] = field, choice
        task.add_done_callback(self._waiting.pop)

    async def _pick(self, field: int, choice: int) -> None:
        self._report(WAITING)
        try:
            line = await self._apply(field, choice)
        except (Exception, asyncio.CancelledError) as error:
            if not isinstance(error, CopilotError | asyncio.CancelledError):
                _log.exception("a choice could not be applied")
            self._failed(field, error)
        else:
            self._applied(field, choice, line)

    def _applied(self, field: int, choice: int, line: str) -> None:
        self._in_force[field] = choice
        self._report(f"✓ {line}" if line else UNCHANGED)
        if line:
            self._cell.update(_hideable(render_done(line)), display_id=self._list_id)

    def _failed(self, field: int, error: BaseException) -> None:
        words = [str(error), error.hint] if isinstance(error, CopilotError) else []
        self._report(f"✗ {visible_line(' '.join(filter(None, words)) or NOT_SET)}")
        with self._cell.owning():
            self._widget.set(field, self._in_force[field])

    def _report(self, line: str) -> None:
        with self._cell.owning():
            self._widget.report(line)


def _hideable(bundle: Bundle) -> Bundle:
    """Hidden while there is a picker below."""
    return {**bundle, "text/html": f'<div class="{CHOICES}">{bundle["text/html"]}</div>'}
