"""The chat page, its files, and what chat clients request beside the WebSocket.

The page is static: ES modules and a style sheet, no build step, nothing from elsewhere. The agent's text comes as HTML
that `rendering` made safe; all the same, the content security policy forbids every script but our own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from ...acp.messages import SessionInfo
from ...commands.permission_commands import MODES
from ...errors import CopilotError
from ...rendering.plain import one_line, visible_text
from ..catalogue import choose
from ..errors import ApiError
from ..handler import Handler
from ..status import ModelsHandler

MAX_SESSIONS = 30

STATIC = Path(__file__).parent / "static"
FILES = {
    "chat.css": "text/css; charset=utf-8",
    **dict.fromkeys(
        ("answers.js", "chat.js", "code.js", "elements.js", "log.js", "wire.js"),
        "text/javascript; charset=utf-8",
    ),
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
MEDIA_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""An SVG image that is opened by itself runs no script and requests nothing."""
SUGGESTIONS = (
    "Explain what this project does",
    "Make a plan for a new feature",
    "Run the tests",
    "Find a bug and fix it",
)
_FIELD = re.compile(r"\{(base|mode|folder|path)\}")


class PageHandler(Handler):
    """`GET copilot/chat`: for people, so a login page instead of a 401."""

    is_of_chat = True
    route = "/copilot/chat"

    @property
    def content_security_policy(self) -> str:
        return "; ".join(f"{name} {value}" for name, value in POLICY.items())

    def get_login_url(self) -> str:
        """Jupyter's own."""
        return JupyterHandler.get_login_url(self)

    async def _check_user(self) -> None:
        if self.current_user is not None or self.request.method not in ("GET", "HEAD"):
            await super()._check_user()

    @web.authenticated
    def get(self) -> None:
        """The page. An attribute has its base URL; the permission mode of new chats stands at the top."""
        self.xsrf_token  # noqa: B018 -- reading it sets the cookie that the page's requests need
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        settings = self.context.chats.services.settings
        folder = Path(settings.folder)
        fields = {
            "base": url_path_join(self.base_url, "copilot/chat"),
            "mode": MODES[settings.permission_mode],
            "folder": visible_text(folder.name or folder),
            "path": visible_text(folder),
        }
        page = (STATIC / "chat.html").read_text("utf-8")
        self.finish(_FIELD.sub(lambda field: escape(fields[field[1]]), page))


class StaticHandler(Handler):
    """`GET copilot/chat/static/NAME`: one of the files of the page, which hold no secret.

    No login: a browser cannot send an XSRF token for an ES module, and JupyterHub requires one.
    """

    is_public, route = True, "/copilot/chat/static"

    @allow_unauthenticated
    def get(self, name: str) -> None:
        """Raises ApiError."""
        if name not in FILES:
            raise ApiError(404, "The chat page has no such file.")
        self.set_header("Content-Type", FILES[name])
        self.set_header("Cache-Control", "no-cache")
        self.finish((STATIC / name).read_bytes())


class MediaHandler(Handler):
    """`GET api/media/NAME`: a file that an agent produced, served so that no browser takes it for a page."""

    is_of_chat = True
    route = "/api/media"

    @property
    def content_security_policy(self) -> str:
        return MEDIA_POLICY

    def get(self, key: str) -> None:
        """Images and audio are shown, everything else is saved. Raises ApiError."""
        file = self.context.media.find(key)
        if file is None:
            raise ApiError(404, "This file no longer exists: the server keeps only the newest files, until it ends.")
        disposition = "inline" if file.is_inline else "attachment"
        name = file.name.encode("ascii", "replace").decode().replace("?", "_")
        self.set_header("Content-Type", file.content_type)
        self.set_header("Content-Disposition", f'{disposition}; filename="{name}"')
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")
        self.set_header("Cache-Control", "private, max-age=86400, immutable")
        self.finish(file.content)


class SuggestionsHandler(Handler):
    """`GET api/chat/suggestions`: prompts to begin with."""

    is_of_chat = True
    route = "/api/chat/suggestions"

    def get(self) -> None:
        """An array of strings."""
        self.answer_json(SUGGESTIONS)


class ChatModelsHandler(ModelsHandler):
    """`GET api/models`, `GET api/chat/models`."""

    is_of_chat = True
    route = "/api/chat/models"

    async def get(self) -> None:
        """The models, and the one that new conversations use."""
        models = await self.models()
        wanted = self.context.default_model or self.context.pool.catalogue.current or ""
        active = models[choose(models, wanted)]["id"] if models else None
        self.answer_json({"models": [*models.values()], "active": active})


class SessionsHandler(Handler):
    """`GET copilot/chat/sessions`: the agent's sessions in this folder, newest first.

    Those that are open elsewhere, such as in a client over HTTP, cannot be resumed and are left out.
    """

    is_of_chat = True
    route = "/copilot/chat/sessions"

    async def get(self) -> None:
        """An empty list if no agent runs, or it does not list sessions. Raises ApiError."""
        self.context.limits.spend()
        opened, taken = self.context.chats.store, self.context.pool.open_sessions
        found = [each for each in await self._sessions() if opened.find(each.id) or each.id not in taken]
        self.answer_json(
            [
                {
                    "id": each.id,
                    "title": one_line(visible_text(each.title)),
                    "updated_at": each.updated_at,
                    "open": opened.find(each.id) is not None,
                }
                for each in found[:MAX_SESSIONS]
            ]
        )

    async def _sessions(self) -> Sequence[SessionInfo]:
        if not self.context.pool.hubs:
            return ()
        context = self.context.chats.services.new_context()
        try:
            return await context.list_sessions(here=True)
        except CopilotError:
            return ()
        finally:
            await context.chat_runner.close()
