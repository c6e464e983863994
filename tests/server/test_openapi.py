"""The document that describes the API, and whether the API is as it says."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import one_of
from schemathesis import GenerationMode
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
EXAMPLES = 6
OPERATIONS = ("createChatCompletion", "createResponse", "listModels", "retrieveModel", "health", "status")


async def test_every_status_that_a_route_can_have_is_in_it(api: Api) -> None:
    """What every route can have, and what only those have that ask the agent."""
    document = (await api.ask("copilot/openapi.json")).body
    schemathesis.openapi.from_dict(document).validate()
    paths = document["paths"]
    names = [each["operationId"] for methods in paths.values() for each in methods.values()]
    assert sorted(names) == sorted(OPERATIONS)
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


@pytest.mark.parametrize("extension", [{"rate_limit": 0}], indirect=True)
async def test_the_api_does_what_its_document_says(api: Api) -> None:
    document = (await api.ask("copilot/openapi.json")).body
    for operation in OPERATIONS:
        await asyncio.to_thread(try_out, api, document, operation)


async def test_the_events_of_a_stream_are_as_the_document_says(api: Api) -> None:
    document = (await api.ask("copilot/openapi.json")).body
    for operation in OPERATIONS[:2]:
        for prompt in ("say Hello\nsay and more", "stop max_tokens", "say Hello\nerror -32603 broken"):
            await asyncio.to_thread(stream, api, document, operation, f"demo: {prompt}")


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
