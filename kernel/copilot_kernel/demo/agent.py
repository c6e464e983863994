"""The demo agent's side of one connection: its methods, its sessions, and the prompts that run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup

from copilot_kernel import __version__

from ..acp.connection import RpcConnection
from ..acp.jsonrpc import INVALID_PARAMS, NOT_FOUND, RequestFailed, method_not_found
from ..acp.transport import Transport
from ..errors import AgentExited
from . import demo_session as saved
from .demo_session import MENU, DemoSession, Json, Menu
from .scenes import play
from .stage import Rejected, Stage, TurnEnded

REJECTED = "That was rejected, so the demo agent stops here."
AFTERWARDS_SECONDS = 0.05
"""Time from a prompt's answer until what comes after it is sent."""

INITIALIZED: Json = {
    "protocolVersion": 1,
    "agentInfo": {"name": "demo", "title": "demo agent", "version": __version__},
    "agentCapabilities": {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": False},
        "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
    },
    "authMethods": [],
}

COMMANDS: Json = {
    "sessionUpdate": "available_commands_update",
    "availableCommands": [
        {"name": "help", "description": "What the demo agent is, and what to ask it"},
        {
            "name": "tour",
            "description": "Show one part of the tour",
            "input": {"hint": "plan, edit, tests or trouble"},
        },
    ],
}

Answer = Coroutine[Any, Any, Any]


class DemoAgent:
    """The demo agent for one client. `menu` is what sessions offer to choose."""

    def __init__(self, client: RpcConnection, tasks: TaskGroup, menu: Menu = lambda chosen: MENU) -> None:
        self.sessions: dict[str, DemoSession] = {}
        self._client, self._tasks, self._menu = client, tasks, menu
        self._running: dict[str, anyio.CancelScope] = {}
        self._methods: dict[str, Callable[[Json], Answer]] = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }

    def on_notification(self, method: str, params: Any) -> None:
        """A notification of the client's."""
        if method == "session/cancel" and isinstance(params, dict):
            self._cancel(str(params.get("sessionId")))

    def on_request(self, method: str, params: Any) -> Answer:
        """A request of the client's. Raises RequestFailed."""
        if method not in self._methods:
            raise method_not_found(method)
        return self._methods[method](params)

    async def _initialize(self, params: Json) -> Json:
        return INITIALIZED

    # -- sessions -------------------------------------------------------------------------------------------------

    async def _new(self, params: Json) -> Json:
        session = DemoSession(str(uuid4()), Path(params["cwd"]), self._menu, servers=params["mcpServers"])
        self.sessions[session.id] = session
        await self._send(session, COMMANDS)
        return {"sessionId": session.id, **session.described()}

    async def _load(self, params: Json) -> Json:
        session = self._restore(params)
        await self._send(session, *session.replay(), session.mode_update(), COMMANDS)
        return session.described()

    async def _resume(self, params: Json) -> Json:
        session = self._restore(params)
        await self._send(session, COMMANDS)
        return session.described()

    def _restore(self, params: Json) -> DemoSession:
        records = saved.load(params.get("sessionId"))
        id = params["sessionId"] if records else self._find(params).id
        self._leave(id)
        servers = params.get("mcpServers") or []
        session = self.sessions[id] = DemoSession(id, Path(params["cwd"]), self._menu, records, servers)
        return session

    async def _list(self, params: Json) -> Json:
        """All sessions with a prompt, newest first. Others go on meanwhile."""
        found = await anyio.to_thread.run_sync(saved.list_saved)
        return {"sessions": [session for session in found if params.get("cwd") in (None, session["cwd"])]}

    async def _close(self, params: Json) -> Json:
        self._leave(self._find(params).id)
        return {}

    async def _delete(self, params: Json) -> Json:
        self._leave(str(params.get("sessionId")))
        saved.delete(params.get("sessionId"))
        return {}

    async def _set_mode(self, params: Json) -> Json:
        await self._choose(self._find(params), "mode", params.get("modeId"))
        return {}

    async def _set_option(self, params: Json) -> Json:
        session = self._find(params)
        await self._choose(session, params.get("configId"), params.get("value"))
        return {"configOptions": session.config_options()}

    async def _choose(self, session: DemoSession, id: Any, value: Any) -> None:
        try:
            updates = session.choose(id, value)
        except ValueError as error:
            raise RequestFailed(INVALID_PARAMS, str(error)) from None
        await self._send(session, *updates)

    def _find(self, params: Json, code: int = NOT_FOUND) -> DemoSession:
        """The open session that `params` names. Raises RequestFailed with `code`."""
        try:
            return self.sessions[params["sessionId"]]
        except (KeyError, TypeError):
            raise RequestFailed(code, "demo agent: there is no such session") from None

    def _leave(self, id: str) -> None:
        self._cancel(id)
        if id in self.sessions:
            self.sessions.pop(id).is_open = False

    async def _send(self, session: DemoSession, *updates: Json) -> None:
        """Updates that are no part of a turn."""
        with suppress(AgentExited):
            for update in updates:
                await self._client.notify("session/update", {"sessionId": session.id, "update": update})

    # -- prompts --------------------------------------------------------------------------------------------------

    def _prompt(self, params: Json) -> Answer:
        """A plain function, so that a cancel that follows at once finds the prompt. A second prompt ends the first."""
        session, blocks = self._find(params, INVALID_PARAMS), params["prompt"]
        self._cancel(session.id)
        session.add_prompt(blocks)
        scope = self._running[session.id] = anyio.CancelScope()
        return self._turn(Stage(self._client, session, blocks), scope)

    async def _turn(self, stage: Stage, scope: anyio.CancelScope) -> Json:
        session, stop_reason = stage.session, "cancelled"
        try:
            with scope, suppress(AgentExited):
                stop_reason = await self._play(stage)
                await stage.usage(1000 * len(session.prompts))
        finally:
            if self._running.get(session.id) is scope:
                del self._running[session.id]
        if len(session.prompts) == 1:
            stage.afterwards.append({"sessionUpdate": "session_info_update", "title": saved.title(stage.blocks)})
        self._tasks.start_soon(_send_afterwards, stage)
        return {"stopReason": stop_reason}

    async def _play(self, stage: Stage) -> str:
        """Act on the prompt. Returns the stop reason; raises RequestFailed."""
        try:
            await self.act(stage)
        except Rejected as rejection:
            await stage.say(REJECTED)
            return rejection.stop_reason
        except TurnEnded as end:
            return end.stop_reason
        return "end_turn"

    async def act(self, stage: Stage) -> None:
        """Play the scene that the prompt asks for. Raises TurnEnded, RequestFailed."""
        await play(stage)

    def _cancel(self, session_id: str) -> None:
        if session_id in self._running:
            self._running.pop(session_id).cancel()


async def serve(transport: Transport, build: Callable[[RpcConnection, TaskGroup], DemoAgent] = DemoAgent) -> None:
    """Be the agent of one client until it closes the connection. `build` makes the agent."""
    async with anyio.create_task_group() as tasks:
        connection = RpcConnection(
            transport,
            on_notification=lambda method, params: agent.on_notification(method, params),
            on_request=lambda method, params: agent.on_request(method, params),
        )
        agent = build(connection, tasks)
        async with connection:
            await connection.closed.wait()
        tasks.cancel_scope.cancel()


async def _send_afterwards(stage: Stage) -> None:
    await anyio.sleep(AFTERWARDS_SECONDS)
    with suppress(AgentExited):
        for update in stage.afterwards:
            await stage.send(update)
