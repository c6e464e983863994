"""State of the server: `/health`, `/v1/models`, `copilot/status` and `copilot/metrics`."""

from __future__ import annotations

from jupyter_server.auth.decorator import allow_unauthenticated
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from .catalogue import ModelObject
from .errors import ApiError
from .handler import Handler


class HealthHandler(Handler):
    """`GET /health`: without a login; never starts an agent."""

    is_public, route = True, "/health"

    @allow_unauthenticated
    def get(self) -> None:
        """`models_available` is the number last known; 0 before the agent was first needed."""
        self.answer_json({"status": "ok", "models_available": len(self.context.pool.catalogue.models)})


class StatusHandler(Handler):
    """`GET copilot/status`: what `copilot-kernel serve status` shows; never starts an agent."""

    route = "/copilot/status"

    def get(self) -> None:
        """State, models, and how many conversations, agents and turns there are."""
        pool = self.context.pool
        self.answer_json(
            {
                "version": 1,  # of what follows; see `copilot_kernel.kept_files`
                "state": "running",
                "alone": self.context.is_standalone,
                "port": self.settings["serverapp"].port,
                "models": [model["id"] for model in pool.catalogue.models.values()],
                "sessions": pool.conversations,
                "agents": len(pool.hubs),
                "turns": self.context.limits.turns,
            }
        )


class MetricsHandler(Handler):
    """`GET copilot/metrics`, for Prometheus."""

    route = "/copilot/metrics"

    def get(self) -> None:
        """The text format."""
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(generate_latest(self.context.metrics.registry))


class ModelsHandler(Handler):
    """`GET /v1/models`: asks the agent, which is started if need be."""

    route = "/v1/models"

    async def get(self) -> None:
        """OpenAI's list, with what the agent reports of each."""
        self.answer_json({"object": "list", "data": [*(await self.models()).values()]})

    async def models(self) -> dict[str, ModelObject]:
        """All models, by the agent's own ids. Raises CopilotError."""
        self.context.limits.spend()
        return await self.context.pool.models()


class ModelHandler(ModelsHandler):
    """`GET /v1/models/{id}`."""

    route = "/v1/models/{id}"

    async def get(self, id: str) -> None:  # type: ignore[override]
        """One model, by its whole id."""
        for model in (await self.models()).values():
            if model["id"] == id:
                return self.answer_json(model)
        raise ApiError(404, "Unknown model. GET /v1/models lists the available ones.", "model")
