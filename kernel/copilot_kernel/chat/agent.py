"""The agent: started when it is first needed, tried again when that fails, started again after it died.

Only starting, connecting, `initialize` and opening a session are ever tried again; a prompt never is.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.abc

from ..acp.agent_connection import AgentConnection, connect_agent
from ..acp.agent_errors import no_sign_in_hint
from ..acp.connection import WireLog
from ..acp.handlers import ClientHandlers, Service
from ..acp.locate import Launch, located, with_denied_tools
from ..acp.mcp import McpOffer, select_servers, with_mcp_flag
from ..acp.messages import AgentInfo, AuthMethod
from ..acp.transport import single_error
from ..agentd.client import BrokerTransport
from ..agentd.wire import RETIRE
from ..config import Settings
from ..errors import (
    AgentError,
    AgentNotFound,
    AgentStartFailed,
    UsageError,
)
from ..mcp_config import McpServer, secrets
from ..redaction import Redactor, redactor, register
from ..sandbox import Sandbox, unavailable
from .agent_start import Connect, Ports, in_sandbox, sandboxed, shared, shares

FROM_THE_START = "since the agent was started"
# Seconds that ending an agent may take; its processes are killed well before.
END_SECONDS = 5.0
# Characters of one string in the readable log; images are longer.
MAX_LOGGED_CHARS = 2_000


@dataclass(slots=True)
class RunningAgent:
    """Facts about the agent that was started last: `Agent` notes them, others look them up."""

    info: AgentInfo | None = None
    # It is GitHub Copilot CLI, by its own name or by its command.
    is_copilot: bool = False
    # None if it has none, and why, if there should be one.
    sandbox: Sandbox | None = None
    unsandboxed: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)


class _Life:
    """One start of the agent, until its end."""

    def __init__(self) -> None:
        self.link: AgentConnection | None = None
        self.scope = anyio.CancelScope()
        self.over = anyio.Event()


class Agent:
    """One process or connection at a time, started when it is needed; `async with` ends it.

    `running` is where it notes what others look up. `serving` returns what is served to one agent until
    its end, by method; `denied`, at each start, what the agent itself should deny; `ports`, those of loopback where it
    must reach us. `connect` leads to an agent of this process that several share.
    """

    def __init__(
        self,
        settings: Settings,
        running: RunningAgent,
        client_handlers: ClientHandlers,
        serving: Callable[[], AbstractAsyncContextManager[Mapping[str, Service]]] = lambda: nullcontext({}),
        denied: Callable[[], Iterable[str]] = tuple,
        ports: Ports | None = None,
        connect: Connect | None = None,
    ) -> None:
        self.settings, self.running = settings, running
        # What went over the wire, over all of the agent's lives.
        self.log = WireLog()
        # The MCP servers that the agent was given.
        self.offered = McpOffer()
        # The connection to the agent that was started last, if several notebooks may share it.
        self.broker: BrokerTransport | None = None
        self._client_handlers, self._serving, self._denied, self._ports = client_handlers, serving, denied, ports
        self._connect = connect
        self._tasks = anyio.create_task_group()
        self._starting = anyio.Lock()
        self._life: _Life | None = None
        self._was_reached = False
        # Started before anything needed it, and no session was opened since: it may not know of a sign-in or a rule.
        self.is_early = False
        self._launched = Launch()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `work` until the end of the chat."""
        self._tasks.start_soon(work)

    async def __aexit__(self, *error: Any) -> bool | None:
        self._tasks.cancel_scope.cancel()
        with single_error():
            return await self._tasks.__aexit__(*error)

    @property
    def sandbox(self) -> Sandbox | None:
        """Sandbox of the agent that was started last."""
        return self.running.sandbox

    @property
    def sandbox_state(self) -> str:
        """Say how far the agent reaches in its sandbox, or why it has none; empty if the settings want none."""
        if self.settings.sandbox == "off":
            return ""
        if self.sandbox:
            return self.sandbox.summary
        return self.running.unsandboxed or FROM_THE_START

    def sandbox_problem(self) -> str:
        """Why the agent has, or would have, no sandbox; empty if it has one."""
        if self.sandbox or self.settings.sandbox == "off":
            return "" if self.sandbox else "COPILOT_KERNEL_SANDBOX is off"
        return self.running.unsandboxed or str(unavailable(self.settings) or "")

    @property
    def sharing_state(self) -> str:
        """Say with whom the agent is shared; empty if the settings want that with nobody."""
        if self.settings.agent_sharing == "off":
            return ""
        if "://" in self.settings.agent:
            return "not by this kernel, which did not start the agent"
        if self.settings.sandbox_hosts is not None:
            return "not in a sandbox with a list of hosts"
        others = self.broker.kernels - 1 if self.broker and self.link else 0
        noun = "notebook now" if others == 0 else "notebook" if others == 1 else "notebooks"
        return f"shared with {others or 'no'} other {noun}"

    @property
    def handover(self) -> Path | None:
        """The folder for files that a sandboxed agent must be able to read."""
        return self.sandbox.handover if self.sandbox else None

    @property
    def link(self) -> AgentConnection | None:
        """The connection, if the agent lives."""
        link = self._life.link if self._life else None
        return None if link is None or link.closed.is_set() else link

    async def ready(self) -> AgentConnection:
        """The connection, after starting the agent if need be. Raises what `locate` and `connect_agent` raise."""
        async with self._starting:
            if self.link is None or (self.is_early and self._launched != self._launch()):
                await self.end()
                await self._start(self._launch())
        link = self._life.link if self._life else None
        assert link is not None
        return link

    async def start_early(self) -> None:
        """Start the agent before anything needs it. Raises what `ready` raises."""
        async with self._starting:
            if self.link is None:
                await self._start(self._launch())
                self.is_early = True

    async def end(self) -> None:
        """End the agent, and wait (bounded) until its processes are gone.

        One that other notebooks use as well lives on for them; the next prompt here starts another.
        """
        self.is_early = False
        if self._life is not None and self._life.link is not None:
            if self.broker is not None and self.link is not None:
                with anyio.move_on_after(END_SECONDS, shield=True):
                    self.link.post(RETIRE, {})
                    await self.link.closed.wait()
            self._life.scope.cancel()
            with anyio.move_on_after(END_SECONDS, shield=True):
                await self._life.over.wait()

    def _launch(self) -> Launch:
        return with_denied_tools(located(self.settings), self._denied())

    async def _start(self, launch: Launch) -> None:
        """An address that was reached before may only be about to come back."""
        self._life, self._launched, self.is_early, self.running.environ = _Life(), launch, False, launch.environ
        try:
            await self._tasks.start(self._live, self._life, launch)
        except AgentNotFound as error:
            if launch.address is None or not self._was_reached:
                raise
            raise AgentStartFailed(str(error), error.hint, ended=True, remote=True) from error
        self._was_reached = True

    async def _live(self, life: _Life, launch: Launch, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        try:
            with life.scope:
                async with self._connected(launch) as life.link:
                    task_status.started()
                    await life.link.closed.wait()
        except AgentError:
            if life.link is None:
                raise
        finally:
            life.over.set()

    @asynccontextmanager
    async def _connected(self, launch: Launch) -> AsyncIterator[AgentConnection]:
        servers = self.settings.passed_servers
        register(secrets(servers))
        with single_error():
            async with (
                self._opened(launch, servers) as (launch, transport),
                self._serving() as services,
            ):
                handlers = self._client_handlers
                listeners = {**handlers.listeners, **(transport.listeners if transport else {})}
                async with connect_agent(
                    launch,
                    self.settings.folder,
                    replace(handlers, services={**handlers.services, **services}, listeners=listeners),
                    start_timeout=self.settings.start_timeout,
                    log=self.log,
                    option_member=self.settings.option_member,
                    transport=transport,
                ) as link:
                    self.running.info = link.info
                    self.running.is_copilot = launch.is_copilot or link.info.is_copilot
                    self.offered = select_servers(servers, link.info, launch)
                    yield link

    @asynccontextmanager
    async def _opened(
        self, launch: Launch, servers: Sequence[McpServer]
    ) -> AsyncIterator[tuple[Launch, BrokerTransport | None]]:
        """Return what to start, or the connection to the agent that several notebooks share."""
        if connect := self._connect or (shared if shares(self.settings, launch) else None):
            async with connect(self.settings, launch, servers, self._client_handlers) as self.broker:
                welcome = self.broker.welcome
                self.running.sandbox, self.running.unsandboxed = welcome.sandbox, welcome.unsandboxed
                yield launch, self.broker
        else:
            self.broker, running = None, self.running
            async with sandboxed(self.settings, launch, servers, self._ports) as (running.sandbox, running.unsandboxed):
                with with_mcp_flag(launch, servers, self.handover) as launch:
                    yield in_sandbox(launch, self.sandbox, self.settings.folder), None


def auth_method(info: AgentInfo, typed: str) -> AuthMethod:
    """The way to sign in that the agent can be asked for, by id or name; by default the first (spec: authentication).

    Raises UsageError if there is none; one that is a command for a terminal is the user's to run.
    """
    methods = info.auth_methods
    if not methods:
        raise UsageError("This agent offers no way to sign in.", no_sign_in_hint(info))
    matching = [method for method in methods if typed in ("", method.id, method.name)]
    if not matching:
        names = ", ".join(method.id for method in methods)
        raise UsageError(f'Unknown way to sign in "{typed}".', f"Choose one of: {names}.")
    askable = [method for method in matching if method.is_askable]
    if not askable:
        raise UsageError("Sign in from a terminal:", "\n".join(map(_how_to_sign_in, matching)))
    return askable[0]


def _how_to_sign_in(method: AuthMethod) -> str:
    command = f"`{shlex.join(method.command)}`" if method.command else method.description
    return f"{method.name}: {command}" if command else method.name


def readable(lines: Iterable[tuple[str, bytes]], redact: Redactor | None = None) -> Iterator[str]:
    """Lines of a wire log without secrets (by default those known to this process), long strings cut."""
    redact = redact or redactor()
    for direction, line in lines:
        text = line.decode("utf-8", "replace")
        try:
            shown = json.dumps(_shortened(redact.json(json.loads(text))), ensure_ascii=False)
        except (ValueError, RecursionError):
            shown = _shortened(redact.text(text))
        yield f"{direction} {shown}"


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value]
    if isinstance(value, str) and len(value) > MAX_LOGGED_CHARS:
        return f"{value[:MAX_LOGGED_CHARS]}… ({len(value) - MAX_LOGGED_CHARS} more characters)"
    return value
