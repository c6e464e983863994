"""What a loaded session shows again, as Copilot does: whole messages, tool calls as they began and ended; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .protocol import Json

SHOWN = frozenset({"agent_message_chunk", "tool_call", "tool_call_update"})
"""What of a past turn is replayed; neither thoughts (unless asked for) nor the plan, nor how much was used."""


def replay(records: Iterable[Json], *, thoughts: bool = False) -> list[Json]:
    """The updates that show a past conversation, from its journal."""
    player = _Player(SHOWN | {"agent_thought_chunk"} if thoughts else SHOWN)
    for record in records:
        player.prompt(record.get("prompt", ()))
        player.update(record.get("update"))
    return [update for update in player.updates if len(update) > 2 or "content" in update]


class _Player:
    def __init__(self, shown: frozenset[str]) -> None:
        self.updates: list[Json] = []
        self._shown = shown
        self._ends: dict[str, Json] = {}

    def prompt(self, blocks: Sequence[Any]) -> None:
        for block in blocks:
            if isinstance(block, dict) and block.get("type") not in ("image", "audio"):
                self._chunk({"sessionUpdate": "user_message_chunk", "content": block}, whole=True)

    def update(self, update: Any) -> None:
        match update:
            case {"sessionUpdate": str(kind)} if kind not in self._shown:
                pass
            case {"sessionUpdate": "tool_call", "toolCallId": str(id)}:
                self.updates += [update, self._end(id)]
            case {"sessionUpdate": "tool_call_update", "toolCallId": str(id)} if id in self._ends:
                self._ends[id] |= update
            case {"sessionUpdate": str(), "content": dict()}:
                self._chunk(update)

    def _end(self, id: str) -> Json:
        self._ends[id] = {"sessionUpdate": "tool_call_update", "toolCallId": id}
        return self._ends[id]

    def _chunk(self, update: Json, whole: bool = False) -> None:
        """Texts of one speaker become one; the blocks of a prompt stay apart."""
        last = self.updates[-1] if self.updates else {}
        match last, update:
            case (
                {"sessionUpdate": before, "content": {"type": "text", "text": str(text)}},
                {"sessionUpdate": now, "content": {"type": "text", "text": str(more)}},
            ) if before == now and not whole:
                self.updates[-1] = {**last, "content": {"type": "text", "text": text + more}}
            case _:
                self.updates.append(update)
