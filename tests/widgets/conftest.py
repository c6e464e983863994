"""A front end in memory for the tests of this folder."""

import pytest

from .connected import connected

front_end = pytest.fixture(connected, name="front_end")
