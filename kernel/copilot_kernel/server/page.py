"""The chat page, its files, and the small answers that chat clients ask for beside the WebSocket.

The page is static: an ES module and a style sheet, no build step, nothing from elsewhere. What agents say comes as HTML
that was made safe by `rendering`; all the same, the content security policy forbids every script but our own.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from ..acp.messages import SessionInfo
from ..chat import Chat
from ..errors import CopilotError
from ..frontend.chat_runner import CLOSE_LIMIT
from ..frontend.modes import MODES
from ..frontend.sessions import newest_first
from ..rendering.plain import one_line, visible_text
from .catalogue import choose
from .errors import ApiError
from .handler import Handler
from .models import Models
from .pool import IN_CHAT

MOST_RECENT = 30

STATIC = Path(__file__).parent / "static"
FILES = {
    "chat.css": "text/css; charset=utf-8",
    "chat.js": "text/javascript; charset=utf-8",
    "log.js": "text/javascript; charset=utf-8",
    "wire.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "style-src-attr": "'unsafe-inline'",
    "connect-src": "'self'",
    "img-src": "'self' data:",
    "media-src": "'self' data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'self'",
}
"""`style` attributes are how our HTML carries its colours; style sheets are only our own."""
_FIELD = re.compile(r"\{(base|mode|folder|path)\}")
SUGGESTIONS = (
    "Explain what this project does",
    "Make a plan for a new feature",
    "Run the tests",
    "Find a bug and fix it",
)


class Page(Handler):
    """`GET copilot/chat`: for people, so a login page instead of a 401."""

    route = "/copilot/chat"

    @property
    def content_security_policy(self) -> str:
        """Everything that is not named is forbidden."""
        return "; ".join(f"{name} {value}" for name, value in POLICY.items())

    def get_login_url(self) -> str:
        """Jupyter's own."""
        return JupyterHandler.get_login_url(self)

    async def _admit(self) -> None:
        if self.current_user is not None or self.request.method not in ("GET", "HEAD"):
            await super()._admit()

    @web.authenticated
    def get(self) -> None:
        """The page. Where it is, it learns from an attribute; what new chats may do, it says at the top."""
        self.xsrf_token  # noqa: B018 -- reading it sets the cookie that the page's requests need
        page = (STATIC / "chat.html").read_text("utf-8")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("X-Content-Type-Options", "nosniff")
        base = url_path_join(self.base_url, "copilot/chat")
        settings = self.app.chat_settings
        means = f"{settings.permission_mode}: {MODES[settings.permission_mode]}"
        folder = Path(settings.folder)
        told = {
            "base": base,
            "mode": means,
            "folder": visible_text(folder.name or folder),
            "path": visible_text(folder),
        }
        self.finish(_FIELD.sub(lambda field: escape(told[field[1]]), page))


class Asset(Handler):
    """`GET copilot/chat/static/NAME`: one of the few files of the page, which hold no secret.

    No login: a browser can send no XSRF token for an ES module, and JupyterHub wants one.
    """

    everyone, route = True, "/copilot/chat/static"

    @allow_unauthenticated
    def get(self, name: str) -> None:
        """Raises ApiError."""
        if name not in FILES:
            raise ApiError(404, "The chat page has no such file.")
        self.set_header("Content-Type", FILES[name])
        self.set_header("Cache-Control", "no-cache")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.finish((STATIC / name).read_bytes())

    @allow_unauthenticated
    def head(self, *args: str) -> None:
        """The same without its body."""
        self.get(*args)


class Suggestions(Handler):
    """`GET api/chat/suggestions`."""

    route = "/api/chat/suggestions"

    suggestions: ClassVar[tuple[str, ...]] = SUGGESTIONS

    def get(self) -> None:
        """An array of texts to begin with."""
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(self.suggestions))


class ChatModels(Models):
    """`GET api/models`, `GET api/chat/models`."""

    route = "/api/chat/models"

    async def get(self) -> None:
        """The models, and the one that new conversations use."""
        models = await self.known()
        wanted = self.app.defaultModel or self.app.catalogue.current or ""
        active: Any = choose(models, wanted).id if models else None
        self.answer_json({"models": [model.as_json() for model in models], "active": active})


class Recent(Handler):
    """`GET copilot/chat/sessions`: conversations that the agent keeps for this folder, newest first.

    Those that somebody else has open, such as a client over HTTP, cannot be resumed and are left out.
    """

    route = "/copilot/chat/sessions"

    async def get(self) -> None:
        """An empty list where the agent does not run, or lists none. Raises ApiError."""
        self.app.limits.spend()
        found = newest_first(await self._listed())[:MOST_RECENT]
        self.answer_json([{**_told(each), "open": each.id in self.app.chat_services.talks} for each in found])

    async def _listed(self) -> tuple[SessionInfo, ...]:
        if self.app.pool.link is None:
            return ()
        home = await self.app.pool.home(self.app.chat_settings, IN_CHAT)
        try:
            return await home.do(self._free)
        except CopilotError:
            return ()
        finally:
            await home.close(CLOSE_LIMIT)

    async def _free(self, chat: Chat) -> tuple[SessionInfo, ...]:
        talks = self.app.chat_services.talks
        return tuple(each for each in await chat.sessions() if each.id in talks or not chat.agent.elsewhere(each.id))


def _told(session: SessionInfo) -> dict[str, str]:
    title = one_line(visible_text(session.title))
    return {"id": session.id, "title": title, "updated_at": session.updated_at}


ROUTES = [
    (r"/api/chat/suggestions", Suggestions),
    (r"/api/chat/models", ChatModels),
    (r"/api/models", ChatModels),
]
OWN_ROUTES = [(r"/chat/?", Page), (r"/chat/static/([^/]+)", Asset), (r"/chat/sessions", Recent)]
