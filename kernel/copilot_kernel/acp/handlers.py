"""What the agent may say to us and ask of us, by method; everything else is refused or reported.

What it says goes to the callbacks in the order of the wire; what it means is left to the chat.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from .compose import compose_answer
from .jsonrpc import method_not_found
from .messages import Json, Option, PermissionRequest, Update
from .parse import parse_permission, parse_update

OnUpdate = Callable[[str, Update], None]
OnPermission = Callable[[PermissionRequest], Coroutine[Any, Any, Option | None]]
Service = Callable[[Json], Coroutine[Any, Any, Any]]

_OFFERS = {"fs": "fs/read_text_file", "terminal": "terminal/create", "elicitation": "elicitation/create"}
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClientHandlers:
    """`on_update(session_id, update)`; `services` are the other methods that we serve, each called in wire order.

    `heard` are notifications that somebody listens to, and `answer_form` is the form of the answer to a permission
    request, see `compose_answer`.
    """

    on_update: OnUpdate
    on_permission: OnPermission
    services: Mapping[str, Service] = field(default_factory=dict)
    heard: Mapping[str, Callable[[Any], None]] = field(default_factory=dict)
    answer_form: str = "nested"
    diagnose: Callable[[str], None] = _logger.info

    @property
    def offers(self) -> frozenset[str]:
        """What may be advertised, because it is served."""
        return frozenset(name for name, method in _OFFERS.items() if method in self.services)

    def notice(self, method: str, params: Any) -> None:
        """Spec: an unknown notification is ignored; ours are in the log of the wire all the same."""
        if method == "session/update":
            self.on_update(*_addressed(params))
        elif method in self.heard:
            self.heard[method](params)
        elif not method.startswith(("_", "$/")):
            self.diagnose(f"a notification that this client does not know: {method}")

    def serve(self, method: str, params: Any) -> Coroutine[Any, Any, Any]:
        """Raises RequestFailed for what we do not serve."""
        if method == "session/request_permission":
            request = parse_permission(params)
            return self._decide(request, self.on_permission(request))
        if method not in self.services:
            raise method_not_found(method)
        return self.services[method](params if isinstance(params, dict) else {})

    async def _decide(self, request: PermissionRequest, decision: Coroutine[Any, Any, Option | None]) -> Json:
        return compose_answer(request, await decision, self.answer_form)


def _addressed(params: Any) -> tuple[str, Update]:
    """An update that is not wrapped is taken as it stands."""
    members = params if isinstance(params, dict) else {}
    session_id = members.get("sessionId")
    return session_id if isinstance(session_id, str) else "", parse_update(members.get("update", params))
