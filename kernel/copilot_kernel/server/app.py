"""The extension: its settings, what its handlers share, and where their routes are."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from tornado.ioloop import PeriodicCallback
from traitlets import Bool, Enum, Float, Int, TraitError, Unicode, default, validate

from .. import config
from ..acp.messages import ConfigUpdate
from ..chat import Chat
from ..config import PERMISSION_MODES, Settings
from ..errors import AgentError, CopilotError
from ..permissions.rulebook import Rulebook
from .activity import Activity
from .alone import StandaloneServer
from .catalogue import Catalogue, Model
from .chat_services import ChatServices
from .dialogue import ConversationCache
from .limits import Limits
from .listing import TextList
from .metrics import Metrics
from .pool import AT_ENDPOINT, Pool
from .routes import routes

SWEEP = 10_000
"""Milliseconds between two looks for what is idle."""
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#*A-Z]+")
"""RFC 6454, 6.2."""


class CopilotApp(ExtensionApp):
    """The agent for other programs: an OpenAI-compatible API, and a chat over WebSocket."""

    name = "copilot"
    description = __doc__
    load_other_extensions = False
    extension_url = "/copilot/chat"
    serverapp_class = StandaloneServer

    port = Int(8080, help="Port of a server of its own: `jupyter copilot`, `copilot-kernel serve`.").tag(config=True)
    autoStart = Bool(True, help="Whether the routes are on in Jupyter's own server.").tag(config=True)
    defaultModel = Unicode(help="Model when a request names none; COPILOT_MODEL is the same.").tag(config=True)
    root_paths = Bool(True, help="Whether the routes are at /v1/…, /api/chat/… and /health, too.").tag(config=True)
    cors_origins = TextList(help="Origins whose pages may ask, such as https://example.org.").tag(config=True)
    rate_limit = Int(120, min=0, help="Turns and lists (models, sessions) a minute; 0: no limit.").tag(config=True)
    concurrency = Int(64, min=0, help="Turns at once; 0: no limit.").tag(config=True)
    request_log = Bool(False, help="A line for each request: route, status, seconds. Never texts.").tag(config=True)
    pool_size = Int(1, min=1, help="Agent processes; each serves many conversations.").tag(config=True)
    idle_seconds = Float(900, min=0, help="What is not used for so long is closed.").tag(config=True)
    kept_sessions = Int(
        100, min=1, help="Conversations over HTTP that are kept, and chats, each; the oldest idle one goes."
    ).tag(config=True)
    approval_seconds = Float(300, min=0, help="A question in the chat is rejected after so long.").tag(config=True)
    activity_timeout = Float(
        min=0,
        help="A turn and its questions count as activity of the server for so long; default: the kernel's setting.",
    ).tag(config=True)
    permission_mode = Enum(PERMISSION_MODES, "default", help=f"Of HTTP requests: {', '.join(PERMISSION_MODES)}.").tag(
        config=True
    )
    allow = TextList(help="Rules for HTTP requests: Read, Bash(git *), …").tag(config=True)
    chat_permission_mode = Enum(PERMISSION_MODES, "default", help="Of the chat, as permission_mode.").tag(config=True)
    chat_allow = TextList(help="Rules for the chat: Read, Bash(git *), …").tag(config=True)
    agent_mode = Unicode("plan", help="The agent's mode for HTTP requests, if it has it.").tag(config=True)
    body_limit = Int(10 * 1024 * 1024, min=1, help="Bytes of a request's body.").tag(config=True)
    header_seconds = Float(
        60, min=0.1, help="Seconds that a request's head may take, and the next one on a connection; server of its own."
    ).tag(config=True)
    body_seconds = Float(60, min=0.1, help="Seconds that a request's body may take.").tag(config=True)

    @default("defaultModel")
    def _model_of_the_environment(self) -> str:
        return os.environ.get("COPILOT_MODEL", "")

    @default("activity_timeout")
    def _timeout_of_kernels(self) -> float:
        return config.load().activity_timeout

    @validate("cors_origins")
    def _origins_as_browsers_send_them(self, proposal: Any) -> list[str]:
        """Anything else would match no request, without a word."""
        for origin in proposal.value:
            if not _ORIGIN.fullmatch(origin):
                raise TraitError(
                    f"--CopilotApp.cors_origins: {origin!r:.100} is not an origin. "
                    "Write scheme, host and port as browsers send them, such as https://example.org or "
                    "http://localhost:3000: in lower case, without a path or a slash at the end, and without wildcards."
                )
        return list(proposal.value)

    # -- what handlers share -----------------------------------------------------------------------------------------

    def initialize_settings(self) -> None:
        """Nothing is started here."""
        self.catalogue = Catalogue()
        self.limits = Limits(self.rate_limit, self.concurrency)
        times = self._serverapp().web_app.settings["last_activity_times"]
        self.activity = Activity(times, self.activity_timeout)
        loaded = config.load()
        folder = loaded.cwd or str(self._serverapp().root_dir)
        self.base_settings = replace(loaded, cwd=folder, fs=False, terminal=False)
        self.pool = Pool(self.base_settings, self.pool_size, self._options)
        self.metrics = Metrics(lambda: self._count("seats"), lambda: self._count("lives"), lambda: self.limits.running)
        self.chat_services = ChatServices(self, self._serverapp().base_url)
        self.dialogues = ConversationCache(self)
        self._asking = asyncio.Lock()
        self._tell_problems()
        self._sweeper = PeriodicCallback(self._sweep, SWEEP)

    def _tell_problems(self) -> None:
        told = list(self.base_settings.problems)
        for settings in (self.http_settings, self.chat_settings):
            book = Rulebook.of(settings)
            told += (*settings.problems, *book.problems, *book.warnings)
        for problem in dict.fromkeys(told):
            self.log.warning("Copilot: %s", problem)

    def _jupyter_server_config(self) -> dict[str, Any]:
        """For a server of its own: one port, or none; what the user says of the server wins."""
        told: dict[str, Any] = super()._jupyter_server_config()  # type: ignore[no-untyped-call]
        own = {"port": self.port, "port_retries": 0, "open_browser": False}
        config = self._serverapp().config
        said = {*config.ServerApp, *config.StandaloneServer}
        told["ServerApp"].update({name: value for name, value in own.items() if name not in said})
        return told

    def initialize_handlers(self) -> None:
        """Under `copilot/` always, and at the root unless a setting turns that off."""
        if self.autoStart or self.is_alone:
            self.handlers.extend(routes(self.root_paths))

    @property
    def is_alone(self) -> bool:
        """It runs in a server of its own."""
        return getattr(self._serverapp(), "_starter_app", None) is self

    @property
    def http_settings(self) -> Settings:
        """What conversations over HTTP may do: by default nothing, since nobody is there to be asked."""
        return self._permitting("permission_mode", "allow")

    @property
    def chat_settings(self) -> Settings:
        """What conversations over the WebSocket may do: what the user allows in notebooks is not meant for them."""
        return self._permitting("chat_permission_mode", "chat_allow")

    def _permitting(self, mode: str, allow: str) -> Settings:
        """What the user denies or asks about holds; what is allowed is said by these two settings of the server."""
        origins = {**self.base_settings.origins, "allow": f"CopilotApp.{allow}"}
        settings = replace(self.base_settings, allow=tuple(getattr(self, allow)), origins=origins)
        return config.in_mode(settings, getattr(self, mode), f"CopilotApp.{mode}")

    async def models(self) -> tuple[Model, ...]:
        """What the agent offers; a session is opened to ask it, once for each agent. Raises CopilotError."""
        async with self._asking:
            if not any(self.catalogue.is_of(process.link) for process in self.pool.processes):
                await self._ask_for_models()
        return self.catalogue.models

    async def _ask_for_models(self) -> None:
        home = await self.pool.home(self.http_settings, AT_ENDPOINT)
        try:
            await home.do(self.meet)
        finally:
            await self.pool.forget(home)

    async def meet(self, chat: Chat) -> None:
        """Open the session of a conversation, and learn what it can be set to. Raises CopilotError."""
        try:
            state = await chat.offered("models")
        except AgentError as error:
            self.heed(error)
            raise
        info = chat.info
        if info is not None:
            self.catalogue.learn(state, info, chat.agent.link)

    def heed(self, error: CopilotError) -> None:
        """After a sign-in, new conversations need an agent that has read the new credentials."""
        if isinstance(error, AgentError) and error.signed_out:
            self.pool.wear()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One turn of the agent, until the end of the block. Raises ApiError when there are too many."""
        with self.limits.turn(), self.activity.turn():
            yield

    def status(self) -> dict[str, Any]:
        """What is going on, without asking the agent."""
        return {
            "state": "running",
            "alone": self.is_alone,
            "port": self._serverapp().port,
            "models": [model.id for model in self.catalogue.models],
            "sessions": self._count("seats"),
            "agents": self._count("lives"),
            "turns": self.limits.running,
        }

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """The loop runs."""
        self._sweeper.start()
        _stop_on_interrupt(serverapp)

    async def stop_extension(self) -> None:
        """Every agent is ended."""
        self._sweeper.stop()
        await self.chat_services.close()
        await self.pool.close()

    def _options(self, update: ConfigUpdate) -> None:
        self.catalogue.heard(update)

    async def _sweep(self) -> None:
        self.activity.sweep()
        await self.dialogues.sweep(self.idle_seconds)
        await self.pool.sweep(self.idle_seconds)

    def _count(self, what: str) -> int:
        return sum(int(getattr(process, what)) for process in self.pool.processes)

    def _serverapp(self) -> Any:
        assert self.serverapp is not None
        return self.serverapp


def _stop_on_interrupt(serverapp: Any) -> None:
    """Without a terminal, Jupyter leaves SIGINT to Python: the loop ends, but no extension or kernel is stopped, and
    the process waits for the threads of agents that nobody ends. JupyterHub stops servers that way.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, serverapp._signal_stop)


def main() -> None:
    """`jupyter copilot`."""
    CopilotApp.launch_instance()  # type: ignore[no-untyped-call]
