"""Why only Copilot CLI starts before the first prompt: until a session is opened, it leaves the folder alone."""

import pytest

from .agents import COPILOT, GEMINI, Json

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


@pytest.mark.parametrize("initialized", [COPILOT], ids=str, indirect=True)
def test_copilot_runs_nothing_and_keeps_no_session(initialized: Json) -> None:
    assert initialized == {"ran": [], "sessions": []}


@pytest.mark.parametrize("initialized", [GEMINI], ids=str, indirect=True)
def test_gemini_starts_the_servers_that_the_folder_names(initialized: Json) -> None:
    assert initialized["ran"] == ["gemini"]
