"""The document that describes the API, and whether the API is as it says."""

from __future__ import annotations

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

from .api import Api

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


@pytest.mark.parametrize("extension", [{"rate_limit": 0}], indirect=True)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_the_api_does_what_its_document_says(api: Api, operation: str) -> None:
    document = (await api.ask("copilot/openapi.json")).body
    await asyncio.to_thread(try_out, api, document, operation)


def try_out(api: Api, document: dict[str, Any], operation: str) -> None:
    schema = schemathesis.openapi.from_dict(document).include(operation_id=operation)
    schema.config.update(base_url=f"{api.url}copilot")
    has_input = operation in OPERATIONS[:2]
    (found,) = (each.ok() for each in schema.get_all_operations())
    wanted = [found.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)]

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=one_of(*(wanted if has_input else wanted[:1])))
    def run(case: Any) -> None:
        case.call_and_validate(checks=list(CHECKS), headers=api.bearer, timeout=20)

    run()
