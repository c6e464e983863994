"""`GET copilot/openapi.json`: the API in words that programs read; what it says of requests is what is checked."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic.json_schema import models_json_schema

from .. import __version__
from .errors import phrase
from .handler import Handler
from .schema import ChatRequest, ResponsesRequest
from .shapes import REF, Json, answers, chat_events, response_events

ALWAYS = (403, 405, 413, 500)
"""On every route: another host or origin, a method, a body, a mistake of ours."""
AGENT = (429, 503)
"""Where the agent is needed."""


class Document(Handler):
    """The document; its server is where it was asked for."""

    route = "/copilot/openapi.json"

    def get(self) -> None:
        """OpenAPI 3.2: the first that has words for the events of a stream."""
        self.answer_json(document(f"{self.base_url}copilot"))


def document(server: str) -> Json:
    """The API at the address `server`."""
    return {
        "openapi": "3.2.0",
        "info": {"title": "Copilot Kernel", "version": __version__, "description": "OpenAI's API, over an agent."},
        "servers": [{"url": server}],
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**_requests(), **answers()},
        },
    }


def _paths() -> Json:
    model = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    return {
        "/v1/chat/completions": {"post": _asks("createChatCompletion", "ChatRequest", "ChatCompletion", chat_events())},
        "/v1/responses": {"post": _asks("createResponse", "ResponsesRequest", "Response", response_events())},
        "/v1/models": {"get": _tells("listModels", "Models", AGENT)},
        "/v1/models/{id}": {"get": {**_tells("retrieveModel", "Model", (404, *AGENT)), "parameters": [model]}},
        "/health": {"get": {**_tells("health", "Health", (), known=False), "security": []}},
        "/status": {"get": _tells("status", "Status", ())},
    }


def _asks(name: str, request: str, answer: str, events: Json) -> Json:
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": REF + request}}}}
    header = {"name": "X-Copilot-Session", "in": "header", "schema": {"type": "string", "maxLength": 512}}
    told = _tells(name, answer, (400, 415, *AGENT))
    told["responses"]["200"]["content"]["text/event-stream"] = {"itemSchema": events}
    return {**told, "parameters": [header], "requestBody": body}


def _tells(name: str, answer: str, errors: Sequence[int], known: bool = True) -> Json:
    usual = (401, *ALWAYS) if known else ALWAYS
    told = {str(status): _answer(phrase(status), "Error") for status in sorted((*usual, *errors))}
    return {"operationId": name, "responses": {"200": _answer("OK", answer), **told}}


def _answer(words: str, name: str) -> Json:
    return {"description": words, "content": {"application/json": {"schema": {"$ref": REF + name}}}}


def _requests() -> Json:
    kinds = [(ChatRequest, "validation"), (ResponsesRequest, "validation")]
    _, schema = models_json_schema(kinds, ref_template=REF + "{model}")  # type: ignore[arg-type]
    found: Json = schema["$defs"]
    return found


OWN_ROUTES = [(r"/openapi.json", Document)]
