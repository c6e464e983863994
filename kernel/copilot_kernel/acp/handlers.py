"""Dispatch the agent's notifications and requests by method; unknown ones are reported or refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct
from msgspec.json import Decoder

from . import dialects
from .compose import compose_answer
from .jsonrpc import Line, RpcNotification, method_not_found
from .messages import Chunk, Json, PermissionOption, PermissionRequest, Speaker, TextBlock, Update
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


# -- the line that agents send most ---------------------------------------------------------------------------------

# A chunk of text goes straight from bytes to values. Any other line, and one with any other member, is left to the
# tolerant parser, which reads this one just the same. Without `gc`, since JSON has no cycles.

_SPEAKERS: dict[str, Speaker] = {
    "agent_message_chunk": "agent",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user",
}


class _Text(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    text: str


class _Update(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    sessionUpdate: Literal["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]
    content: _Text
    messageId: str = ""


class AddressedChunk(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The params of such a line."""

    sessionId: str
    update: _Update

    def chunk(self) -> Chunk:
        """The update that it is."""
        update = self.update
        return Chunk(_SPEAKERS[update.sessionUpdate], TextBlock(update.content.text), update.messageId or None)


class _Line(RpcNotification, frozen=True, forbid_unknown_fields=True, gc=False):
    method: Literal["session/update"]
    params: AddressedChunk
    jsonrpc: str = ""


_decode = Decoder(_Line).decode


def read_chunk(line: Line) -> RpcNotification | None:
    """The notification, whose params are an `AddressedChunk`; None for any other line."""
    if line.find(b"_chunk", 0, 200) < 0:
        return None
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        return None
