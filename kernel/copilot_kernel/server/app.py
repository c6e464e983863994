"""The Jupyter Server extension: its settings, its routes, and the services behind them."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from jupyter_server.utils import url_path_join
from tornado.ioloop import PeriodicCallback
from traitlets import Bool, Enum, Float, Int, List, TraitError, Unicode, default, validate

from ..config import PERMISSION_MODES, Settings, in_mode
from ..config_reader import load_settings
from ..permissions.rulebook import Rulebook
from . import settings_page, status
from .catalogue import ModelCatalogue
from .chat import page
from .chat.chat_session import ChatLimits, ChatServices
from .chat.chat_session_manager import ChatSessionManager
from .chat.media import MediaStore
from .chat.socket import ChatSocket
from .context import ServerContext
from .handler import Handler, NotFoundHandler, NotOfferedHandler
from .limits import Limits
from .metrics import Metrics
from .openai.completions import ChatCompletionsHandler
from .openai.conversations import ConversationCache
from .pool import AgentPool
from .standalone import StandaloneServer

SWEEP_MILLISECONDS = 10_000
OWN_PATH = "/copilot"
ROOT_PATHS = ("/v1", "/api/chat", "/api/media")
ROUTES: Mapping[str, type[Handler]] = {
    "/v1/chat/completions": ChatCompletionsHandler,
    "/v1/models": status.ModelsHandler,
    "/v1/models/(.+)": status.ModelHandler,
    "/health": status.HealthHandler,
    "/api/chat/ws": ChatSocket,
    "/api/chat/suggestions": page.SuggestionsHandler,
    "/api/chat/models": page.ChatModelsHandler,
    "/api/models": page.ChatModelsHandler,
    r"/api/media/([\w.-]+)": page.MediaHandler,
}
"""Routes at the root of the base URL, if that is wanted, and below OWN_PATH."""
OWN_ROUTES: Mapping[str, type[Handler]] = {
    "/chat/?": page.PageHandler,
    "/chat/static/([^/]+)": page.StaticHandler,
    "/chat/sessions": page.SessionsHandler,
    "/chat/ws": ChatSocket,
    "/status": status.StatusHandler,
    "/metrics": status.MetricsHandler,
}
"""Routes only below OWN_PATH."""
USER_ROUTES: Mapping[str, type[Handler]] = {
    "/report": settings_page.ReportHandler,
    "/settings": settings_page.SettingsHandler,
    r"/settings/(\w+)": settings_page.SettingHandler,
}
"""Routes below OWN_PATH of the user's own Jupyter server alone."""
NOT_OFFERED = "embeddings|audio|images|files|moderations|fine_tuning|batches|assistants|threads|completions"
"""Parts of OpenAI's API that no agent can serve."""

# RFC 6454, 6.2.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#*A-Z]+")


