"""The methods for sessions: begin, find, load, close and forget them, and choose their mode, model and options."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio

from ..acp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RequestFailed
from . import protocol
from .journal import Journal, Past, Told, forget, list_all, recall
from .options import Menu
from .protocol import Json
from .replay import replay
from .session import Session
from .switches import Switches, trips

Tell = Callable[[Session, Json], Awaitable[None]]
Answer = Coroutine[Any, Any, Any]
PAGE = 50
"""Sessions in one answer to `session/list`."""


class Sessions:
    """The sessions of one connection. `tell` sends an update, `stop` ends the prompt of a session, if one runs."""

    def __init__(self, switches: Switches, tell: Tell, stop: Callable[[str], None]) -> None:
        self.menu = Menu(switches, {})
        self._switches, self._tell, self._stop = switches, tell, stop
        self._open: dict[str, Session] = {}

    def find(self, params: Json, code: int = NOT_FOUND) -> Session:
        """The open session that `params` names. Raises RequestFailed with `code`."""
        try:
            return self._open[params["sessionId"]]
        except (KeyError, TypeError):
            raise RequestFailed(code, "demo agent: there is no such session") from None

    def end(self) -> None:
        """The connection has ended."""
        for session in self._open.values():
            session.journal.close()

    # -- beginning and coming back --------------------------------------------------------------------------------

    async def new(self, params: Json) -> Json:
        cwd = _folder(params)
        await self._serve(_servers(params))
        self._stumble("new-fails", "1")
        id = str(uuid4())
        session = self._open[id] = Session(id, cwd, self.menu.valid({}), Journal(id), _servers(params))
        await self._tell(session, protocol.commands())
        return {"sessionId": id, **self.menu.session(session.chosen)}

    async def load(self, params: Json) -> Json:
        servers = _servers(params)
        self._stumble("load-fails", "inf")
        past, session = await self._restore(params, servers)
        for update in replay(past.records, thoughts="replays-thoughts" in self._switches):
            await self._tell(session, update)
        await self._tell(session, protocol.mode_update(session.chosen["mode"]))
        await self._tell(session, protocol.commands())
        return self.menu.session(session.chosen)

    async def resume(self, params: Json) -> Json:
        self._stumble("resume-fails", "inf")
        _, session = await self._restore(params, params.get("mcpServers") or [])
        await self._tell(session, protocol.commands())
        return self.menu.session(session.chosen)

    async def _restore(self, params: Json, servers: list[Any]) -> tuple[Past, Session]:
        cwd, past = _folder(params), recall(params.get("sessionId"))
        if past is None:
            self.find(params)
            past = Past(params["sessionId"])
        await self._serve(servers)
        self._forget_open(past.id)
        session = Session(past.id, cwd, self.menu.valid(past.chosen), Journal(past.id), servers)
        if past.prompts:
            session.restore(past)
        self._open[past.id] = session
        return past, session

    async def _serve(self, servers: list[Any]) -> None:
        """What an agent may do that does not know such servers, or cannot reach them."""
        names = ", ".join(str(server.get("name")) for server in servers if isinstance(server, dict))
        kinds = {server.get("type", "stdio") for server in servers if isinstance(server, dict)}
        if refused := sorted(kind for kind in kinds - {"stdio"} if f"mcp-{kind}" not in self._switches):
            raise _invalid(f"demo agent: I did not say that I take MCP servers of type {', '.join(refused)}")
        if servers and "mcp-fails" in self._switches:
            raise RequestFailed(INTERNAL_ERROR, f"demo agent: cannot reach the MCP server {names}")
        if servers and "mcp-hangs" in self._switches:
            await anyio.sleep_forever()

    def _stumble(self, fault: str, default: str) -> None:
        if trips(self._switches, fault, default):
            details = {"details": f"demo agent: {fault}, as I was asked"}
            raise RequestFailed(INTERNAL_ERROR, "Internal error", details)

    # -- finding and forgetting -----------------------------------------------------------------------------------

    async def list(self, params: Json) -> Json:
        """Those with a prompt, newest first; the cursor is the last id of the page before. Others talk on meanwhile."""
        found = await anyio.to_thread.run_sync(list_all)
        pasts = [past for past in found if params.get("cwd") in (None, past.cwd)]
        if (cursor := params.get("cursor")) is not None:
            pasts = _after(pasts, cursor)
        size = int(self._switches.get("page") or PAGE)
        page = [_described(past) for past in pasts[:size]]
        return {"sessions": page, **({"nextCursor": page[-1]["sessionId"]} if len(pasts) > size else {})}

    async def close(self, params: Json) -> Json:
        self._forget_open(self.find(params).id)
        return {}

    async def delete(self, params: Json) -> Json:
        """Deleting what is not there is no mistake."""
        id = params.get("sessionId")
        if isinstance(id, str):
            self._forget_open(id)
        forget(id)
        return {}

    def _forget_open(self, id: str) -> None:
        self._stop(id)
        if id in self._open:
            self._open.pop(id).journal.close()

    # -- choosing -------------------------------------------------------------------------------------------------

    async def set_mode(self, params: Json) -> Json:
        await self._choose(self.find(params), "mode", params.get("modeId"))
        return {}

    async def set_model(self, params: Json) -> Json:
        await self._choose(self.find(params), "model", params.get("modelId"))
        return {}

    async def set_option(self, params: Json) -> Json:
        session = self.find(params)
        name = "optionId" if "option-id" in self._switches else "configId"
        if name not in params:
            raise _invalid(f"Invalid params: missing field `{name}`")
        await self._choose(session, params[name], params.get("value"))
        return {"configOptions": self.menu.options(session.chosen)}

    async def _choose(self, session: Session, id: Any, value: Any) -> None:
        before = session.chosen
        try:
            session.choose(self.menu.choose(before, id, value))
        except ValueError as error:
            raise _invalid(str(error)) from None
        if self.menu.offers("configOptions"):
            await self._tell(session, self.menu.options_update(session.chosen))
        if id == "mode":
            await self._tell(session, protocol.mode_update(session.chosen["mode"]))


def _described(past: Told) -> Json:
    return {"sessionId": past.id, "cwd": past.cwd, "title": past.title, "updatedAt": past.updated}


def _after(pasts: list[Told], cursor: Any) -> list[Told]:
    ids = [past.id for past in pasts]
    if cursor not in ids:
        raise _invalid(f"demo agent: {cursor!r} is no cursor of mine")
    return pasts[ids.index(cursor) + 1 :]


def _folder(params: Json) -> Path:
    cwd = params.get("cwd")
    if not isinstance(cwd, str) or not os.path.isabs(cwd):
        raise _invalid("cwd must be an absolute path")
    return Path(cwd)


def _servers(params: Json) -> list[Any]:
    servers = params.get("mcpServers")
    if not isinstance(servers, list):
        raise _invalid("mcpServers must be a list")
    return servers


def _invalid(message: str) -> RequestFailed:
    return RequestFailed(INVALID_PARAMS, message)
