"""Forms and links that the agent asks the user to fill in or open (spec: elicitation), during a turn; else declined."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import anyio

from ..acp.elicitation import (
    Elicitation,
    ElicitationAnswer,
    compose_elicitation,
    parse_elicitation,
    parse_elicitation_complete,
)
from ..acp.jsonrpc import INVALID_PARAMS, RequestFailed
from ..acp.messages import Json
from .state import ConversationState
from .turn import NO_TURN

FORM_CANCELLED = ElicitationAnswer("cancel", reason="the turn was stopped")
LINK_DONE = "What the agent asked you to visit is done"


class Elicitations:
    """`open` counts open requests."""

    def __init__(self, state: ConversationState) -> None:
        self.open = 0
        self._state = state
        # By id, open requests of mode url, and those that the user agreed to.
        self._waiting: dict[str, anyio.CancelScope] = {}
        self._visited: set[str] = set()

    def serve(self, params: Json) -> Coroutine[Any, Any, Json]:
        """`elicitation/create`. Raises RequestFailed for what cannot be put to the user."""
        request = parse_elicitation(params)
        if request.problem:
            raise RequestFailed(INVALID_PARAMS, request.problem)
        return self._serve(request)

    def complete(self, params: Any) -> None:
        """`elicitation/complete`: a request that is still open is closed; one that was agreed to is done."""
        request_id = parse_elicitation_complete(params)
        if scope := self._waiting.get(request_id):
            scope.cancel()
        elif request_id in self._visited:
            self._visited.discard(request_id)
            self._state.notify("info", LINK_DONE)

    async def _serve(self, request: Elicitation) -> Json:
        answer = FORM_CANCELLED
        self.open += 1
        try:
            with anyio.CancelScope() as scope:
                if request.id:
                    self._waiting[request.id] = scope
                answer = await self._ask(request)
        finally:
            self.open -= 1
            self._waiting.pop(request.id, None)
        if request.mode == "url" and answer.action == "accept":
            self._visited.add(request.id)
        return compose_elicitation(answer)

    async def _ask(self, request: Elicitation) -> ElicitationAnswer:
        turn = self._state.running
        if turn is None:
            return ElicitationAnswer("decline", reason=NO_TURN)
        with turn.stop.scope():
            return await turn.view.elicit(request)
        return FORM_CANCELLED
