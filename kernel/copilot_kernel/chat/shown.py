"""An answer is for what was shown: a call that changes before its answer must be looked at again.

Agents may go on describing a call while they wait for an answer about it, and what they run is what they said last.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import anyio

from ..acp.messages import ToolCallUpdate, Update
from ..acp.transport import single_error
from ..conversation import calls
from ..conversation.model import ToolCall
from ..permissions.inputs import FOLDER_NAMES

T = TypeVar("T")

MOST = 5
"""So often a call is shown to a person; one that changes again is rejected."""
REST = 0.3
"""Seconds without a change until a call that changed is shown again."""
LONGEST_REST = 3.0


class Shown:
    """What one request is about. `call` is that call as its agent has described it up to now.

    `folder` is the session's: that a call works there is the same, said or unsaid.
    """

    def __init__(self, call: ToolCall, folder: str = "") -> None:
        self.call, self._folder = call, folder
        self._changed = anyio.Event()

    def hear(self, update: Update) -> None:
        """Something came from the agent. How far a call has come is not what a person is asked about."""
        if not isinstance(update, ToolCallUpdate) or not update.id or update.id != self.call.call_id:
            return
        before, self.call = self.call, calls.merged(self.call, update)
        if not _says_the_same(before, self.call, self._folder):
            self._changed.set()

    @property
    def has_changed(self) -> bool:
        """An answer does not count any more."""
        return self._changed.is_set()

    async def unless_changed(self, work: Awaitable[T]) -> T | None:
        """What `work` comes to, as long as the call stays as it is; else None, and the work is cancelled."""
        results: list[T] = []
        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._end_when_changed, tasks.cancel_scope)
                results.append(await work)
                tasks.cancel_scope.cancel()
        return None if self.has_changed else results[0]

    async def rest(self) -> None:
        """Until the agent has said what it wanted to say about the call, as far as anybody can tell."""
        with anyio.move_on_after(LONGEST_REST):
            while self._changed.is_set():
                self._changed = anyio.Event()
                with anyio.move_on_after(REST):
                    await self._changed.wait()
        self._changed = anyio.Event()

    async def _end_when_changed(self, scope: anyio.CancelScope) -> None:
        await self._changed.wait()
        scope.cancel()


def _says_the_same(one: ToolCall, other: ToolCall, folder: str) -> bool:
    """JSON may be nested deeper than it can be compared: then nobody knows."""
    try:
        return _told(one, folder) == _told(other, folder)
    except RecursionError:
        return False


def _told(call: ToolCall, folder: str) -> tuple[object, ...]:
    """OpenCode's first words about a command, with a description and the folder, may come after its request."""
    raw, places = call.raw_input, tuple(place for place in call.locations if place.path != folder)
    if isinstance(raw, dict):
        raw = {name: value for name, value in raw.items() if not _goes_without_saying(name, value, folder)}
    return call.title, call.name, call.kind, raw, call.content, places


def _goes_without_saying(name: str, value: object, folder: str) -> bool:
    return name == "description" or (name in FOLDER_NAMES and value == folder)
