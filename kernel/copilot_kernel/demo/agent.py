"""The demo agent's side of one connection: its methods, its sessions, and the prompts that run."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup

from ..acp.connection import Connection
from ..acp.jsonrpc import AUTH_REQUIRED, INVALID_PARAMS, NOT_FOUND, RequestFailed, method_not_found
from ..acp.transport import Transport
from ..errors import AgentExited
from . import protocol
from .directives import perform
from .protocol import Json
from .scenes import play
from .script import ScriptError, find_script, texts
from .stage import Rejected, Session, Stage, TurnEnded

AFTERWARDS = 0.05
"""Seconds after a prompt's answer until what comes after it is sent."""

Answer = Coroutine[Any, Any, Json]


async def serve(transport: Transport, faults: Collection[str] = ()) -> None:
    """Be the agent of one client until it closes the connection."""
    async with anyio.create_task_group() as tasks:
        agent = Agent(transport, tasks, faults)
        async with agent.connection as connection:
            await connection.closed.wait()
        tasks.cancel_scope.cancel()


class Agent:
    """`faults` are those of `__main__.py`; the agent itself knows `never-answers`, `protocol-2` and `signed-out`."""

    def __init__(self, transport: Transport, tasks: TaskGroup, faults: Collection[str]) -> None:
        self.connection = Connection(transport, on_notification=self.hear, on_request=self.accept)
        self._transport, self._tasks, self._faults = transport, tasks, faults
        self._sessions: dict[str, Session] = {}
        self._running: dict[str, anyio.CancelScope] = {}

    def hear(self, method: str, params: Any) -> None:
        """A notification of the client's."""
        if method == "session/cancel" and isinstance(params, dict):
            self._cancel(str(params.get("sessionId")))

    def accept(self, method: str, params: Any) -> Answer:
        """A request of the client's. Raises RequestFailed."""
        if "never-answers" in self._faults:
            return self._never()
        methods: Mapping[str, Callable[[Json], Answer]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }
        if method not in methods:
            raise method_not_found(method)
        if not isinstance(params, dict):
            raise _invalid("params must be an object")
        return methods[method](params)

    async def _never(self) -> Json:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async def _initialize(self, params: Json) -> Json:
        return protocol.initialized(2 if "protocol-2" in self._faults else 1)

    async def _authenticate(self, params: Json) -> Json:
        self._require_sign_in()
        return {}

    async def _new(self, params: Json) -> Json:
        self._require_sign_in()
        session = Session(str(uuid4()), _folder(params))
        self._sessions[session.id] = session
        await self._update(session, protocol.commands())
        modes = protocol.modes(session.chosen["mode"])
        return {"sessionId": session.id, "modes": modes, "configOptions": protocol.config_options(session.chosen)}

    async def _set_mode(self, params: Json) -> Json:
        session = self._find(params, NOT_FOUND)
        await self._choose(session, "mode", params.get("modeId"))
        return {}

    async def _set_option(self, params: Json) -> Json:
        session = self._find(params, NOT_FOUND)
        await self._choose(session, params.get("configId"), params.get("value"))
        return {"configOptions": protocol.config_options(session.chosen)}

    async def _choose(self, session: Session, id: Any, value: Any) -> None:
        if not isinstance(id, str) or id not in protocol.CHOICES:
            raise _invalid(f"demo agent: there is no option {id!r}")
        if value not in protocol.CHOICES[id]:
            raise _invalid(f"demo agent: {id} cannot be {value!r}")
        session.chosen[id] = value
        await self._update(session, protocol.options_update(session.chosen))
        if id == "mode":
            await self._update(session, protocol.mode_update(value))

    # -- prompts --------------------------------------------------------------------------------------------------

    def _prompt(self, params: Json) -> Answer:
        """A plain function, so that a cancel that follows at once finds the prompt. A second prompt ends the first."""
        session, blocks = self._find(params, INVALID_PARAMS), params.get("prompt")
        if not isinstance(blocks, list):
            raise _invalid("prompt must be a list of content blocks")
        self._cancel(session.id)
        session.prompts.append("\n".join(texts(blocks)))
        scope = self._running[session.id] = anyio.CancelScope()
        return self._turn(Stage(self.connection, self._transport, session, blocks), scope)

    async def _turn(self, stage: Stage, scope: anyio.CancelScope) -> Json:
        stop_reason = "cancelled"
        try:
            with scope, suppress(AgentExited):
                stop_reason = await _act(stage)
                await stage.send(protocol.usage(1000 * len(stage.session.prompts)))
        finally:
            if self._running.get(stage.session.id) is scope:
                del self._running[stage.session.id]
        self._tasks.start_soon(self._afterwards, stage)
        return {"stopReason": stop_reason}

    async def _afterwards(self, stage: Stage) -> None:
        await anyio.sleep(AFTERWARDS)
        for update in stage.late:
            await self._update(stage.session, update)
        if len(stage.session.prompts) == 1:
            first_line = stage.session.prompts[0].strip().partition("\n")[0]
            title = f"Demo: {first_line[:50]}"
            await self._update(stage.session, {"sessionUpdate": "session_info_update", "title": title})

    def _cancel(self, session_id: str) -> None:
        if session_id in self._running:
            self._running.pop(session_id).cancel()

    # -- what all methods need ------------------------------------------------------------------------------------

    async def _update(self, session: Session, update: Json) -> None:
        with suppress(AgentExited):
            await self.connection.notify("session/update", {"sessionId": session.id, "update": update})

    def _require_sign_in(self) -> None:
        if "signed-out" in self._faults:
            raise RequestFailed(AUTH_REQUIRED, "Authentication required")

    def _find(self, params: Json, code: int) -> Session:
        try:
            return self._sessions[params["sessionId"]]
        except (KeyError, TypeError):
            raise RequestFailed(code, "demo agent: there is no such session") from None


async def _act(stage: Stage) -> str:
    """Play the prompt's script or scene. Returns the stop reason; raises RequestFailed."""
    script = find_script(stage.blocks)
    try:
        await (play(stage) if script is None else perform(stage, script))
    except Rejected as rejection:
        await stage.say("That was rejected, so the demo agent stops here.")
        return rejection.stop_reason
    except TurnEnded as end:
        return end.stop_reason
    except ScriptError as error:
        raise _invalid(str(error)) from None
    return "end_turn"


def _invalid(message: str) -> RequestFailed:
    return RequestFailed(INVALID_PARAMS, message)


def _folder(params: Json) -> Path:
    cwd, servers = params.get("cwd"), params.get("mcpServers")
    if not isinstance(cwd, str) or not os.path.isabs(cwd):
        raise _invalid("cwd must be an absolute path")
    if not isinstance(servers, list):
        raise _invalid("mcpServers must be a list")
    return Path(cwd)
