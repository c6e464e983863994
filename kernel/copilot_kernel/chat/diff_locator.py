"""Place of each diff in its file: looked up once, when it comes, so that it looks the same before and after.

Files are read in threads, since a disk may hang; updates are taken in meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeVar

import anyio
from anyio import to_thread

from ..acp.messages import Diff
from ..conversation.excerpt import Excerpt, find_excerpt
from ..conversation.model import ToolCall
from ..errors import HostError
from ..host import is_tracked, read_for_display
from ..permissions import inputs

MAX_LOCATED_BYTES = 2 * 1024 * 1024
MAX_DELETED_CHARS = 20_000
# Of one call, however often it changes; the others have no line numbers.
MAX_DIFFS = 50
T = TypeVar("T")
# Until a disk counts as hanging: nothing is read from it again.
LOOKUP_SECONDS = 1.0

# Gets the id of an entry, what was found of its diffs, and what it deletes; see `ToolCall.deletes`.
Found = Callable[[int, Mapping[Diff, Excerpt | None], tuple[str, bool | None] | None], None]


class DiffLocator:
    """Reads files inside `folder`."""

    def __init__(self, folder: str, read: Callable[[str, str, int], str] = read_for_display) -> None:
        self._folder, self._read = folder, read
        # By entry id, the calls with diffs that are to be looked up.
        self._calls: dict[int, ToolCall] = {}
        self._reading = anyio.Lock()
        # While `run` runs: whether there is something new to do.
        self._added: anyio.Event | None = None
        self._is_hanging = False

    @property
    def is_busy(self) -> bool:
        """True while `run` is looking something up."""
        return self._added is not None and bool(self._calls)

    def add(self, call: ToolCall) -> None:
        """Note a call that is new or has changed."""
        if _unknown(call) or _unseen(call):
            self._calls[call.id] = call
            if self._added is not None:
                self._added.set()

    async def run(self, found: Found) -> None:
        """Look up, until cancelled, what is added."""
        try:
            while True:
                self._added = anyio.Event()
                await self.settle(found)
                await self._added.wait()
        finally:
            self._added = None

    async def settle(self, found: Found) -> None:
        """Look up what was added. Takes little more than SECONDS, once: until it is known that the disk hangs."""
        async with self._reading:
            while self._calls:
                call = next(iter(self._calls.values()))
                excerpts = {diff: await self._find(call, diff) for diff in _unknown(call)}
                deletes = await self._deleted(os.path.join(self._folder, path)) if (path := _unseen(call)) else None
                del self._calls[call.id]  # if it has changed meanwhile, `found` leads to `add`
                found(call.id, excerpts, deletes)

    async def _find(self, call: ToolCall, diff: Diff) -> Excerpt | None:
        """Find a diff; None if the file cannot be read, or not soon."""
        path = os.path.join(self._folder, inputs.folder(call.raw_input) or "", diff.path)
        text = await self._text(path) if diff.old_text else None
        return None if text is None else find_excerpt(diff, text, is_done=call.status == "completed")

    async def _deleted(self, path: str) -> tuple[str, bool | None]:
        text = await self._text(path) or ""
        return text[:MAX_DELETED_CHARS], await self._soon(partial(is_tracked, self._folder, path)) if text else None

    async def _text(self, path: str) -> str | None:
        return await self._soon(partial(self._read, self._folder, path, MAX_LOCATED_BYTES))

    async def _soon(self, work: Callable[[], T]) -> T | None:
        """Return a result; None if it fails, or takes too long."""
        if self._is_hanging:
            return None
        with suppress(HostError), anyio.move_on_after(LOOKUP_SECONDS) as limit:
            return await to_thread.run_sync(work, abandon_on_cancel=True)
        self._is_hanging = limit.cancelled_caught
        return None


def _unknown(call: ToolCall) -> list[Diff]:
    """The diffs of `call` that are to be looked up."""
    new = [part for part in call.content if isinstance(part, Diff) and part not in call.excerpts]
    return new[: max(MAX_DIFFS - len(call.excerpts), 0)]


def _unseen(call: ToolCall) -> str:
    """The path of the one file that `call` deletes, unless somebody has looked at it; empty for all else."""
    paths = inputs.paths(call) if call.kind == "delete" and call.deletes is None else ()
    return paths[0] if len(paths) == 1 else ""
