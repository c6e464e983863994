"""`terminal/*`: each command is asked about as it really runs; its output is shown as it comes."""

from __future__ import annotations

from ..acp.lenient import members
from ..acp.messages import Json, Terminal
from ..conversation.model import ToolCall
from ..errors import HostRefused
from ..host import Command, Exit, Terminals, prepare
from ..permissions import inputs
from .operations import ClientOperations
from .params import array, integer, text


class TerminalService:
    """The commands of one agent, which start in `cwd` if it does not say where."""

    terminals: Terminals

    def __init__(self, operations: ClientOperations, cwd: str) -> None:
        self._deeds, self._cwd = operations, cwd
        self._calls: dict[str, str] = {}
        """The tool call in which each terminal is shown."""
        self._early: list[tuple[str, str, Exit | None]] = []

    async def create(self, params: Json) -> Json:
        command = self._command(params)
        shown = {"command": command.line, "cwd": command.cwd}
        call = {"title": f"Run {command.line}", "kind": "execute", "raw_input": shown}
        id = await self._deeds.permit(call, lambda asked: _runs(asked, command, self._cwd))
        self._deeds.tell(id, status="in_progress")
        try:
            terminal = await self.terminals.create(command)
        except BaseException:
            self._deeds.tell(id, status="failed")
            raise
        self._calls[terminal] = id
        self._deeds.did(lambda call: _embeds(call, terminal, command))
        early, self._early = self._early, []
        for each in early:
            self.heard(*each)
        return {"terminalId": terminal}

    def heard(self, terminal: str, text: str, end: Exit | None) -> None:
        """From the terminals, in order; what comes before it is known where it belongs is kept."""
        if terminal not in self._calls:
            self._early.append((terminal, text, end))
            return
        if text:
            self._tell(terminal, {"terminal_output_delta": {"data": text, "terminal_id": terminal}})
        if end is not None:
            status = "completed" if end.code == 0 else "failed"
            self._tell(terminal, {"terminal_exit": {"exit_code": end.code, "signal": end.signal}}, status)

    async def output(self, params: Json) -> Json:
        output = self.terminals.output(text(params, "terminalId"))
        ended = {"exitStatus": _end(output.exit)} if output.exit else {}
        return {"output": output.text, "truncated": output.truncated, **ended}

    async def wait_for_exit(self, params: Json) -> Json:
        return _end(await self.terminals.wait_for_exit(text(params, "terminalId")))

    async def kill(self, params: Json) -> Json:
        await self.terminals.kill(text(params, "terminalId"))
        return {}

    async def release(self, params: Json) -> Json:
        await self.terminals.release(text(params, "terminalId"))
        return {}

    def _tell(self, terminal: str, meta: Json, status: str | None = None) -> None:
        self._deeds.tell(self._calls[terminal], meta=meta, status=status)

    def _command(self, params: Json) -> Command:
        """Raises HostRefused."""
        args, cwd = array(params, "args"), "" if params.get("cwd") is None else text(params, "cwd")
        if not all(isinstance(arg, str) for arg in args):
            raise HostRefused("args must be strings")
        env = [(text(each, "name"), text(each, "value")) for each in map(members, array(params, "env"))]
        return prepare(
            text(params, "command"), args, env, cwd=cwd or self._cwd, limit=integer(params, "outputByteLimit")
        )


def _runs(asked: ToolCall, command: Command, cwd: str) -> bool:
    """It showed this very command, to be run in this folder."""
    shown = members(asked.raw_input)
    return asked.kind == "execute" and shown.get("command") == command.line and shown.get("cwd", cwd) == command.cwd


def _embeds(call: ToolCall, terminal: str, command: Command) -> bool:
    """It shows this terminal, and names no other command than what runs there, or what a shell is given to run."""
    shown = [part.terminal_id for part in call.content if isinstance(part, Terminal)]
    return shown == [terminal] and set(inputs.commands(call.raw_input)) <= {command.line, *command.argv[-1:]}


def _end(end: Exit | None) -> Json:
    return {"exitCode": end.code, "signal": end.signal} if end else {}
