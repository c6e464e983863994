"""`fs/read_text_file` and `fs/write_text_file`: reading inside the agent's folder is its business, writing is asked."""

from __future__ import annotations

import os

from ..acp.messages import Diff, Json, Location
from ..conversation.model import ToolCall
from ..errors import HostError, HostMissing
from ..host import Files, Place
from ..permissions import inputs
from .operations import ClientOperations
from .params import integer, text


class FsService:
    """The files of one agent."""

    def __init__(self, files: Files, operations: ClientOperations) -> None:
        self._files, self._deeds = files, operations

    async def read(self, params: Json) -> Json:
        """What may hold secrets is asked about."""
        line, limit = integer(params, "line"), integer(params, "limit")
        place = await self._files.locate(text(params, "path"))
        if place.sensitive:
            call = {"title": f"Read {_name(place)}, which {place.sensitive}", "kind": "read", **_where(place)}
            id = await self._deeds.permit(call, lambda asked: _reads(asked, place), by_rule=False)
            self._deeds.tell(id, status="completed")
        return {"content": await self._files.read(place, line, limit)}

    async def write(self, params: Json) -> Json:
        """Asked about with all that changes, unless the agent asked about just that."""
        content = text(params, "content")
        place = await self._files.locate(text(params, "path"), to_write=True)
        before = await self._before(place)
        title = f"Write {_name(place)}" + (f", which {place.sensitive}" if place.sensitive else "")
        call = {"title": title, "kind": "edit", "content": (Diff(place.path, before, content),), **_where(place)}
        id = await self._deeds.permit(
            call, lambda asked: _writes(asked, place, before, content), by_rule=not place.sensitive
        )
        await self._write(id, place, content)
        self._deeds.did(lambda call: _writes(call, place, before, content) or _shows(call, place, content))
        return {}

    async def _write(self, id: str, place: Place, content: str) -> None:
        try:
            await self._files.write(place, content)
        except HostError:
            self._deeds.tell(id, status="failed")
            raise
        self._deeds.tell(id, status="completed")

    async def _before(self, place: Place) -> str | None:
        """What is there now; None: nothing."""
        try:
            return await self._files.read(place)
        except HostMissing:
            return None


def _writes(asked: ToolCall, place: Place, before: str | None, content: str) -> bool:
    """It showed this change, as the whole file or as a part of it, and no other."""
    diffs = [part for part in asked.content if isinstance(part, Diff)]
    if asked.kind != "edit" or len(diffs) != 1 or os.path.realpath(diffs[0].path) != place.path:
        return False
    old, new = diffs[0].old_text, diffs[0].new_text
    if (old or None) == (before or None):
        return new == content
    if not old or not before:
        return False
    return before.count(old) == 1 and before.replace(old, new) == content


def _shows(call: ToolCall, place: Place, content: str) -> bool:
    """What became of the file: all that it holds now, or no more than its path."""
    diffs = [part for part in call.content if isinstance(part, Diff)]
    if call.kind != "edit" or any(diff.new_text != content for diff in diffs):
        return False
    paths = inputs.read(call).paths
    return bool(paths) and all(os.path.realpath(path) == place.path for path in paths)


def _reads(asked: ToolCall, place: Place) -> bool:
    return asked.kind == "read" and [os.path.realpath(each.path) for each in asked.locations] == [place.path]


def _where(place: Place) -> dict[str, object]:
    return {"locations": (Location(place.path),), "raw_input": {"path": place.path}}


def _name(place: Place) -> str:
    return "/".join(place.parts)
