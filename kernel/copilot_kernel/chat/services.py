"""Files and terminals for the agent, where the settings switch them on (spec: file-system, terminals)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from ..acp.handlers import Service
from ..acp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RequestFailed
from ..acp.messages import Json
from ..config import Settings, state_folder
from ..errors import HostError, HostMissing, HostRefused
from ..host import Files, Terminals
from .filing import FsService
from .operations import ClientOperations
from .params import session_id
from .permission import Permissions
from .record import ConversationState
from .running import TerminalService

FILES = ("fs/read_text_file", "fs/write_text_file")
COMMANDS = tuple(f"terminal/{name}" for name in ("create", "output", "wait_for_exit", "kill", "release"))
"""The methods, by the setting that switches them on."""


class Services:
    """`serve` makes them anew for each agent: what one began ends with it."""

    def __init__(
        self, settings: Settings, record: ConversationState, permissions: Permissions, is_ours: Callable[[str], bool]
    ) -> None:
        self._settings, self._record, self._permissions = settings, record, permissions
        self._is_ours = is_ours
        self._terminals: Terminals | None = None

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Mapping[str, Service]]:
        """The services by method. At the exit, no command is left."""
        operations = ClientOperations(self._record, self._permissions)
        services = self._files(operations) if self._settings.fs else {}
        if not self._settings.terminal:
            yield services
            return
        running = TerminalService(operations, self._settings.folder)
        async with Terminals(running.heard) as running.terminals:
            self._terminals = running.terminals
            yield services | self._commands(running)

    async def stop(self) -> None:
        """End every command: the turn was cancelled. Takes at most 3 s."""
        if self._terminals is not None:
            await self._terminals.kill_all()

    def _files(self, operations: ClientOperations) -> dict[str, Service]:
        filing = FsService(Files(self._settings.folder, [state_folder(self._settings)]), operations)
        return dict(zip(FILES, map(self._served, (filing.read, filing.write)), strict=True))

    def _commands(self, running: TerminalService) -> dict[str, Service]:
        works = (running.create, running.output, running.wait_for_exit, running.kill, running.release)
        return dict(zip(COMMANDS, map(self._served, works), strict=True))

    def _served(self, work: Callable[[Json], Coroutine[Any, Any, Json]]) -> Service:
        """What the host cannot do becomes an answer with a code of the specification."""

        async def serve(params: Json) -> Json:
            try:
                _check_session(params, self._is_ours)
                return await work(params)
            except HostError as error:
                code = _CODES.get(type(error), INTERNAL_ERROR)
                raise RequestFailed(code, " ".join(filter(None, (str(error), error.hint)))) from error

        return serve


def _check_session(params: Json, is_ours: Callable[[str], bool]) -> None:
    """A request that names no session is about the open one. Raises HostRefused for another one."""
    named = session_id(params)
    if named and not is_ours(named):
        raise HostRefused(f"Session {named[:100]!r} is not open in this client")


_CODES: dict[type[HostError], int] = {HostMissing: NOT_FOUND, HostRefused: INVALID_PARAMS}
