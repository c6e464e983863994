"""What the agent asks of the user besides permission (spec: elicitation): put to the turn that runs, else declined."""

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
from .record import ConversationState
from .stop import Stop

NO_CELL = ElicitationAnswer("decline", reason="no cell is running that could ask")
CANCELLED = ElicitationAnswer("cancel", reason="the turn was cancelled")
DONE = "What the agent asked you to visit is done"


class Elicitations:
    """`stop` is that of the running turn, `open` counts open requests."""

    def __init__(self, record: ConversationState) -> None:
        self.stop: Stop | None = None
        self.open = 0
        self._record = record
        self._waiting: dict[str, anyio.CancelScope] = {}
        """Of mode url, by their id."""
        self._visited: set[str] = set()

    def serve(self, params: Json) -> Coroutine[Any, Any, Json]:
        """`elicitation/create`; raises RequestFailed for what cannot be put to a person."""
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
            self._record.tell("info", DONE)

    async def _serve(self, request: Elicitation) -> Json:
        answer = CANCELLED
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
        view, stop = self._record.running, self.stop
        if view is None or stop is None:
            return NO_CELL
        with stop.scope():
            return await view.elicit(request)
        return CANCELLED
