"""What all rooms' tests share."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The product runs on asyncio alone."""
    return "asyncio"
