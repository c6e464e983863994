"""The demo agent's side of one connection: its methods, and the prompts that run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import TaskGroup

from ..acp.connection import Connection
from ..acp.jsonrpc import INVALID_PARAMS, RequestFailed, method_not_found
from ..acp.transport import Transport
from ..errors import AgentExited
from . import protocol
from .dialects import dialect
from .directives import perform
from .journal import title
from .options import Menu
from .protocol import Json
from .scenes import play
from .script import ScriptError, find_script
from .session import Session
from .sessions import Sessions
from .signin import SignIn
from .stage import Rejected, Stage, TurnEnded
from .switches import Switches, trips

AFTERWARDS = 0.05
"""Seconds after a prompt's answer until what comes after it is sent."""

Answer = Coroutine[Any, Any, Any]
Method = Callable[[Json], Answer]


async def serve(transport: Transport, switches: Switches | None = None) -> None:
    """Be the agent of one client until it closes the connection."""
    async with anyio.create_task_group() as tasks:
        agent = Agent(transport, tasks, switches or {})
        try:
            async with agent.connection as connection:
                await connection.closed.wait()
        finally:
            agent.sessions.end()
        tasks.cancel_scope.cancel()


class Agent:
    """What the `switches` mean is said in `switches.py`."""

    def __init__(self, transport: Transport, tasks: TaskGroup, switches: Switches) -> None:
        self.connection = Connection(transport, on_notification=self.hear, on_request=self.accept)
        self.sessions = Sessions(switches, self._tell, self._cancel)
        self._transport, self._tasks, self._switches = transport, tasks, switches
        self._sign_in, self._dialect = SignIn(switches), dialect(switches)
        self._client: Json = {}
        self._running: dict[str, anyio.CancelScope] = {}

    def hear(self, method: str, params: Any) -> None:
        """A notification of the client's."""
        if method == "session/cancel" and isinstance(params, dict):
            self._cancel(str(params.get("sessionId")))

    def accept(self, method: str, params: Any) -> Answer:
        """A request of the client's. Raises RequestFailed."""
        if "never-answers" in self._switches:
            return self._never()
        serve = self._methods().get(method)
        if serve is None or not self._has(method):
            raise method_not_found(method)
        if not isinstance(params, dict):
            raise _invalid("params must be an object")
        return serve(params)

    def _methods(self) -> Mapping[str, Method]:
        sessions = self.sessions
        return {
            "initialize": self._initialize,
            "authenticate": self._sign_in.authenticate,
            "logout": self._sign_in.logout,
            "session/new": self._session(sessions.new),
            "session/load": self._session(sessions.load),
            "session/resume": self._session(sessions.resume),
            "session/list": sessions.list,
            "session/close": sessions.close,
            "session/delete": sessions.delete,
            "session/prompt": self._prompt,
            "session/set_mode": sessions.set_mode,
            "session/set_model": sessions.set_model,
            "session/set_config_option": sessions.set_option,
        }

    def _has(self, method: str) -> bool:
        """A method that is not advertised is not there either."""
        chooses = {"set_mode": "modes", "set_model": "models", "set_config_option": "configOptions"}
        name = method.rpartition("/")[2]
        return f"no-{name}" not in self._switches and (name not in chooses or self.sessions.menu.offers(chooses[name]))

    def _session(self, method: Method) -> Method:
        """`method`, which begins a session, and so needs a sign-in."""

        async def gated(params: Json) -> Any:
            self._sign_in.require()
            return self._dialect.session(await method(params))

        return gated

    async def _never(self) -> Json:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async def _initialize(self, params: Json) -> Json:
        if trips(self._switches, "hangs-initialize"):
            await anyio.sleep_forever()
        self._client = params.get("clientCapabilities") or {}
        self.sessions.menu = Menu(self._switches, self._client)
        version = 2 if "protocol-2" in self._switches else 1
        answer = protocol.initialized(version, self._switches, self._sign_in.offered(self._client))
        return self._dialect.initialized(answer)

    # -- prompts --------------------------------------------------------------------------------------------------

    def _prompt(self, params: Json) -> Answer:
        """A plain function, so that a cancel that follows at once finds the prompt. A second prompt ends the first."""
        session, blocks = self.sessions.find(params, INVALID_PARAMS), params.get("prompt")
        if not isinstance(blocks, list):
            raise _invalid("prompt must be a list of content blocks")
        if unwanted := protocol.unwanted(blocks, self._switches):
            raise _invalid(f"demo agent: I did not say that I take {', '.join(unwanted)}")
        self._cancel(session.id)
        session.hear(blocks)
        scope = self._running[session.id] = anyio.CancelScope()
        stage = Stage(
            self.connection, self._transport, session, blocks, self.sessions.menu, self._client, self._dialect
        )
        return self._turn(stage, scope)

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
        return self._dialect.ended({"stopReason": stop_reason}, stage.session.id, "".join(stage.said))

    async def _afterwards(self, stage: Stage) -> None:
        await anyio.sleep(AFTERWARDS)
        for update in stage.late:
            await stage.send_quietly(update)
        if len(stage.session.prompts) == 1:
            await stage.send_quietly({"sessionUpdate": "session_info_update", "title": title(stage.session.prompts)})

    def _cancel(self, session_id: str) -> None:
        if session_id in self._running:
            self._running.pop(session_id).cancel()

    async def _tell(self, session: Session, update: Json) -> None:
        if (spoken := self._dialect.update(update)) is not None:
            with suppress(AgentExited):
                await self.connection.notify("session/update", {"sessionId": session.id, "update": spoken})


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
