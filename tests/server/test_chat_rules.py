"""What the chat may do: by the server's settings for it, never by what the user allows in notebooks."""

import logging
from pathlib import Path

import pytest
from copilot_kernel.permissions.rulebook import Rulebook

from .api import Api, scripted
from .sockets import Client

ECHO = "Bash(echo *)"


@pytest.mark.parametrize("text", ["/permissions mode acceptEdits", "/permissions allow Read", "/agent sh -c id"])
async def test_a_chat_cannot_be_widened_from_inside(client: Client, text: str) -> None:
    await client.begin()
    for said, reason in ((text, "error"), ("/permissions mode plan", "command")):
        assert (await client.say(said))[-1]["stop_reason"] == reason


@pytest.mark.parametrize("text", ["/allow-all on", "//permissions allow-all", "/share", "/cwd /"])
async def test_commands_of_the_agent_that_change_what_is_relied_on_are_refused(client: Client, text: str) -> None:
    await client.begin()
    await client.say("demo: commands allow-all permissions share cwd")
    messages = await client.say(text)
    assert messages[-1]["stop_reason"] == "error"
    assert "was not sent" in next(each["content"] for each in messages if each["type"] == "error")
    assert not any(each.get("event") == "tool_approval_request" for each in messages)


BYPASS = {"chat_permission_mode": "bypassPermissions"}
ALLOWED = {"chat_allow": [ECHO]}


@pytest.mark.parametrize(("environment", "extension", "is_asked", "status"), [
    ({"ALLOW": f'["{ECHO}"]', "PERMISSION_MODE": "bypassPermissions"}, {}, True, "rejected"),
    ({}, ALLOWED, False, "completed"),
    ({}, BYPASS, False, "completed"),
    ({}, {"chat_permission_mode": "plan"}, False, "rejected"),
    ({"DENY": '{"Bash": true}'}, {"permission_mode": "bypassPermissions", **BYPASS}, True, "rejected"),
    ({"DENY": f'["{ECHO}"]'}, {**ALLOWED, **BYPASS}, False, "rejected"),
    ({"ASK": f'["{ECHO}"]'}, {**ALLOWED, **BYPASS}, True, "rejected"),
], indirect=["environment", "extension"])  # fmt: skip
async def test_what_the_chat_may_do(api: Api, client: Client, is_asked: bool, status: str) -> None:
    """A question is answered with no."""
    await client.begin()
    await client.act("send", text="demo: shell echo hi")
    while (message := await client.next())["type"] != "done":
        if message.get("event") == "tool_approval_request":
            await client.act("approve_tool", call_id=message["call_id"], response="no")
    events = {str(each.get("event")): each for each in client.heard}
    assert ("tool_approval_request" in events, events["tool_done"]["status"]) == (is_asked, status)
    over_http = api.context.conversations.settings
    assert (over_http.permission_mode, Rulebook.of(over_http).texts("allow")) == ("default", ())
    if api.app.permission_mode != "default":
        assert "CopilotApp.permission_mode" in over_http.problems[-1]


@pytest.mark.parametrize("environment", [{"FS": "true", "TERMINAL": "true"}], indirect=True)
async def test_the_agent_is_not_told_of_files_and_terminals_that_nobody_gives_it(api: Api) -> None:
    async with scripted(api.pool) as script:
        await api.complete("Hello")
        capabilities = dict(script.heard)["initialize"]["clientCapabilities"]
    assert (capabilities.get("terminal", False), any(capabilities.get("fs", {}).values())) == (False, False)


@pytest.mark.parametrize("extension", [{"chat_allow": ["Bash(python *)", "Bash("]}], indirect=True)
async def test_rules_that_mean_nothing_or_everything_are_told(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        api.app._log_problems(api.app.context.pool.settings)
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Copilot: ")]
    assert [sum(rule in line for line in lines) for rule in ("Bash(python *)", "Bash(")] == [1, 2]


@pytest.mark.parametrize("extension", [BYPASS], indirect=True)
async def test_a_chat_undoes_what_its_agent_changed(client: Client, environment: Path) -> None:
    await client.begin()
    await client.say("demo: create new.txt words")
    assert (environment / "new.txt").read_text() == "words"
    for command, words in (
        ("/changes", "Create new.txt"),
        ("/undo", "To restore without asking, use /undo 1 restore."),
        ("/undo 1 restore", "Restored: new.txt."),
    ):
        heard = await client.say(command)
        assert words in "".join(str(each) for each in heard), command
    assert not (environment / "new.txt").exists()
