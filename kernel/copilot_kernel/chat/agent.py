"""The agent's life: started when it is first needed, started again after it died, ended with the chat."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Self

import anyio
import anyio.abc

from ..acp.locate import Launch, locate
from ..acp.messages import Option, PermissionRequest, Update
from ..acp.session import Session, open_session
from ..config import Settings
from ..errors import AgentError

END_LIMIT = 5.0
"""Seconds that ending an agent may take; the wire kills its process group well before."""

OnOpen = Callable[[Session, bool], None]
OnUpdate = Callable[[Update], None]
OnPermission = Callable[[PermissionRequest], Coroutine[Any, Any, Option | None]]


class _Life:
    """One start of the agent, until its end."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.early: list[tuple[str, Update]] = []
        self.scope = anyio.CancelScope()
        self.over = anyio.Event()


class Agent:
    """At most one agent and one session at a time. `on_open` is told whether it is not the first one."""

    def __init__(self, settings: Settings, on_open: OnOpen, on_update: OnUpdate, on_permission: OnPermission) -> None:
        self.settings = settings
        self.cwd = settings.folder
        self._tell = on_open, on_update, on_permission
        self._home = anyio.create_task_group()
        self._life: _Life | None = None
        self._opened = 0

    async def __aenter__(self) -> Self:
        await self._home.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        self._home.cancel_scope.cancel()
        return await self._home.__aexit__(*error)

    @property
    def session(self) -> Session | None:
        """The open session, if the agent lives."""
        session = self._life.session if self._life else None
        return None if session is None or session.closed.is_set() else session

    async def ready(self) -> Session:
        """The session, starting the agent if need be. Raises what `locate` and `open_session` raise."""
        if self.session is None:
            await self.end()
            launch = locate(self.settings.agent, os.environ)
            self._life = _Life()
            await self._home.start(self._live, self._life, launch)
        session = self._life.session if self._life else None
        assert session is not None
        return session

    async def end(self) -> None:
        """End the agent, and wait (bounded) until its processes are gone."""
        if self._life is not None and self._life.session is not None:
            self._life.scope.cancel()
            with anyio.move_on_after(END_LIMIT, shield=True):
                await self._life.over.wait()

    async def _live(self, life: _Life, launch: Launch, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        on_update, on_permission = partial(self._update, life), self._tell[2]
        timeout = self.settings.start_timeout
        try:
            with life.scope:
                async with open_session(
                    launch, self.cwd, start_timeout=timeout, on_update=on_update, on_permission=on_permission
                ) as session:
                    self._open(life, session)
                    task_status.started()
                    await session.closed.wait()
        except AgentError:
            if life.session is None:
                raise
        finally:
            life.over.set()

    def _open(self, life: _Life, session: Session) -> None:
        life.session = session
        self._opened += 1
        self._tell[0](session, self._opened > 1)
        for session_id, update in life.early:
            self._update(life, session_id, update)

    def _update(self, life: _Life, session_id: str, update: Update) -> None:
        """Agents speak of a session before they have told its id; over TCP they may speak of somebody else's."""
        if life.session is None:
            life.early.append((session_id, update))
        elif session_id in ("", life.session.state.id):
            self._tell[1](update)
