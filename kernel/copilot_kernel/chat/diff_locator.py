"""Where in its file each diff belongs: looked up once, when it comes, so that it looks the same before and after.

Files are read in threads, since a disk may hang; updates are taken in meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress

import anyio
from anyio import to_thread

from ..acp.messages import Diff
from ..conversation.excerpt import Excerpt, find_excerpt
from ..conversation.model import ToolCall
from ..errors import HostError
from ..host import read_for_display
from ..permissions import inputs

MAX_BYTES = 2 * 1024 * 1024
# Of one call, however often it changes; the others have no line numbers.
MAX_DIFFS = 50
# Until a disk counts as hanging: nothing is read from it again.
SECONDS = 1.0

# Gets the id of an entry, and what was found of its diffs.
Found = Callable[[int, Mapping[Diff, Excerpt | None]], None]


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
        """Whether `run` is looking something up."""
        return self._added is not None and bool(self._calls)

    def add(self, call: ToolCall) -> None:
        """Note the diffs of a call that is new or has changed."""
        if _unknown(call):
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
                del self._calls[call.id]  # if it has changed meanwhile, `found` leads to `add`
                found(call.id, excerpts)

    async def _find(self, call: ToolCall, diff: Diff) -> Excerpt | None:
        """None if the file cannot be read, or not soon."""
        path = os.path.join(self._folder, inputs.folder(call.raw_input) or "", diff.path)
        if self._is_hanging or not diff.old_text:
            return None
        with suppress(HostError), anyio.move_on_after(SECONDS) as limit:
            text = await to_thread.run_sync(self._read, self._folder, path, MAX_BYTES, abandon_on_cancel=True)
            return find_excerpt(diff, text, is_done=call.status == "completed")
        self._is_hanging = limit.cancelled_caught
        return None


def _unknown(call: ToolCall) -> list[Diff]:
    """The diffs of `call` that are to be looked up."""
    new = [part for part in call.content if isinstance(part, Diff) and part not in call.excerpts]
    return new[: max(MAX_DIFFS - len(call.excerpts), 0)]
