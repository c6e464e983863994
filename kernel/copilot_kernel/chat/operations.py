"""Files and terminals that we handle for the agent, where the settings allow it (spec: file-system, terminals).

What we do for the agent needs the same permission as what it does itself; if it did not ask, we do. A permission that
the agent got counts for one operation of ours, in the same turn, that is just what was shown.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import Any, TypeVar

from ..acp.handlers import Service
from ..acp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RequestFailed
from ..acp.lenient import as_dict, as_id
from ..acp.messages import Diff, Json, Location, TerminalContent, ToolCallUpdate
from ..acp.results import short_name
from ..config import Settings
from ..conversation import inputs
from ..conversation.model import Entry, ToolCall
from ..errors import HostError, HostMissing, HostRefused
from ..host import ExitStatus, Files, ProjectPath, TerminalCommand, Terminals, prepare
from ..permissions import call_input
from ..permissions.policy import PLAN
from ..places import state_folder
from .agent import RunningAgent
from .our_calls import OUR_PREFIX
from .permission import Permissions
from .state import ConversationState

T = TypeVar("T")

_CODES: dict[type[HostError], int] = {HostMissing: NOT_FOUND, HostRefused: INVALID_PARAMS}


class ClientOperations:
    """Permission for the operations of one agent, and the tool calls that show them."""

    def __init__(self, state: ConversationState, permissions: Permissions) -> None:
        self._state, self._permissions = state, permissions
        self._numbers = count(1)
        self._used: set[int] = set()

    async def authorize(
        self,
        call: dict[str, Any],
        is_shown_by: Callable[[ToolCall], bool],
        *,
        by_rule: bool = True,
        inside: bool = False,
    ) -> str:
        """The id of the tool call that shows the operation: the agent's own, or a new one made of `call`.

        Raises RequestFailed if it is rejected, if the agent's mode or ours is plan, and if no turn runs, also after a
        cancel.
        """
        turn = self._state.running
        if is_planning(self._state, self._permissions):
            raise RequestFailed(INTERNAL_ERROR, "Refused: the mode is plan, in which nothing is done")
        if turn is None or turn.stop.pressed:
            raise RequestFailed(INTERNAL_ERROR, "Refused: no turn is running")
        if allowed := self._allowed(is_shown_by):
            self._used.add(allowed.id)
            return allowed.call_id
        id = f"{OUR_PREFIX}{next(self._numbers)}"
        update = ToolCallUpdate(id, begins=True, **call)
        if not await self._permissions.ask_for_us(update, by_rule=by_rule, inside=inside):
            raise RequestFailed(INTERNAL_ERROR, "Refused: the user did not allow it")
        return id

    def record(self, is_shown_by: Callable[[ToolCall], bool]) -> None:
        """Note that an operation was done: a call of the agent's that shows just this needs no question of its own."""
        self._permissions.approvals.add_operation(self._state.conversation.turn, is_shown_by)

    def report(self, id: str, status: str | None, meta: Json | None = None) -> None:
        """Show how an operation goes on. The agent reports the status of its own calls."""
        ours = id.startswith(OUR_PREFIX)
        self._state.update(ToolCallUpdate(id, status=status if ours else None, meta=meta))

    def _allowed(self, is_shown_by: Callable[[ToolCall], bool]) -> ToolCall | None:
        """The newest allowed call that showed the operation; what the agent makes of it afterwards does not count."""
        now = self._state.conversation
        for number, call in reversed(self._permissions.approvals.allowed.items()):
            if call.turn == now.turn and self._is_free(now.entries[number]) and is_shown_by(call):
                return call
        return None

    def _is_free(self, entry: Entry) -> bool:
        """Return True if an approval is not used up, not taken back, and not one of ours."""
        if not isinstance(entry, ToolCall) or entry.status in ("rejected", "cancelled", "waiting"):
            return False
        return entry.id not in self._used and not entry.call_id.startswith(OUR_PREFIX)


def is_planning(state: ConversationState, permissions: Permissions) -> bool:
    """True if the agent's mode or ours is plan, in which nothing is done."""
    if permissions.policy.book.mode == PLAN:
        return True
    session = state.conversation.state
    return session is not None and short_name(session.mode or "") == "plan"


