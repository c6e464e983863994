"""The document that describes the API, and whether the API is as it says."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import one_of

from .api import LIMIT, Api, scripted, user

EXAMPLES = 6
OPERATIONS = ("createChatCompletion", "listModels", "retrieveModel", "health", "status")


def checks() -> list[Any]:
    """Not `positive_data_acceptance`: that tools, images by address and more are refused, a schema does not say."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    return [
        not_a_server_error,
        checks.content_type_conformance,
        checks.ignored_auth,
        checks.negative_data_rejection,
        checks.response_schema_conformance,
        checks.status_code_conformance,
        checks.unsupported_method,
    ]


@pytest.mark.parametrize("extension", [{"rate_limit": 0}], indirect=True)
async def test_the_api_does_what_its_document_says(api: Api) -> None:
    import schemathesis  # takes seconds

    document = (await api.ask("copilot/openapi.json")).body
    schemathesis.openapi.from_dict(document).validate()
    assert [each["operationId"] for methods in document["paths"].values() for each in methods.values()] == [*OPERATIONS]
    async with scripted(api.pool):  # the demo agent would act on some words
        for operation in OPERATIONS:
            await asyncio.to_thread(try_out, api, document, operation)


async def test_the_events_of_a_stream_are_as_the_document_says(api: Api) -> None:
    document = (await api.ask("copilot/openapi.json")).body
    for prompt in ("say Hello\nsay and more", "stop max_tokens", "say Hello\nerror -32603 broken"):
        await asyncio.to_thread(stream, api, document, f"demo: {prompt}")


def stream(api: Api, document: dict[str, Any], prompt: str) -> None:
    """One request with `stream`, and the checks."""
    body = {"messages": user(prompt), "stream": True, "stream_options": {"include_usage": True}}
    case = described(api, document, OPERATIONS[0]).Case(body=body, media_type="application/json")
    answer = case.call_and_validate(checks=checks(), headers=api.bearer, timeout=LIMIT)
    assert answer.headers["content-type"] == ["text/event-stream"]


def described(api: Api, document: dict[str, Any], operation: str) -> Any:
    """One operation of the document, on this server."""
    import schemathesis

    schema = schemathesis.openapi.from_dict(document).include(operation_id=operation)
    schema.config.update(base_url=f"{api.url}copilot")
    (found,) = (each.ok() for each in schema.get_all_operations())
    return found


def try_out(api: Api, document: dict[str, Any], operation: str) -> None:
    from schemathesis import GenerationMode

    found = described(api, document, operation)
    has_input = operation == OPERATIONS[0]
    wanted = [found.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)]

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=one_of(*(wanted if has_input else wanted[:1])))
    def run(case: Any) -> None:
        case.call_and_validate(checks=checks(), headers=api.bearer, timeout=LIMIT)

    run()
