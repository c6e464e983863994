"""Is it there, what is it doing, and how much: `/health` for everyone, `copilot/status` and `copilot/metrics` not."""

from __future__ import annotations

from jupyter_server.auth.decorator import allow_unauthenticated

from .handler import Handler
from .metrics import CONTENT_TYPE_LATEST


class Health(Handler):
    """`GET /health`: without a login, and never starts an agent."""

    everyone, route = True, "/health"

    @allow_unauthenticated
    def get(self) -> None:
        """`models_available` is what was known last; 0 before the agent was first needed."""
        self.answer_json({"status": "ok", "models_available": len(self.app.catalogue.models)})

    @allow_unauthenticated
    def head(self, *args: str) -> None:
        """The same, for those who look whether it is there."""
        self.get()


class Status(Handler):
    """`GET copilot/status`: what `copilot-kernel serve status` shows."""

    route = "/copilot/status"

    def get(self) -> None:
        """State, models, and how many conversations, agents and turns there are. Never starts an agent."""
        self.answer_json(self.app.status())


class Figures(Handler):
    """`GET copilot/metrics`, for Prometheus."""

    route = "/copilot/metrics"

    def get(self) -> None:
        """The text format."""
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(self.app.metrics.text())


ROUTES = [(r"/health", Health)]
OWN_ROUTES = [(r"/status", Status), (r"/metrics", Figures)]