class ClientServices:
    """The services of one chat; `serve` makes them anew for each agent: what one began ends with it."""

    def __init__(
        self,
        settings: Settings,
        state: ConversationState,
        permissions: Permissions,
        is_our_session: Callable[[str], bool],
        agent: RunningAgent,
    ) -> None:
        self._settings, self._state, self._permissions = settings, state, permissions
        self._is_our_session, self._agent = is_our_session, agent
        self._terminals: Terminals | None = None

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Mapping[str, Service]]:
        """The services by method. At the exit, no command is left."""
        operations, folder = ClientOperations(self._state, self._permissions), self._settings.folder
        works: dict[str, Service] = {}
        async with AsyncExitStack() as stack:
            if self._settings.fs:
                fs = FsService(Files(folder, [state_folder(self._settings)]), operations)
                works |= {"fs/read_text_file": fs.read, "fs/write_text_file": fs.write}
            if self._settings.terminal:
                each = TerminalService(operations, folder, self._agent)
                self._terminals = await stack.enter_async_context(each.terminals)
                terminal = (each.create, each.output, each.wait_for_exit, each.kill, each.release)
                works |= {f"terminal/{work.__name__}": work for work in terminal}
            yield {method: self._service(work) for method, work in works.items()}

    async def stop(self) -> None:
        """End every command, since the turn was cancelled. Takes at most 3 s."""
        if self._terminals is not None:
            await self._terminals.kill_all()

    def _service(self, work: Service) -> Service:
        """A host error becomes an answer with a code of the specification."""

        async def serve(params: Json) -> Any:
            try:
                session = session_id(params)
                if session and not self._is_our_session(session):
                    raise HostRefused(f"Session {session[:100]!r} is not open in this client")
                return await work(params)
            except HostError as error:
                code = _CODES.get(type(error), INTERNAL_ERROR)
                raise RequestFailed(code, " ".join(filter(None, (str(error), error.hint)))) from error

        return serve


# -- files ------------------------------------------------------------------------------------------------------------


class FsService:
    """`fs/read_text_file` and `fs/write_text_file`: reading inside the folder is free, writing is asked about."""

    def __init__(self, files: Files, operations: ClientOperations) -> None:
        self._files, self._operations = files, operations

    async def read(self, params: Json) -> Json:
        """Read a file. Asks about one that may hold secrets."""
        line, limit = _integer(params, "line"), _integer(params, "limit")
        place = await self._files.locate(_text(params, "path"))
        if place.sensitive:
            call = {"kind": "read", **_described("Read", place)}
            id = await self._operations.authorize(call, lambda asked: _reads(asked, place), by_rule=False)
            self._operations.report(id, "completed")
        return {"content": await self._files.read(place, line, limit)}

    async def write(self, params: Json) -> Json:
        """Asked about with all that changes, unless the agent asked about just that."""
        content = _text(params, "content")
        place = await self._files.locate(_text(params, "path"), to_write=True)
        try:
            before = await self._files.read(place)
        except HostMissing:
            before = None
        call = {"kind": "edit", "content": (Diff(place.path, before, content),), **_described("Write", place)}
        id = await self._operations.authorize(
            call, lambda asked: _writes(asked, place, before, content), by_rule=not place.sensitive
        )
        try:
            await self._files.write(place, content)
        except HostError:
            self._operations.report(id, "failed")
            raise
        self._operations.report(id, "completed")
        self._operations.record(lambda call: _writes(call, place, before, content) or _shows(call, place, content))
        return {}


def _described(verb: str, place: ProjectPath) -> dict[str, object]:
    warning = f", which {place.sensitive}" if place.sensitive else ""
    title = f"{verb} {'/'.join(place.parts)}{warning}"
    return {"title": title, "locations": (Location(place.path),), "raw_input": {"path": place.path}}


def _reads(asked: ToolCall, place: ProjectPath) -> bool:
    return asked.kind == "read" and len(asked.locations) == 1 and _leads_to(asked.locations[0].path, place)


def _writes(asked: ToolCall, place: ProjectPath, before: str | None, content: str) -> bool:
    """Return True if the call showed this change, as the whole file or as a part of it, and no other."""
    diffs = [part for part in asked.content if isinstance(part, Diff)]
    if asked.kind != "edit" or len(diffs) != 1 or not _leads_to(diffs[0].path, place):
        return False
    old, new = diffs[0].old_text, diffs[0].new_text
    if (old or None) == (before or None):
        return new == content
    if not old or not before:
        return False
    return before.count(old) == 1 and before.replace(old, new) == content


def _shows(call: ToolCall, place: ProjectPath, content: str) -> bool:
    """Return True if the call shows the result: all that the file holds now, or no more than its path."""
    diffs = [part for part in call.content if isinstance(part, Diff)]
    if call.kind != "edit" or any(diff.new_text != content for diff in diffs):
        return False
    paths = call_input.read(call).paths
    return bool(paths) and all(_leads_to(path, place) for path in paths)


def _leads_to(path: str, place: ProjectPath) -> bool:
    return os.path.realpath(os.path.join(place.root, path)) == place.path


# -- terminals --------------------------------------------------------------------------------------------------------


