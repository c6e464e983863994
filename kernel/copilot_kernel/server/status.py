"""What the server offers and what it is doing: `/health`, `/v1/models`, `copilot/status` and `copilot/metrics`."""

from __future__ import annotations

from jupyter_server.auth.decorator import allow_unauthenticated
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ..errors import CopilotError
from .catalogue import Model
from .errors import ApiError, api_error
from .handler import Handler
from .openai.schema import Health, ModelObject, Status, model_object


class HealthHandler(Handler):
    """`GET /health`: without a login; never starts an agent."""

    is_public, route = True, "/health"

    @allow_unauthenticated
    def get(self) -> None:
        """`models_available` is the number last known; 0 before the agent was first needed."""
        self.answer_json(Health(status="ok", models_available=len(self.context.pool.catalogue.models)))

    @allow_unauthenticated
    def head(self, *args: str) -> None:
        """The same without a body."""
        self.get()


class StatusHandler(Handler):
    """`GET copilot/status`: what `copilot-kernel serve status` shows; never starts an agent."""

    route = "/copilot/status"

    def get(self) -> None:
        """State, models, and how many conversations, agents and turns there are."""
        pool = self.context.pool
        self.answer_json(
            Status(
                state="running",
                alone=self.context.http.is_standalone,
                port=self.settings["serverapp"].port,
                models=[model.id for model in pool.catalogue.models],
                sessions=pool.conversations,
                agents=pool.running,
                turns=len(self.context.limits.activity),
            )
        )


class MetricsHandler(Handler):
    """`GET copilot/metrics`, for Prometheus."""

    route = "/copilot/metrics"

    def get(self) -> None:
        """The text format."""
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(self.context.metrics.text())


class ModelsHandler(Handler):
    """`GET /v1/models`: asks the agent, which is started if need be."""

    route = "/v1/models"

    async def get(self) -> None:
        """OpenAI's list, with what the agent reports of each."""
        self.answer_json({"object": "list", "data": await self.model_objects()})

    async def models(self) -> tuple[Model, ...]:
        """All models. Raises ApiError."""
        self.context.limits.spend()
        try:
            return await self.context.pool.models()
        except CopilotError as error:
            raise api_error(error) from error

    async def model_objects(self) -> list[ModelObject]:
        """All models as JSON. Raises ApiError."""
        return [model_object(model) for model in await self.models()]


class ModelHandler(ModelsHandler):
    """`GET /v1/models/{id}`."""

    route = "/v1/models/{id}"

    async def get(self, id: str) -> None:  # type: ignore[override]
        """One model, by its whole id."""
        for model in await self.model_objects():
            if model["id"] == id:
                return self.answer_json(model)
        raise ApiError(404, "There is no model of this id; GET /v1/models lists them.", "model")


ROUTES = [(r"/health", HealthHandler), (r"/v1/models", ModelsHandler), (r"/v1/models/(.+)", ModelHandler)]
OWN_ROUTES = [(r"/status", StatusHandler), (r"/metrics", MetricsHandler)]
