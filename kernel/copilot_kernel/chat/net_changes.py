"""What a turn has changed, with the place of each change in its file as it is now."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import anyio
from anyio import to_thread

from ..conversation.model import ToolCall
from ..errors import HostError
from ..host import read_for_display
from ..rendering.changes import TurnChanges, changes_of
from .diff_locator import MAX_BYTES, MAX_DIFFS

# Until it is said without the places.
SECONDS = 1.0


async def net_changes(calls: Sequence[ToolCall], folder: str) -> TurnChanges:
    """What `calls`, all of a turn that has just ended, changed in `folder`. Reads the files in a thread."""
    with anyio.move_on_after(SECONDS):
        return await to_thread.run_sync(changes_of, calls, folder, _reader(folder), abandon_on_cancel=True)
    return changes_of(calls, folder)


def _reader(folder: str) -> Callable[[str], str | None]:
    left = MAX_DIFFS

    def text_of(path: str) -> str | None:
        """Of so many files, if it may be shown."""
        nonlocal left
        left -= 1
        try:
            return read_for_display(folder, os.path.join(folder, path), MAX_BYTES) if left >= 0 else None
        except HostError:
            return None

    return text_of
