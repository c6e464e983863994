"""Where in its file each diff belongs: looked up once, when it comes, so that it looks the same before and after."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Thread
from typing import TypeVar

from msgspec.structs import replace

from ..acp.messages import Diff
from ..conversation.excerpt import Excerpt, find_excerpt
from ..conversation.model import ToolCall
from ..errors import HostError
from ..host import is_tracked, read_for_display
from ..permissions import inputs

MAX_BYTES = 2 * 1024 * 1024
MAX_DELETED_CHARS = 20_000
# Of one call, however often it changes; the others have no line numbers.
MAX_DIFFS = 50
T = TypeVar("T")
# Until a disk counts as hanging: nothing is read from it again.
SECONDS = 1.0


class DiffLocator:
    """Reads files inside `folder`, on the event loop: updates are taken in one by one, and the file may change soon."""

    def __init__(self, folder: str, read: Callable[[str, str, int], str] = read_for_display) -> None:
        self._folder, self._read = folder, read
        self._is_hanging = False

    def located(self, call: ToolCall) -> ToolCall:
        """`call` with the place of each diff and what it deletes; itself if there is nothing new."""
        if call.kind == "delete" and call.deletes is None and len(paths := inputs.paths(call)) == 1:
            call = replace(call, deletes=self._deleted(os.path.join(self._folder, paths[0])))
        diffs = [part for part in call.content if isinstance(part, Diff) and part not in call.excerpts]
        found = {diff: self._find(call, diff) for diff in diffs[: max(MAX_DIFFS - len(call.excerpts), 0)]}
        return replace(call, excerpts={**call.excerpts, **found}) if found else call

    def _find(self, call: ToolCall, diff: Diff) -> Excerpt | None:
        path = os.path.join(self._folder, inputs.folder(call.raw_input) or "", diff.path)
        text = self._text(path) if diff.old_text else None
        return None if text is None else find_excerpt(diff, text, is_done=call.status == "completed")

    def _text(self, path: str) -> str | None:
        return self._soon(lambda: self._readable(path))

    def _deleted(self, path: str) -> tuple[str, bool | None]:
        text = self._text(path) or ""
        return text[:MAX_DELETED_CHARS], self._soon(lambda: is_tracked(self._folder, path)) if text else None

    def _soon(self, work: Callable[[], T]) -> T | None:
        """None if it takes too long."""
        done: list[T] = []
        if not self._is_hanging:
            thread = Thread(target=lambda: done.append(work()), daemon=True)
            thread.start()
            thread.join(SECONDS)
            self._is_hanging = not done
        return done[0] if done else None

    def _readable(self, path: str) -> str | None:
        """None if it cannot be read."""
        try:
            return self._read(self._folder, path, MAX_BYTES)
        except HostError:
            return None
