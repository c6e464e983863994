"""All conversations behind sockets, by the ids of their sessions."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from ..errors import AgentError, AgentRefused, AuthRequired, SessionInUse, UsageError
from .history import Line
from .talk import ChatSession, Host, Limits
from .voice import Reader

MOST_KEPT = 200
"""Conversations whose last messages are kept after they were let go of."""
SWEEP = 15.0
"""Seconds between two looks for idle conversations."""

Opened = tuple[ChatSession, str]
"""A conversation, and how it goes on; see `SessionCreated.resumed`."""


class ChatSessionManager:
    """`close` ends them all."""

    def __init__(self, host: Host, limits: Limits) -> None:
        self._host, self.limits = host, limits
        self._talks: dict[str, ChatSession] = {}
        self._kept: OrderedDict[str, tuple[Line, ...]] = OrderedDict()
        self._opening: dict[str, asyncio.Task[Opened]] = {}
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._sweeper: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(set(self._talks.values()))

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._talks

    async def new(self, reader: Reader) -> ChatSession:
        """A conversation that `reader` has joined. Raises CopilotError."""
        talk, _ = await self._shared(f"new {id(reader)}", self._begin)
        talk.join(reader)
        return talk

    async def resume(self, session_id: str, reader: Reader) -> ChatSession:
        """The same for one that was begun before: it is still here, or the agent loads it, or its last messages are
        here. Raises CopilotError."""
        talk, how = self._talks.get(session_id), "live"
        if talk is None:
            talk, how = await self._shared(session_id, lambda: self._load(session_id))
        talk.join(reader, how)
        return talk

    async def sweep(self) -> None:
        """Let go of the conversations that nobody has used for long."""
        for talk in set(self._talks.values()):
            if talk.idle(talk.idle_limit):
                await self._let_go(talk)

    async def close(self) -> None:
        """End them all, in bounded time."""
        for task in (self._sweeper, *self._opening.values()):
            if task is not None:
                task.cancel()
        ending = [*(talk.close() for talk in set(self._talks.values())), *self._leaving.values()]
        await asyncio.gather(*ending, return_exceptions=True)
        self._talks.clear()

    # -- opening ----------------------------------------------------------------------------------------------------

    async def _shared(self, key: str, make: Callable[[], Coroutine[Any, Any, Opened]]) -> Opened:
        """Several sockets may wait for one conversation; it is opened even if they leave."""
        if key not in self._opening:
            task = asyncio.create_task(make())
            self._opening[key] = task
            task.add_done_callback(lambda done: self._opening.pop(key, None))
        return await asyncio.shield(self._opening[key])

    async def _begin(self, earlier: tuple[Line, ...] = ()) -> Opened:
        talk = await self._made()
        try:
            await talk.begin(earlier)
        except BaseException:
            await talk.close()
            raise
        self._talks[talk.id] = talk
        return talk, "context"

    async def _load(self, session_id: str) -> Opened:
        if session_id in self._leaving:
            await asyncio.wait({self._leaving[session_id]})
        talk = await self._made()
        try:
            await talk.resume(session_id, self._kept.get(session_id, ()))
        except BaseException as error:
            await talk.close()
            if isinstance(error, AuthRequired | SessionInUse) or not isinstance(error, AgentRefused | UsageError):
                raise
            return await self._from_memory(session_id, error)
        self._talks[session_id] = talk
        return talk, "loaded"

    async def _from_memory(self, session_id: str, error: AgentError | UsageError) -> Opened:
        kept = self._kept.get(session_id)
        if kept is None:
            raise UsageError("Session not found", f"Begin with new_session. {error}") from error
        return await self._begin(kept)

    async def _made(self) -> ChatSession:
        """Room is made by letting go of what is idle."""
        if len(self) + len(self._opening) > self.limits.talks:
            await self._make_room()
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep_always())
        return ChatSession(await self._host.command_context(), self._host, self.limits, self._rename)

    async def _make_room(self) -> None:
        idle = sorted((talk for talk in set(self._talks.values()) if talk.idle(0)), key=lambda talk: talk.used)
        if not idle:
            raise UsageError(f"{self.limits.talks} conversations are open already.", "Close one of them first.")
        await self._let_go(idle[0])

    def _rename(self, talk: ChatSession, before: str) -> None:
        """Both names lead to it."""
        self._talks[talk.id] = talk

    async def _let_go(self, talk: ChatSession) -> None:
        """By a task of its own, which whoever wants the session again waits for."""
        names = [name for name, each in self._talks.items() if each is talk]
        leaving = asyncio.create_task(self._leave(talk, names))
        for name in names:
            self._leaving[name] = leaving
            del self._talks[name]
            self._kept[name] = talk.last
            self._kept.move_to_end(name)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        await asyncio.shield(leaving)

    async def _leave(self, talk: ChatSession, names: list[str]) -> None:
        try:
            await talk.leave_agent()
        finally:
            for name in names:
                del self._leaving[name]

    async def _sweep_always(self) -> None:
        while True:
            await asyncio.sleep(min(SWEEP, max(1.0, self.limits.idle)))
            await self.sweep()
