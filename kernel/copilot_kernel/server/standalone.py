"""A Jupyter server with nothing but this extension: no kernels, files or terminals, so that its token opens no more."""

from __future__ import annotations

from hmac import compare_digest
from typing import Any

from jupyter_server.auth.identity import PasswordIdentityProvider, User
from jupyter_server.serverapp import ServerApp
from traitlets import Bool, Unicode, default

CHAT_USER = "copilot-chat"


class TwoKeys(PasswordIdentityProvider):
    """The token opens the API; the chat, whose user answers questions, has a key of its own."""

    chat_key = Unicode(help="See CopilotApp.chat_key.").tag(config=True)

    async def get_user_token(self, handler: Any) -> User | None:
        """Whoever has the key of the chat is CHAT_USER, also by the cookie that Jupyter then sets."""
        given = self.get_token(handler) or ""
        if self.chat_key and compare_digest(given.encode(), self.chat_key.encode()):
            return User(CHAT_USER)
        return await super().get_user_token(handler)


class StandaloneServer(ServerApp):
    """Application of `jupyter copilot`."""

    default_services: tuple[str, ...] = ("api", "auth", "security", "shutdown")  # type: ignore[assignment]

    identity_provider_class = TwoKeys

    tell_token = Bool(True, help="Print a generated token at the start, as Jupyter does.").tag(config=True)

    @default("reraise_server_extension_failures")
    def _fail_without_routes(self) -> bool:
        """An invalid setting of the extension ends the server: without our routes it would serve nothing."""
        return True

    def init_webapp(self) -> None:
        """Print a generated token as dots, like a configured one, if that is wanted."""
        super().init_webapp()
        if not self.tell_token:
            self.identity_provider.token_generated = False

    def init_httpserver(self) -> None:
        """Limit how long a connection may stay silent; in Jupyter's own server that is Jupyter's business."""
        super().init_httpserver()
        self.http_server.conn_params.header_timeout = self.starter_app.header_seconds
