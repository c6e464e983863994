"""`GET copilot/openapi.json`: the API as an OpenAPI document; its schemas are those of `schema`."""

from __future__ import annotations

from collections.abc import Sequence
from http.client import responses
from typing import Any

from pydantic import TypeAdapter

from ... import __version__
from ...acp.messages import Json
from ..handler import Handler
from .schema import ChatCompletion, ChatCompletionChunk, ChatRequest, Error, Health, Models, ServerStatus

REF = "#/components/schemas/"
TYPES = (ChatRequest, ChatCompletion, ChatCompletionChunk, Models, Health, ServerStatus, Error)
DONE = "[DONE]"
"""The last event of a successful chat completion; it is not JSON."""
ALWAYS = (403, 405, 413, 500)
"""Any route can refuse a host or origin, a method or a body, or have a bug."""
NEEDS_AGENT = (429, 503)


class OpenApiHandler(Handler):
    """The document; its server is the one that was asked."""

    route = "/copilot/openapi.json"

    def get(self) -> None:
        """OpenAPI 3.2: the first version that describes the events of a stream."""
        self.answer_json(document(f"{self.base_url}copilot"))


def document(server: str) -> Json:
    """The API at the address `server`."""
    kinds: list[Any] = [(kind, "validation", TypeAdapter(kind)) for kind in TYPES]
    _, schemas = TypeAdapter.json_schemas(kinds, ref_template=REF + "{model}")
    return {
        "openapi": "3.2.0",
        "info": {"title": "Copilot Kernel", "version": __version__, "description": "OpenAI's API, over an agent."},
        "servers": [{"url": server}],
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas["$defs"],
        },
    }


def _paths() -> Json:
    id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    return {
        "/v1/chat/completions": {"post": _chat()},
        "/v1/models": {"get": _operation("listModels", "Models", (401, *NEEDS_AGENT))},
        "/v1/models/{id}": {
            "get": {**_operation("retrieveModel", "ModelObject", (401, 404, *NEEDS_AGENT)), "parameters": [id]}
        },
        "/health": {"get": {**_operation("health", "Health", ()), "security": []}},
        "/status": {"get": _operation("status", "ServerStatus", (401,))},
    }


def _chat() -> Json:
    """An event's `event` is `message`, as everywhere that a stream does not name its events (HTML standard)."""
    chunk = {"anyOf": [_ref("ChatCompletionChunk"), _ref("Error")]}
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": chunk}
    members = {"event": {"const": "message"}, "data": {"anyOf": [{"const": DONE}, data]}}
    event = {"type": "object", "properties": members, "required": ["data"]}
    session = {"name": "X-Copilot-Session", "in": "header", "schema": {"type": "string", "maxLength": 512}}
    operation = _operation("createChatCompletion", "ChatCompletion", (400, 401, 415, *NEEDS_AGENT))
    operation["responses"]["200"]["content"]["text/event-stream"] = {"itemSchema": event}
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref("ChatRequest")}}}
    return {**operation, "parameters": [session]}


def _operation(name: str, answer: str, errors: Sequence[int]) -> Json:
    problems = {str(status): _answer(responses[status], "Error") for status in sorted((*ALWAYS, *errors))}
    return {"operationId": name, "responses": {"200": _answer("OK", answer), **problems}}


def _answer(description: str, name: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": _ref(name)}}}


def _ref(name: str) -> Json:
    return {"$ref": REF + name}
