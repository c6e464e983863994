"""A Jupyter server with nothing but this extension: no kernels, files or terminals, so that its token opens no more."""

from __future__ import annotations

from jupyter_server.serverapp import ServerApp
from traitlets import Bool, default

from .unknown import Unknown


class StandaloneServer(ServerApp):
    """What `jupyter copilot` runs."""

    default_services: tuple[str, ...] = ("api", "auth", "security", "shutdown")  # type: ignore[assignment]

    tell_token = Bool(True, help="Whether a token that was made up is told at the start, as Jupyter does.").tag(
        config=True
    )

    @default("reraise_server_extension_failures")
    def _no_server_without_routes(self) -> bool:
        """A setting that cannot be ends it: without our routes it would serve nothing."""
        return True

    def init_webapp(self) -> None:
        """A token that was made up is like one of the settings then: told as dots. What is nowhere, is told as JSON."""
        super().init_webapp()
        leftover = self.web_app.wildcard_router.rules[-1]
        leftover.target, leftover.target_kwargs = Unknown, {"name": "copilot"}
        if not self.tell_token:
            self.identity_provider.token_generated = False

    def init_httpserver(self) -> None:
        """Nobody holds a connection for long without a word; in Jupyter's own server that is Jupyter's business."""
        super().init_httpserver()
        self.http_server.conn_params.header_timeout = self.starter_app.header_seconds
