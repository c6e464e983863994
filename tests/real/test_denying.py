"""The second line: what our rules deny, the real GitHub Copilot CLI refuses by itself, without a question."""

from pathlib import Path
from typing import Any

import pytest

from . import chapters
from .agents import COPILOT
from .conftest import lacking

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated"), pytest.mark.timeout(300)]

DENIED = ("command", "second of two", "words", "exact", "file", "folder", "read")
OTHER = ("other command", "other words", "other file")


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory, isolated: None, cache: Path) -> dict[str, Any]:
    if COPILOT.find() is None:
        lacking(COPILOT.missing())
    found: dict[str, Any] = chapters.told("tests.real.denying", COPILOT, tmp_path_factory.mktemp("denying"), cache)
    return found


@pytest.mark.parametrize("act", DENIED)
def test_what_is_denied_is_refused_by_the_agent_itself(findings: dict[str, Any], act: str) -> None:
    seen = findings["acts"][act]
    assert (seen["asked"], seen["said"]) == (False, True), seen["text"]


@pytest.mark.parametrize("act", OTHER)
def test_what_is_not_denied_is_asked_about_as_ever(findings: dict[str, Any], act: str) -> None:
    assert (findings["acts"][act]["asked"], findings["acts"][act]["said"]) == (True, False)


def test_nothing_that_was_denied_was_done(findings: dict[str, Any]) -> None:
    assert findings["files"] == ["chat.ipynb", "env", "looked", "notes.txt", "other", "secret.txt", "sub"]
