"""A Jupyter server with the extension, and the demo agent behind it; nothing of the user's is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.server.app import CopilotApp
from traitlets.config import Config

pytest_plugins = ["pytest_jupyter.jupyter_server"]


@pytest.fixture
def jp_server_config() -> Config:
    return Config({"ServerApp": {"jpserver_extensions": {"copilot_kernel": True}}})
