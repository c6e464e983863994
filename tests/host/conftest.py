"""Terminals and a root for the tests of the host, and the proof that nothing of them is left."""

import os

import pytest
from copilot_kernel.host import Terminals
from copilot_kernel.system import reaper

from ..processes import children
from .small_commands import Heard


@pytest.fixture
def nothing_is_left():
    """After the test there is neither a process nor a descriptor left."""
    descriptors = len(os.listdir("/dev/fd"))
    yield
    assert children() == []
    assert (len(os.listdir("/dev/fd")), reaper._watched) == (descriptors, set())


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
async def own(heard):
    async with Terminals(heard) as terminals:
        yield terminals


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"
