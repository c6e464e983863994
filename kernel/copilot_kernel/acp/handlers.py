"""Dispatch the agent's notifications and requests by method; unknown ones are reported or refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import dialects
from .chunk_line import AddressedChunk
from .compose import compose_answer
from .jsonrpc import method_not_found
from .messages import Json, PermissionOption, PermissionRequest, Update
from .parse import parse_permission, parse_update

OnUpdate = Callable[[str, Update], None]
OnPermission = Callable[[PermissionRequest], Coroutine[Any, Any, PermissionOption | None]]
Service = Callable[[Json], Coroutine[Any, Any, Any]]

_OFFERS = {"fs": "fs/read_text_file", "terminal": "terminal/create", "elicitation": "elicitation/create"}
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClientHandlers:
    """Callbacks, all called in wire order.

    `on_update(session_id, update)` gets the session's updates, `services` serve requests and `listeners` take
    notifications by method. For `answer_form` see `dialects.permission_answer`.
    """

    on_update: OnUpdate
    on_permission: OnPermission
    services: Mapping[str, Service] = field(default_factory=dict)
    listeners: Mapping[str, Callable[[Any], None]] = field(default_factory=dict)
    answer_form: str = "nested"
    diagnose: Callable[[str], None] = _logger.info

    @property
    def offers(self) -> frozenset[str]:
        """The optional capabilities that can be advertised, because they are served."""
        return frozenset(name for name, method in _OFFERS.items() if method in self.services)

    def notify(self, method: str, params: Any) -> None:
        """Unknown notifications are ignored (spec: extensibility); the wire log has them all the same."""
        if method == "session/update":
            self.on_update(*_addressed(params))
        elif method in self.listeners:
            self.listeners[method](params)
        elif not method.startswith(("_", "$/")):
            self.diagnose(f"unknown notification: {method}")

    def serve(self, method: str, params: Any) -> Coroutine[Any, Any, Any]:
        """Raises RequestFailed for an unknown method."""
        if method == "session/request_permission":
            return self._decide(params, self.on_permission(parse_permission(params)))
        if method not in self.services:
            raise method_not_found(method)
        return self.services[method](params if isinstance(params, dict) else {})

    async def _decide(self, params: Any, decision: Coroutine[Any, Any, PermissionOption | None]) -> Json:
        return dialects.permission_answer(compose_answer(await decision), params, self.answer_form)


def _addressed(params: Any) -> tuple[str, Update]:
    """The session's id and the update, which a dialect does not wrap."""
    if isinstance(params, AddressedChunk):
        return params.sessionId, params.chunk()
    members = params if isinstance(params, dict) else {}
    session_id = members.get("sessionId")
    return session_id if isinstance(session_id, str) else "", parse_update(members.get("update", params))
