"""The second line: what our rules deny, the real GitHub Copilot CLI refuses by itself, without a question."""

from typing import Any

import pytest

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]

DENIED = ("command", "second of two", "words", "exact", "file", "folder", "read")
OTHER = ("other command", "other words", "other file")


@pytest.mark.parametrize("act", DENIED)
def test_what_is_denied_is_refused_by_the_agent_itself(denied: dict[str, Any], act: str) -> None:
    seen = denied["acts"][act]
    assert (seen["asked"], seen["said"]) == (False, True), seen["text"]


@pytest.mark.parametrize("act", OTHER)
def test_what_is_not_denied_is_asked_about_as_ever(denied: dict[str, Any], act: str) -> None:
    assert (denied["acts"][act]["asked"], denied["acts"][act]["said"]) == (True, False)


def test_nothing_that_was_denied_was_done(denied: dict[str, Any]) -> None:
    assert denied["files"] == ["chat.ipynb", "env", "looked", "notes.txt", "other", "secret.txt", "sub"]
