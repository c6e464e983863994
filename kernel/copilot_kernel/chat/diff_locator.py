"""Place of each diff in its file: looked up once, when it comes, so that it looks the same before and after.

Files are read in threads, since a disk may hang; updates are taken in meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from ..acp.messages import Diff
from ..conversation import inputs
from ..conversation.excerpt import Excerpt, find_excerpt
from ..conversation.model import ToolCall
from ..host import is_tracked, read_for_display
from .state import CallStage, ConversationState

MAX_LOCATED_BYTES = 2 * 1024 * 1024
MAX_DELETED_CHARS = 20_000
# Of one call, however often it changes; the others have no line numbers.
MAX_DIFFS = 50


class DiffLocator(CallStage):
    """Reads files inside `folder`."""

    def __init__(self, folder: str, read: Callable[[str, str, int], str] = read_for_display) -> None:
        super().__init__()
        self._folder, self._read = folder, read

    def see(self, state: ConversationState, call: ToolCall, *, is_new: bool) -> None:
        """What a replay shows was done long ago."""
        if state.prompt_runs and (_unknown(call) or _unseen(call)):
            self.add(call)
        else:
            self.waiting.pop(call.id, None)

    async def look(self, call: ToolCall) -> Callable[[ConversationState], None]:
        """Find the places of the diffs, and what is deleted."""
        excerpts = {diff: await self._find(call, diff) for diff in _unknown(call)}
        deletes = await self._deleted(os.path.join(self._folder, path)) if (path := _unseen(call)) else None
        return lambda state: state.add_found(call.id, excerpts, deletes)

    async def _find(self, call: ToolCall, diff: Diff) -> Excerpt | None:
        """Find a diff; None if the file cannot be read, or not soon."""
        path = os.path.join(self._folder, inputs.folder(call.raw_input) or "", diff.path)
        text = await self._text(path) if diff.old_text else None
        return None if text is None else find_excerpt(diff, text, is_done=call.status == "completed")

    async def _deleted(self, path: str) -> tuple[str, bool | None]:
        text = await self._text(path) or ""
        return text[:MAX_DELETED_CHARS], await self.soon(partial(is_tracked, self._folder, path)) if text else None

    async def _text(self, path: str) -> str | None:
        return await self.soon(partial(self._read, self._folder, path, MAX_LOCATED_BYTES))


def _unknown(call: ToolCall) -> list[Diff]:
    """The diffs of `call` that are to be looked up."""
    new = [part for part in call.content if isinstance(part, Diff) and part not in call.excerpts]
    return new[: max(MAX_DIFFS - len(call.excerpts), 0)]


def _unseen(call: ToolCall) -> str:
    """The path of the one file that `call` deletes, unless somebody has looked at it; empty for all else."""
    paths = inputs.paths(call) if call.kind == "delete" and call.deletes is None else ()
    return paths[0] if len(paths) == 1 else ""
