"""What may be typed after a command's name."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.messages import AgentInfo, AuthMethod, SessionInfo
from copilot_kernel.config import PERMISSION_MODES, Settings
from copilot_kernel.conversation.model import Conversation
from copilot_kernel.frontend.arguments import offer
from copilot_kernel.frontend.modes import MODES, RULES, WAYS
from copilot_kernel.frontend.situation import Situation
from copilot_kernel.frontend.table import TABLE

from ..chat.test_choices import STATE

NOW = Situation(
    Settings(allow=("Read",), deny=("Bash(rm *)",)),
    Conversation(state=STATE),
    AgentInfo(auth_methods=(AuthMethod("token", "With a token"),)),
    sessions=(SessionInfo("0123456789", title="Plans"), SessionInfo("abcdefghij")),
)
NOTHING = Situation(Settings(), Conversation())


@pytest.mark.parametrize(
    ("command", "typed", "start", "words"),
    [
        ("mode", "", 0, ["agent", "plan"]),
        ("mode", "pl", 0, ["agent", "plan"]),
        ("model", "", 0, ["acme/fast", "other/fast"]),
        ("options", "", 0, ["mode", "brain", "careful", "odd"]),
        ("options", "careful ", 8, ["on", "off"]),
        ("options", "Careful o", 8, ["on", "off"]),
        ("options", "nothing ", 8, []),
        ("permissions", "", 0, list(WAYS)),
        ("permissions", "allow ", 6, list(RULES)),
        ("permissions", "deny Ba", 5, list(RULES)),
        ("permissions", "ask Edit(src/**) ", 17, ["--save"]),
        ("permissions", "allow Bash(git status) --", 23, ["--save"]),
        ("permissions", "remove ", 7, ["Read", "Bash(rm *)"]),
        ("permissions", "remove Bash(r", 7, ["Read", "Bash(rm *)"]),
        ("permissions", "nonsense ", 0, []),
        ("permissions", "mode by", 5, list(PERMISSION_MODES)),
        ("resume", "", 0, ["last", "01234567", "abcdefgh"]),
        ("delete", "", 0, ["01234567", "abcdefgh"]),
        ("sessions", "", 0, ["all"]),
        ("login", "", 0, ["token"]),
        ("agent", "", 0, ["demo"]),
        ("help", "", 0, list(TABLE)),
        ("status", "", 0, []),
        ("nonsense", "", 0, []),
    ],
)
def test_arguments(command: str, typed: str, start: int, words: list[str]) -> None:
    found_start, choices = offer(command, typed, NOW)
    assert (found_start, [choice.word for choice in choices]) == (start, words)


def test_every_mode_is_explained() -> None:
    assert tuple(MODES) == PERMISSION_MODES


@pytest.mark.parametrize("command", TABLE)
def test_nothing_need_be_known(command: str) -> None:
    words = [choice.word for choice in offer(command, "", NOTHING)[1]]
    assert set(words) <= {"last", "all", "demo", *WAYS, *TABLE}