class CopilotApp(ExtensionApp):
    """The agent for other programs: an OpenAI-compatible API, and a chat over WebSocket."""

    name = "copilot"
    description = __doc__
    load_other_extensions = False
    extension_url = "/copilot/chat"
    serverapp_class = StandaloneServer

    port = Int(8080, help="Port of a standalone server.").tag(config=True)
    autoStart = Bool(True, help="Offer the routes in Jupyter Server.").tag(config=True)
    defaultModel = Unicode(help="Model for requests that name none; also `COPILOT_MODEL`.").tag(config=True)
    root_paths = Bool(True, help="Offer the routes also at `/v1/…`, `/api/chat/…` and `/health`.").tag(config=True)
    cors_origins = List(
        Unicode(), help="Origins whose pages may call the API: `https://example.org`, without a path."
    ).tag(config=True)
    rate_limit = Int(120, min=0, help="Turns and lists of models or sessions per minute; 0: no limit.").tag(config=True)
    concurrency = Int(64, min=0, help="Concurrent turns; 0: no limit.").tag(config=True)
    request_log = Bool(False, help="Log a line for each request: method, route, status, seconds.").tag(config=True)
    pool_size = Int(1, min=1, help="Agent processes; each serves many conversations.").tag(config=True)
    idle_seconds = Float(900, min=0, help="Idle time after which conversations and agents are closed.").tag(config=True)
    kept_sessions = Int(100, min=1, help="Limit of open conversations, separately for HTTP and chat.").tag(config=True)
    approval_seconds = Float(300, min=0, help="Seconds after which a question in the chat is rejected.").tag(
        config=True
    )
    activity_timeout = Float(
        min=0,
        help="Seconds for which a turn or question counts as activity; default: as in the kernel.",
    ).tag(config=True)
    permission_mode = Enum(
        PERMISSION_MODES,
        "default",
        help="Mode of HTTP requests. `default` rejects every question.",
    ).tag(config=True)
    allow = List(Unicode(), help="Rules for HTTP requests: `Read`, `Bash(git *)`, …").tag(config=True)
    chat_key = Unicode(help="Key for the chat of a standalone server; without one, there is no chat.").tag(config=True)
    chat_permission_mode = Enum(
        PERMISSION_MODES,
        "default",
        help="Mode of new chats. A chat can only choose a stricter one.",
    ).tag(config=True)
    chat_allow = List(Unicode(), help="Rules for the chat: `Read`, `Bash(git *)`, …").tag(config=True)
    agent_mode = Unicode(
        "plan", help="The agent's mode for HTTP requests, if it has that mode; empty: its default."
    ).tag(config=True)
    body_limit = Int(10 * 1024 * 1024, min=1, help="Limit for the body of a request, in bytes.").tag(config=True)
    header_seconds = Float(
        60,
        min=0.1,
        help="Time limit for the header of a request and for the next request; standalone only.",
    ).tag(config=True)
    body_seconds = Float(60, min=0.1, help="Time limit for the body of a request.").tag(config=True)

    @default("defaultModel")
    def _model_of_the_environment(self) -> str:
        return load_settings().environ.get("COPILOT_MODEL", "")

    @default("activity_timeout")
    def _timeout_of_kernels(self) -> float:
        return load_settings().activity_timeout

    @validate("cors_origins")
    def _origins_as_browsers_send_them(self, proposal: Any) -> list[str]:
        """Any other spelling would silently match no request."""
        for origin in proposal.value:
            if not _ORIGIN.fullmatch(origin):
                raise TraitError(
                    f"--CopilotApp.cors_origins: {origin!r:.100} is not an origin. "
                    "Write scheme, host and port as browsers send them, such as https://example.org or "
                    "http://localhost:3000: in lower case, without a path or a slash at the end, and without wildcards."
                )
        return list(proposal.value)

    def _jupyter_server_config(self) -> dict[str, Any]:
        """Defaults for a server of its own: exactly one port; what the user sets for the server wins."""
        found: dict[str, Any] = super()._jupyter_server_config()  # type: ignore[no-untyped-call]
        found["TwoKeys"] = {"chat_key": self.chat_key}
        own = {"port": self.port, "port_retries": 0, "open_browser": False}
        config = self._serverapp().config
        set_by_user = {*config.ServerApp, *config.StandaloneServer}
        found["ServerApp"].update({name: value for name, value in own.items() if name not in set_by_user})
        return found

    # -- services and routes ------------------------------------------------------------------------------------------

    def initialize_settings(self) -> None:
        """Build what handlers share; nothing is started here."""
        loaded = load_settings()
        folder = loaded.cwd or str(self._serverapp().root_dir)
        # Nobody is asked about the server's environment: it counts as the settings of whoever runs the server.
        base = replace(loaded, cwd=folder, fs=False, terminal=False, agent_sharing="off", widened={})
        self.context = self._build_context(base)
        self._log_problems(base)
        self._sweeper = PeriodicCallback(self._sweep, SWEEP_MILLISECONDS)

    def _build_context(self, base: Settings) -> ServerContext:
        activity_times = self._serverapp().web_app.settings["last_activity_times"]
        limits = Limits(self.rate_limit, self.concurrency, activity_times, self.activity_timeout)
        pool = AgentPool(base, self.pool_size, self.idle_seconds, ModelCatalogue())
        media = MediaStore(
            url_path_join(self._serverapp().base_url, "" if self.root_paths else OWN_PATH, "/api/media/")
        )
        chat_settings = self._with_permissions(base, "chat_permission_mode", "chat_allow")
        return ServerContext(
            is_standalone=getattr(self._serverapp(), "_starter_app", None) is self,
            cors_origins=tuple(self.cors_origins),
            body_limit=self.body_limit,
            body_seconds=self.body_seconds,
            request_log=self.request_log,
            default_model=self.defaultModel,
            pool=pool,
            limits=limits,
            metrics=Metrics(lambda: pool.conversations, lambda: len(pool.hubs), lambda: limits.turns),
            conversations=ConversationCache(
                pool,
                self._with_permissions(base, "permission_mode", "allow"),
                agent_mode=self.agent_mode,
                size=self.kept_sessions,
                idle_seconds=self.idle_seconds,
            ),
            chats=ChatSessionManager(
                ChatServices(pool, limits, chat_settings, media.save, self.defaultModel),
                ChatLimits(self.approval_seconds, self.idle_seconds, self.kept_sessions),
            ),
            media=media,
        )

    def _with_permissions(self, base: Settings, mode: str, allow: str) -> Settings:
        """The user's deny and ask rules hold; what is allowed is up to these two settings of the server: by default
        nothing, since the user's own rules are meant for notebooks.
        """
        origins = {**base.origins, "allow": f"CopilotApp.{allow}"}
        settings = replace(base, allow=tuple(getattr(self, allow)), allow_limits={}, origins=origins)
        return in_mode(settings, getattr(self, mode), f"CopilotApp.{mode}")

    def _log_problems(self, base: Settings) -> None:
        problems = list(base.problems)
        for settings in (self.context.conversations.settings, self.context.chats.services.settings):
            book = Rulebook.of(settings)
            problems += (*settings.problems, *book.problems, *book.warnings)
        for problem in dict.fromkeys(problems):
            self.log.warning("Copilot: %s", problem)

    def initialize_handlers(self) -> None:
        """Add the routes, unless they are turned off in Jupyter's own server."""
        if self.autoStart or self.context.is_standalone:
            self.handlers.extend(routes(self.context, self.root_paths))
        if self.context.is_standalone:
            fallback = self._serverapp().web_app.wildcard_router.rules[-1]
            fallback.target, fallback.target_kwargs = NotFoundHandler, {"context": self.context}

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Start the idle sweep once the event loop is running."""
        self._sweeper.start()
        _stop_on_interrupt(serverapp)

    async def stop_extension(self) -> None:
        """End every conversation and every agent."""
        self._sweeper.stop()
        await self.context.chats.close()
        await self.context.pool.close()

    async def _sweep(self) -> None:
        self.context.limits.sweep()
        await self.context.conversations.store.sweep()
        await self.context.chats.store.sweep()

    def _serverapp(self) -> Any:
        assert self.serverapp is not None
        return self.serverapp


def routes(context: ServerContext, at_root: bool) -> list[tuple[str, type[Handler], dict[str, Any]]]:
    """All routes, the most specific first; everything else below our paths is a 404 in our own form."""
    places = (OWN_PATH, "") if at_root else (OWN_PATH,)
    own = {**OWN_ROUTES, **({} if context.is_standalone else USER_ROUTES)}
    found: list[tuple[str, type[Handler]]] = [(OWN_PATH + path, handler) for path, handler in own.items()]
    for place in places:
        found += [(place + path, handler) for path, handler in ROUTES.items()]
        found.append((rf"{place}/v1/(?:{NOT_OFFERED})(?:/.*)?", NotOfferedHandler))
    for place in (OWN_PATH, *ROOT_PATHS)[: None if at_root else 1]:
        found.append((rf"{place}(?:/.*)?", NotFoundHandler))
    return [(pattern, handler, {"context": context}) for pattern, handler in found]


def _stop_on_interrupt(serverapp: Any) -> None:
    """Stop extensions and kernels on SIGINT.

    Without a terminal, Jupyter leaves SIGINT to Python: the loop ends, and the process waits for the threads of agents
    that nobody ends. JupyterHub stops servers that way.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, serverapp._signal_stop)
