"""What we do for the agent ourselves needs the same permission as what it does alone; if it did not ask, we do.

A permission that the agent got counts for one deed of ours, in the same turn, that is just what was shown.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from ..acp.jsonrpc import INTERNAL_ERROR, RequestFailed
from ..acp.messages import ToolCallUpdate
from ..acp.options import short_name
from ..conversation.model import Entry, ToolCall
from ..permissions.policy import PLAN
from .ids import PREFIX
from .permission import Permissions
from .record import ConversationState


class ClientOperations:
    """Of one agent."""

    def __init__(self, record: ConversationState, permissions: Permissions) -> None:
        self._record, self._permissions = record, permissions
        self._numbers = count(1)
        self._spent: set[int] = set()

    async def permit(
        self, call: dict[str, Any], is_shown_by: Callable[[ToolCall], bool], *, by_rule: bool = True
    ) -> str:
        """The id of the tool call in which the deed is to be shown: the agent's own, or a new one made of `call`.

        Raises RequestFailed when it is rejected, in a mode `plan`, the agent's or ours, and outside of turns, after a
        cancel too.
        """
        stop = self._permissions.stop
        if self._plans():
            raise RequestFailed(INTERNAL_ERROR, "Refused: the mode is plan, in which nothing is done")
        if stop is None or stop.pressed:
            raise RequestFailed(INTERNAL_ERROR, "Refused: no turn is running")
        if asked := self._asked(is_shown_by):
            self._spent.add(asked.id)
            return asked.call_id
        id = f"{PREFIX}{next(self._numbers)}"
        if not await self._permissions.ask_for_us(ToolCallUpdate(id, begins=True, **call), by_rule) or stop.pressed:
            raise RequestFailed(INTERNAL_ERROR, "Refused: the user did not allow it")
        return id

    def did(self, is_shown_by: Callable[[ToolCall], bool]) -> None:
        """A call of the agent's that shows just this needs no question of its own: the deed had one."""
        self._permissions.operations.append((self._record.conversation.turn, is_shown_by))

    def tell(self, id: str, **more: Any) -> None:
        """How a deed goes on. The agent tells the status of its own calls."""
        if not id.startswith(PREFIX):
            more.pop("status", None)
        self._record.update(ToolCallUpdate(id, **more))

    def _plans(self) -> bool:
        """By the agent's mode or by ours."""
        if self._permissions.judge.book.mode == PLAN:
            return True
        state = self._record.conversation.state
        return state is not None and short_name(state.mode or "") == "plan"

    def _asked(self, is_shown_by: Callable[[ToolCall], bool]) -> ToolCall | None:
        """What the agent makes of its call after it was allowed, does not count."""
        now = self._record.conversation
        for number, call in reversed(self._permissions.allowed.items()):
            if call.turn == now.turn and self._is_free(now.entries[number]) and is_shown_by(call):
                return call
        return None

    def _is_free(self, entry: Entry) -> bool:
        """Not used up, not taken back, and not one of ours."""
        if not isinstance(entry, ToolCall) or entry.status in ("rejected", "cancelled", "waiting"):
            return False
        return entry.id not in self._spent and not entry.call_id.startswith(PREFIX)
