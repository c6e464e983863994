"""The document that describes the API, and whether the API is as it says."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
import schemathesis
from copilot_kernel.server.health import Health, Status
from copilot_kernel.server.models import Models
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import one_of
from jsonschema_rs import ValidationError
from jupyter_server.auth.decorator import allow_unauthenticated
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from .api import LIMIT, Api, user

CHECKS = (
    schemathesis.checks.not_a_server_error,
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
"""Not `positive_data_acceptance`: that tools, images by address and more are refused, a schema does not say."""
EXAMPLES = 12
OPERATIONS = ("createChatCompletion", "createResponse", "listModels", "retrieveModel", "health", "status")


async def test_all_operations_are_known_here(api: Api) -> None:
    document = (await api.ask("copilot/openapi.json")).body
    found = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert sorted(found) == sorted(OPERATIONS)


async def test_every_status_that_a_route_can_have_is_in_it(api: Api) -> None:
    """What every route can have, and what only those have that ask the agent."""
    paths = (await api.ask("copilot/openapi.json")).body["paths"]
    found = {path: {*map(int, each["responses"])} for path, methods in paths.items() for each in methods.values()}
    always, agent = {200, 403, 405, 413, 500}, {401, 429, 503}
    assert found == {
        "/v1/chat/completions": always | agent | {400, 415},
        "/v1/responses": always | agent | {400, 415},
        "/v1/models": always | agent,
        "/v1/models/{id}": always | agent | {404},
        "/health": always,
        "/status": always | {401},
    }


@pytest.mark.parametrize("extension", [{"body_limit": 100}], indirect=True)
async def test_a_body_that_is_too_large_and_a_mistake_of_ours_can_happen_everywhere(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = (await api.ask("copilot/openapi.json")).body["paths"]
    for handler in (Health, Status, Models):
        monkeypatch.setattr(handler, "get", allow_unauthenticated(lambda self, *args: 1 / 0))
    async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
        for path in ("/health", "/status", "/v1/models"):
            for body, status in ((b"x" * 101, 413), (b"", 500)):
                got = await client.request("GET", f"{api.url}copilot{path}", content=body, headers=api.bearer)
                assert (got.status_code, str(status) in paths[path]["get"]["responses"]) == (status, True)


async def test_the_document_is_one_of_its_version(api: Api) -> None:
    document = (await api.ask("copilot/openapi.json")).body
    schemathesis.openapi.from_dict(document).validate()
    del document["info"]["title"]
    with pytest.raises(ValidationError, match="title"):
        schemathesis.openapi.from_dict(document).validate()


@pytest.mark.parametrize("extension", [{"rate_limit": 0}], indirect=True)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_the_api_does_what_its_document_says(api: Api, operation: str) -> None:
    document = (await api.ask("copilot/openapi.json")).body
    await asyncio.to_thread(try_out, api, document, operation)


STREAMS = {
    "plain": "demo: say Hello\nsay and more",
    "cut off": "demo: stop max_tokens",
    "failed in the middle": "demo: say Hello\nerror -32603 broken",
}


@pytest.mark.parametrize("prompt", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("operation", OPERATIONS[:2])
async def test_the_events_of_a_stream_are_as_the_document_says(api: Api, operation: str, prompt: str) -> None:
    document = (await api.ask("copilot/openapi.json")).body
    await asyncio.to_thread(stream, api, document, operation, prompt)


@pytest.mark.parametrize(("operation", "place", "wrong"), [
    ("createChatCompletion", ("components", "schemas", "ChatCompletionChunk", "properties", "object"), "chat.piece"),
    ("createResponse", ("event", 0, "properties", "data", "contentSchema", "properties", "type"), "response.begun"),
])  # fmt: skip
async def test_events_that_are_not_as_it_says_are_found(
    api: Api, operation: str, place: tuple[str | int, ...], wrong: str
) -> None:
    document = (await api.ask("copilot/openapi.json")).body
    found: Any = {**document, "event": events_of(document, operation).get("anyOf")}
    for step in place:
        found = found[step]
    found["const"] = wrong
    with pytest.raises(FailureGroup, match="SSE event"):
        await asyncio.to_thread(stream, api, document, operation, STREAMS["plain"])


def events_of(document: dict[str, Any], operation: str) -> dict[str, Any]:
    (found,) = (
        each["post"] for each in document["paths"].values() if each.get("post", {}).get("operationId") == operation
    )
    return dict(found["responses"]["200"]["content"]["text/event-stream"]["itemSchema"])


def stream(api: Api, document: dict[str, Any], operation: str, prompt: str) -> None:
    """One request with `stream`, and the checks."""
    asked: dict[str, Any] = {"messages": user(prompt)} if operation == OPERATIONS[0] else {"input": prompt}
    more = {"stream_options": {"include_usage": True}} if operation == OPERATIONS[0] else {}
    case = described(api, document, operation).Case(
        body={**asked, **more, "stream": True}, media_type="application/json"
    )
    answer = case.call_and_validate(checks=list(CHECKS), headers=api.bearer, timeout=LIMIT)
    assert answer.headers["content-type"] == ["text/event-stream"]


def described(api: Api, document: dict[str, Any], operation: str) -> Any:
    """One operation of the document, on this server."""
    schema = schemathesis.openapi.from_dict(document).include(operation_id=operation)
    schema.config.update(base_url=f"{api.url}copilot")
    (found,) = (each.ok() for each in schema.get_all_operations())
    return found


def try_out(api: Api, document: dict[str, Any], operation: str) -> None:
    found = described(api, document, operation)
    has_input = operation in OPERATIONS[:2]
    wanted = [found.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)]

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=one_of(*(wanted if has_input else wanted[:1])))
    def run(case: Any) -> None:
        case.call_and_validate(checks=list(CHECKS), headers=api.bearer, timeout=LIMIT)

    run()
