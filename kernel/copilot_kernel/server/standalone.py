"""A Jupyter server with nothing but this extension: no kernels, files or terminals, so that its token opens no more."""

from __future__ import annotations

from jupyter_server.serverapp import ServerApp
from traitlets import Bool, default


class StandaloneServer(ServerApp):
    """What `jupyter copilot` runs."""

    default_services: tuple[str, ...] = ("api", "auth", "security", "shutdown")  # type: ignore[assignment]

    tell_token = Bool(True, help="Whether a generated token is printed at the start, as Jupyter does.").tag(config=True)

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
