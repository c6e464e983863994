"""`GET copilot/openapi.json`: the API in words that programs read; what it says of requests is what is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from .. import __version__
from .errors import phrase
from .handler import Handler
from .schema import ChatRequest, ResponsesRequest

Json = dict[str, Any]
REF = "#/components/schemas/"
ASKING = (400, 413, 415, 429, 500, 503)
NULLABLE_TEXT = {"type": ["string", "null"]}
WHOLE = {"type": "integer"}


class Document(Handler):
    """The document; its server is where it was asked for."""

    route = "/copilot/openapi.json"

    def get(self) -> None:
        """OpenAPI 3.1."""
        self.answer_json(document(f"{self.base_url}copilot"))


def document(server: str) -> Json:
    """The API at the address `server`."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Copilot Kernel", "version": __version__, "description": "OpenAI's API, over an agent."},
        "servers": [{"url": server}],
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**_requests(), **_answers()},
        },
    }


def _paths() -> Json:
    model = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    return {
        "/v1/chat/completions": {"post": _asks("createChatCompletion", "ChatRequest", "ChatCompletion")},
        "/v1/responses": {"post": _asks("createResponse", "ResponsesRequest", "Response")},
        "/v1/models": {"get": _tells("listModels", "Models", (503,))},
        "/v1/models/{id}": {"get": {**_tells("retrieveModel", "Model", (404, 503)), "parameters": [model]}},
        "/health": {"get": {**_tells("health", "Health", (), known=False), "security": []}},
        "/status": {"get": _tells("status", "Status", ())},
    }


def _asks(name: str, request: str, answer: str) -> Json:
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": REF + request}}}}
    header = {"name": "X-Copilot-Session", "in": "header", "schema": {"type": "string", "maxLength": 512}}
    told = _tells(name, answer, ASKING)
    told["responses"]["200"]["content"]["text/event-stream"] = {"schema": {"type": "string"}}
    return {**told, "parameters": [header], "requestBody": body}


def _tells(name: str, answer: str, errors: Sequence[int], known: bool = True) -> Json:
    usual = (401, 403) if known else (403,)
    told = {str(status): _answer(phrase(status), "Error") for status in (*usual, 405, *errors)}
    return {"operationId": name, "responses": {"200": _answer("OK", answer), **told}}


def _answer(words: str, name: str) -> Json:
    return {"description": words, "content": {"application/json": {"schema": {"$ref": REF + name}}}}


def _requests() -> Json:
    kinds = [(ChatRequest, "validation"), (ResponsesRequest, "validation")]
    _, schema = models_json_schema(kinds, ref_template=REF + "{model}")  # type: ignore[arg-type]
    found: Json = schema["$defs"]
    return found


def _answers() -> Json:
    texts = {"type": "array", "items": {"type": "string"}}
    choice = _object(
        index=WHOLE,
        message=_object(role={"const": "assistant"}, content={"type": "string"}, refusal=NULLABLE_TEXT),
        finish_reason={"enum": ["stop", "length", "content_filter"]},
    )
    usage = {"type": ["object", "null"]}
    return {
        "ChatCompletion": _object(
            id={"type": "string"},
            object={"const": "chat.completion"},
            created=WHOLE,
            model={"type": "string"},
            choices={"type": "array", "minItems": 1, "maxItems": 1, "items": choice},
            usage=usage,
        ),
        "Response": _object(
            id={"type": "string"},
            object={"const": "response"},
            created_at=WHOLE,
            status={"enum": ["completed", "incomplete"]},
            model={"type": "string"},
            output={"type": "array", "items": {"type": "object"}},
            usage=usage,
        ),
        "Model": _object(
            id={"type": "string"},
            object={"const": "model"},
            created=WHOLE,
            owned_by={"type": "string"},
            name={"type": "string"},
            family=NULLABLE_TEXT,
            version=NULLABLE_TEXT,
            maxInputTokens={"type": ["integer", "null"]},
        ),
        "Models": _object(object={"const": "list"}, data={"type": "array", "items": {"$ref": REF + "Model"}}),
        "Health": _object(status={"const": "ok"}, models_available=WHOLE),
        "Status": _object(
            state={"const": "running"},
            alone={"type": "boolean"},
            port=WHOLE,
            models=texts,
            sessions=WHOLE,
            agents=WHOLE,
            turns=WHOLE,
        ),
        "Error": _object(
            error=_object(message={"type": "string"}, type={"type": "string"}, param=NULLABLE_TEXT, code=WHOLE)
        ),
    }


def _object(**members: Json) -> Json:
    """All of these, and perhaps more."""
    return {"type": "object", "properties": members, "required": list(members)}


OWN_ROUTES = [(r"/openapi.json", Document)]
