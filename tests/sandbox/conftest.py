"""Sandboxes need bubblewrap, and namespaces that are allowed."""

import os

import pytest
from copilot_kernel.sandbox.probe import SandboxUnavailable, find_tools, try_bubblewrap

from ..real.agents import INSTALL, PEERS


@pytest.fixture(scope="session")
def bubblewrap() -> str:
    """The program; skips where there can be no sandbox, which fails in CI."""
    try:
        program = find_tools(None, os.environ).bubblewrap
        try_bubblewrap(program)
    except SandboxUnavailable as error:
        pytest.skip(f"{error}. {error.hint}")
    return program


@pytest.fixture(scope="session")
def srt_path() -> str:
    """A PATH on which there is `srt`, with what it needs; skips where it is not installed, which fails in CI."""
    path = f"{os.environ['PATH']}:{PEERS / '.bin'}"
    try:
        find_tools((), {"PATH": path})
    except SandboxUnavailable as error:
        pytest.skip(f"{error}. {error.hint}, or: {INSTALL}")
    return path
