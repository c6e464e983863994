"""`GET /v1/models` and `GET /v1/models/{id}`: asks the agent, which is started if need be."""

from __future__ import annotations

from ..errors import CopilotError
from .catalogue import Model
from .errors import ApiError, for_client
from .handler import Handler


class Models(Handler):
    """The list."""

    route = "/v1/models"

    async def get(self) -> None:
        """OpenAI's list, with what the agent tells of each."""
        self.answer_json({"object": "list", "data": [model.as_json() for model in await self.known()]})

    async def known(self) -> tuple[Model, ...]:
        """All models. Raises ApiError."""
        self.app.limits.spend()
        try:
            return await self.app.models()
        except CopilotError as error:
            raise for_client(error) from error


class OneModel(Models):
    """One of them, by its whole id."""

    route = "/v1/models/{id}"

    async def get(self, id: str) -> None:  # type: ignore[override]
        """Raises ApiError for one that there is not."""
        for model in await self.known():
            if model.id == id:
                return self.answer_json(model.as_json())
        raise ApiError(404, "There is no model of this id; GET /v1/models lists them.", "model")


ROUTES = [(r"/v1/models", Models), (r"/v1/models/(.+)", OneModel)]
