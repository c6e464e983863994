"""The agent's methods apart from prompts: what it advertises, and what it answers to mistakes."""

import json

import pytest
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio

RESULTS = {
    "initialize": "InitializeResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/close": "CloseSessionResponse",
    "session/delete": "DeleteSessionResponse",
    "session/prompt": "PromptResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
}
SENT = {"session/update": "SessionNotification", "session/request_permission": "RequestPermissionRequest"}
PROMPTS = ("Explain the project", "Make a plan", "Draw a picture", "Fix the bug", "Show both files", "Delete the notes")


async def test_all_that_it_sends_is_valid_by_the_official_schema(connected, valid):
    async with connected() as client:
        for prompt in PROMPTS:
            await client.prompt(prompt)
        await client.request("session/set_mode", {"modeId": "plan"})
        await client.request("session/set_config_option", {"configId": "model", "value": "scripted-large"})
        for method in ("list", "load", "resume", "close", "delete"):
            await client.request(f"session/{method}", {"cwd": "/", "mcpServers": []})
        with pytest.raises(AgentRefused):
            await client.request("session/load", {"cwd": "/", "mcpServers": []})
        lines = [json.loads(line) for direction, line in client.connection.log.lines if direction == "<"]
    for line in lines:
        if "method" in line:
            valid(SENT[line["method"]], line["params"])
        else:
            name = "Error" if "error" in line else RESULTS[client.asked[line["id"]]]
            valid(name, line.get("result", line.get("error")))
    assert set(client.asked) == set(RESULTS)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/prompt", {"sessionId": "unknown", "prompt": []}, -32602),
        ("session/prompt", {"sessionId": [], "prompt": []}, -32602),
        ("session/set_mode", {"sessionId": "unknown", "modeId": "plan"}, -32002),
        ("session/set_mode", {"modeId": "asleep"}, -32602),
        ("session/set_config_option", {"sessionId": "unknown", "configId": "mode", "value": "plan"}, -32002),
        ("session/set_config_option", {"configId": "model", "value": "other"}, -32602),
        ("session/set_config_option", {"optionId": "model", "value": "scripted"}, -32602),
        ("session/load", {"sessionId": "../../secret", "cwd": "/", "mcpServers": []}, -32002),
        ("session/load", {"sessionId": "/etc/passwd", "cwd": "/", "mcpServers": []}, -32002),
        ("session/load", {"sessionId": None, "cwd": "/", "mcpServers": []}, -32002),
        ("session/load", {"sessionId": "x" * 36, "cwd": "/", "mcpServers": []}, -32002),
        ("session/resume", {"sessionId": "unknown", "cwd": "/"}, -32002),
        ("session/close", {"sessionId": "unknown"}, -32002),
        ("authenticate", {"methodId": "unknown"}, -32601),
        ("no/such", {}, -32601),
    ],
)
async def test_a_mistake_is_an_error_with_its_code(connected, method, params, code):
    async with connected() as client:
        with pytest.raises(AgentRefused) as caught:
            await client.request(method, params)
    assert caught.value.code == code


async def test_what_needs_no_answer_and_is_unknown_is_ignored(connected):
    async with connected() as client:
        await client.connection.notify("no/such", {})
        await client.connection.notify("session/cancel", {"sessionId": "unknown"})
        assert await client.request("session/delete", {"sessionId": "../../secret"}) == {}
        assert await client.prompt("demo: say on") == {"stopReason": "end_turn"}