class TerminalService:
    """`terminal/*`: each command is asked about as it really runs, in `cwd` if it does not say where.

    It runs in the sandbox of `agent`, if that has one.
    """

    def __init__(self, operations: ClientOperations, cwd: str, agent: RunningAgent) -> None:
        self._operations, self._cwd, self._agent = operations, cwd, agent
        self.terminals = Terminals(self._on_output)
        # The tool call in which each terminal is shown.
        self._calls: dict[str, str] = {}

    async def create(self, params: Json) -> Json:
        command = self._command(params)
        shown = {"command": command.line, "cwd": command.cwd}
        call = {"title": f"Run {command.line}", "kind": "execute", "raw_input": shown}
        sandbox = self._agent.sandbox
        id = await self._operations.authorize(
            call, lambda asked: _runs(asked, command, self._cwd), inside=sandbox is not None
        )
        self._operations.report(id, "in_progress", {"terminal_exit": None})
        try:
            terminal = await self.terminals.create(command, sandbox)
        except BaseException:
            self._operations.report(id, "failed")
            raise
        self._calls[terminal] = id  # before any output: nothing was awaited since the command began
        self._operations.record(lambda call: _embeds(call, terminal, command))
        return {"terminalId": terminal}

    def _on_output(self, terminal: str, text: str, end: ExitStatus | None) -> None:
        id = self._calls[terminal]
        if text:
            self._operations.report(id, None, {"terminal_output_delta": {"data": text, "terminal_id": terminal}})
        if end is not None:
            status = "completed" if end.code == 0 else "failed"
            self._operations.report(id, status, {"terminal_exit": {"exit_code": end.code, "signal": end.signal}})

    async def output(self, params: Json) -> Json:
        output = self.terminals.output(_text(params, "terminalId"))
        ended = {"exitStatus": _exit_status(output.exit)} if output.exit else {}
        return {"output": output.text, "truncated": output.truncated, **ended}

    async def wait_for_exit(self, params: Json) -> Json:
        return _exit_status(await self.terminals.wait_for_exit(_text(params, "terminalId")))

    async def kill(self, params: Json) -> Json:
        await self.terminals.kill(_text(params, "terminalId"))
        return {}

    async def release(self, params: Json) -> Json:
        await self.terminals.release(_text(params, "terminalId"))
        return {}

    def _command(self, params: Json) -> TerminalCommand:
        """Raises HostRefused."""
        args = _optional(params, "args", list, "an array") or []
        if not all(isinstance(arg, str) for arg in args):
            raise HostRefused("args must be strings")
        members = _optional(params, "env", list, "an array") or []
        env = [(_text(each, "name"), _text(each, "value")) for each in map(as_dict, members)]
        cwd = _optional(params, "cwd", str, "a string") or self._cwd
        limit = _integer(params, "outputByteLimit")
        return prepare(_text(params, "command"), args, env, cwd=cwd, limit=limit, environ=self._agent.environ)


def _runs(asked: ToolCall, command: TerminalCommand, cwd: str) -> bool:
    """Return True if the call showed this very command, to be run in this folder."""
    shown = as_dict(asked.raw_input)
    return asked.kind == "execute" and shown.get("command") == command.line and shown.get("cwd", cwd) == command.cwd


def _embeds(call: ToolCall, terminal: str, command: TerminalCommand) -> bool:
    """Return True if the call shows this terminal, and names no other command than what runs there."""
    shown = [part.terminal_id for part in call.content if isinstance(part, TerminalContent)]
    return shown == [terminal] and set(inputs.commands(call.raw_input)) <= {command.line, *command.argv[-1:]}


def _exit_status(end: ExitStatus) -> Json:
    return {"exitCode": end.code, "signal": end.signal}


# -- parameters: a wrong type raises HostRefused, and is never guessed at ---------------------------------------------


def session_id(params: Json) -> str:
    """The session that a request is about; empty if it names none. Raises HostRefused."""
    value = params.get("sessionId")
    if value is not None and not as_id(value):
        raise HostRefused("sessionId must be a string")
    return as_id(value)


def _text(params: Json, name: str) -> str:
    """A required string."""
    value = _optional(params, name, str, "a string")
    if value is None:
        raise HostRefused(f"{name} is missing")
    return value


def _integer(params: Json, name: str) -> int | None:
    """An optional integer that is not negative; JSON does not distinguish 2.0 from 2."""
    value = params.get(name)
    if value is None:
        return None
    is_integer = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_integer or value < 0:
        raise HostRefused(f"{name} must be an integer that is not negative")
    return int(value)


def _optional(params: Json, name: str, kind: type[T], words: str) -> T | None:
    value = params.get(name)
    if value is not None and not isinstance(value, kind):
        raise HostRefused(f"{name} must be {words}")
    return value
