"""What the chat may do: by the server's settings for it, never by what the user allows in notebooks."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from copilot_kernel.config import PERMISSION_MODES
from copilot_kernel.frontend.modes import MODES
from copilot_kernel.permissions.rulebook import Rulebook

from .api import Api, scripted
from .sockets import MagicSession, Told

COMMAND = "demo: shell echo hi"
ECHO = "Bash(echo *)"


@pytest.fixture
def users(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own settings, which count in notebooks; it must come before the server."""
    for name, value in request.param.items():
        monkeypatch.setenv(f"COPILOT_KERNEL_{name}", value)


@pytest.fixture
def door(users: None, jp_serverapp: Any, http_server: Any, jp_http_port: int, jp_base_url: str) -> MagicSession:
    return MagicSession(jp_http_port, jp_base_url, jp_serverapp.identity_provider.token)


def with_users(**settings: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("users", [settings], indirect=True, ids=["user"])


def with_server(**settings: object) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("extension", [settings], indirect=True, ids=["server"])


async def _ran(door: MagicSession) -> tuple[list[str], Told]:
    """The events, and what became of the command; a question is answered with no."""
    async with door.client() as client:
        await client.begin()
        await client.act("send", text=COMMAND)
        while (told := await client.next())["type"] != "done":
            if told.get("event") == "tool_approval_request":
                await client.act("approve_tool", call_id=told["call_id"], response="no")
        events = [str(each.get("event")) for each in client.heard]
        return events, next(each for each in client.heard if each.get("event") == "tool_done")


@with_users(ALLOW=json.dumps([ECHO]), PERMISSION_MODE="bypassPermissions", FS="true", TERMINAL="true")
async def test_what_the_user_allows_in_notebooks_is_asked_about(door: MagicSession) -> None:
    events, done = await _ran(door)
    assert "tool_approval_request" in events
    assert done["status"] == "rejected"


@with_users()
@with_server(chat_allow=[ECHO])
async def test_the_rules_of_the_chat_are_settings_of_the_server_and_not_those_of_http(
    door: MagicSession, api: Api
) -> None:
    events, done = await _ran(door)
    assert "tool_approval_request" not in events
    assert done["status"] == "completed"
    assert ECHO not in Rulebook.of(api.app.http_settings).texts("allow")


@with_users()
@pytest.mark.parametrize(
    ("extension", "status"),
    [({"chat_permission_mode": "bypassPermissions"}, "completed"), ({"chat_permission_mode": "plan"}, "rejected")],
    indirect=["extension"],
)
async def test_its_mode_is_one_too(door: MagicSession, status: str) -> None:
    events, done = await _ran(door)
    assert "tool_approval_request" not in events
    assert done["status"] == status


@with_users(DENY='{"Bash": true}')
@with_server(permission_mode="bypassPermissions", chat_permission_mode="bypassPermissions")
async def test_no_mode_of_the_server_allows_while_what_the_user_denies_cannot_be_read(
    door: MagicSession, api: Api
) -> None:
    assert "tool_approval_request" in (await _ran(door))[0]
    assert api.app.http_settings.permission_mode == "default"
    assert "CopilotApp.permission_mode" in api.app.http_settings.problems[-1]


@with_users(DENY=json.dumps([ECHO]))
@with_server(chat_allow=[ECHO], chat_permission_mode="bypassPermissions")
async def test_what_the_user_denies_is_denied_here_too(door: MagicSession) -> None:
    events, done = await _ran(door)
    assert "tool_approval_request" not in events
    assert done["status"] == "rejected"


@with_users(ASK=json.dumps([ECHO]))
@with_server(chat_allow=[ECHO], chat_permission_mode="bypassPermissions")
async def test_what_the_user_wants_to_be_asked_about_is_asked_here_too(door: MagicSession) -> None:
    assert "tool_approval_request" in (await _ran(door))[0]


@with_users(FS="true", TERMINAL="true")
async def test_the_agent_is_not_told_of_files_and_terminals_that_nobody_gives_it(users: None, api: Api) -> None:
    async with scripted(api) as script:
        await api.complete("Hello")
        told = dict(script.heard)["initialize"]["clientCapabilities"]
    assert (told.get("terminal", False), any(told.get("fs", {}).values())) == (False, False)


@with_users()
@with_server(chat_allow=["Bash(python *)", "Bash("])
async def test_rules_that_mean_nothing_or_everything_are_told(
    users: None, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        api.app._tell_problems()
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Copilot: ")]
    assert [sum(rule in line for line in told) for rule in ("Bash(python *)", "Bash(")] == [1, 2]


@with_users()
@pytest.mark.parametrize(
    ("extension", "mode"), [({"chat_permission_mode": mode}, mode) for mode in PERMISSION_MODES], indirect=["extension"]
)
async def test_the_page_says_what_is_asked_about(users: None, api: Api, mode: str) -> None:
    page = (await api.ask("copilot/chat")).text
    assert f"permission mode {mode}: {MODES[mode]}." in page
    assert "{mode}" not in page
