"""Calls of our own tools beside the agent's: their ids, and one entry for both.

Ids of our calls begin with a prefix that no id of the agent's keeps. What we show and ask about stands where the
agent's own entry stood.

The agent announces the call on its connection, and makes it on another one, so either may come first. From then on its
words about the call count no more, but for the output of one that has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from msgspec import structs

from ..acp.messages import Json, ToolCallUpdate
from ..conversation import calls
from ..conversation.model import Conversation, ToolCall

OUR_PREFIX = "copilot-kernel-"
MAX_CALLS = 100
"""The latest ones, of which late updates are still known."""


@dataclass(frozen=True, slots=True)
class _OurCall:
    """`key` is the id of our entry, `call_id` the agent's; empty until it is known."""

    key: str
    turn: int
    arguments: Json
    is_shown_by: Callable[[ToolCall], bool]
    call_id: str = ""


class OurCalls:
    """The calls of our tools in one conversation, and the agent's ids for them."""

    def __init__(self) -> None:
        self._ours: dict[str, _OurCall] = {}

    def begin(
        self, now: Conversation, key: str, arguments: Json, is_shown_by: Callable[[ToolCall], bool]
    ) -> int | None:
        """Begin a call of ours; the agent's entry whose place it is to take, if there is one.

        `is_shown_by` says whether a call of the agent's is that one.
        """
        waiting = (call for call in unfinished(now) if not call.outcome.questions)
        found = next((call for call in waiting if is_shown_by(call)), None)
        self._ours[key] = _OurCall(key, now.turn, arguments, is_shown_by, found.call_id if found else "")
        for old in list(self._ours)[:-MAX_CALLS]:
            del self._ours[old]
        return found.id if found else None

    def clear(self) -> None:
        """Another session has begun."""
        self._ours.clear()

    def filter(self, update: ToolCallUpdate, before: Conversation) -> ToolCallUpdate:
        """Direct an update about a call of ours to our entry, and rename ids of the agent's that look like ours."""
        if not update.id:
            return update
        update = renamed(update)
        ours = self._known(update, before) or self._announced(update, before)
        if ours is None:
            return update
        call = before.call(ours.key)
        has_ended = call is not None and call.status in ("completed", "failed")
        return ToolCallUpdate(ours.key, raw_output=update.raw_output if has_ended else None)

    def _known(self, update: ToolCallUpdate, now: Conversation) -> _OurCall | None:
        """The call whose place we took, unless the agent now speaks of another one under the same id."""
        ours = next((each for each in reversed(self._ours.values()) if each.call_id == update.id), None)
        if ours is None:
            return None
        is_again = update.begins and ours.turn < now.turn
        if not is_again and (update.raw_input is None or calls.equal(update.raw_input, ours.arguments)):
            return ours
        del self._ours[ours.key]
        return None

    def _announced(self, update: ToolCallUpdate, now: Conversation) -> _OurCall | None:
        """The call of this turn that the agent made before it announced it."""
        unnamed = [each for each in self._ours.values() if each.turn == now.turn and not each.call_id]
        shown = now.call(update.id)
        if not unnamed or (shown is not None and shown.turn == now.turn):
            return None
        call = calls.merged(ToolCall(-1, now.turn, update.id), update)
        if found := next((each for each in unnamed if each.is_shown_by(call)), None):
            self._ours[found.key] = replace(found, call_id=update.id)
        return found


def renamed(update: ToolCallUpdate) -> ToolCallUpdate:
    """`update` of the agent's, with an id that never looks like ours."""
    return structs.replace(update, id=f"agent {update.id}") if update.id.startswith(OUR_PREFIX) else update


def unfinished(now: Conversation) -> list[ToolCall]:
    """The agent's own calls of this turn that have not ended, in order."""
    theirs = (call for call in now.entries.unfinished() if call.turn == now.turn)
    return [call for call in theirs if call.call_id and not call.call_id.startswith(OUR_PREFIX)]
