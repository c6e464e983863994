"""Sessions: loaded, kept and refused; and all messages are valid."""

import json
from uuid import uuid4

import pytest
from copilot_kernel.demo import demo_session as saved
from copilot_kernel.demo.scenes import REMEMBERED
from copilot_kernel.errors import AgentRefused

from .test_acts import END, message

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
PROMPTS = ("Explain the project", "Make a plan", "Draw a picture", "Fix the bug", "Send an e-mail", "Delete the notes")


async def refused(client, method, **params):
    with pytest.raises(AgentRefused) as caught:
        await client.request(method, {"cwd": "/", "mcpServers": [], **params})
    return caught.value.code


async def test_all_that_it_sends_is_valid_by_the_official_schema(connected, valid):
    async with connected() as client:
        for prompt in PROMPTS:
            await client.prompt(prompt)
        await client.request("session/set_mode", {"modeId": "plan"})
        await client.request("session/set_config_option", {"configId": "model", "value": "scripted-large"})
        for method in ("list", "load", "resume", "close", "delete"):
            await client.request(f"session/{method}", {"cwd": "/", "mcpServers": []})
        assert await refused(client, "session/load") == -32002
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
        ("session/set_mode", {"sessionId": "unknown", "modeId": "plan"}, -32002),
        ("session/set_mode", {"modeId": "asleep"}, -32602),
        ("session/set_config_option", {"configId": "model", "value": "other"}, -32602),
        ("session/set_config_option", {"optionId": "model", "value": "scripted"}, -32602),
        ("session/load", {"sessionId": "../../secret"}, -32002),
        ("session/load", {"sessionId": None}, -32002),
        ("session/load", {"sessionId": "x" * 36}, -32002),
        ("session/close", {"sessionId": "unknown"}, -32002),
        ("no/such", {}, -32601),
    ],
)
async def test_a_mistake_is_an_error_with_its_code(connected, method, params, code):
    async with connected() as client:
        assert await refused(client, method, **params) == code
        await client.connection.notify("no/such", {})
        await client.connection.notify("session/cancel", {"sessionId": "unknown"})
        assert await client.request("session/delete", {"sessionId": "../../secret"}) == {}


async def test_a_loaded_session_is_shown_again_remembers_and_goes_on(connected, acts):
    plan = {"sessionUpdate": "plan", "entries": []}
    prompt = acts(["say", "Hel"], ["say", "lo"], ["send", plan], ["ask", "Shall I"], ["say", "bye"])
    picture = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    async with connected() as client:
        before, commands = await client.play(picture, prompt), client.received[0]
        await client.request("session/set_mode", {"modeId": "plan"})
        session = client.session_id
    async with connected() as client:
        shown, answer = await client.restore("session/load", session)
        asked = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": prompt}}
        mode = {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}
        again = [each for each in before[:-1] if each != plan and "options" not in each]
        assert shown == [asked, *again, mode, commands]
        assert [option["currentValue"] for option in answer["configOptions"]] == ["plan", "scripted"]
        assert (await client.play("What do you remember?"))[0] == message(REMEMBERED.format(2, prompt))
        assert (await client.play("Send an e-mail"))[0]["toolCallId"] == "call_2"


async def test_a_line_that_was_cut_off_costs_itself_alone(connected, home):
    async with connected() as client:
        await client.prompt("Weather one")
        await client.request("session/set_mode", {"modeId": "plan"})
        session = client.session_id
    path = home / "sessions" / f"{session}.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    (home / "sessions" / f"{uuid4()}.jsonl").write_text("[]\n{}\n")
    async with connected() as client:
        await client.restore("session/load", session)
        await client.prompt("Weather two")
    (listed,) = saved.list_saved()
    assert (listed["sessionId"], listed["title"]) == (session, "Demo: Weather one")
    prompts = [saved.texts(each["prompt"]) for each in saved.load(session) if "prompt" in each]
    assert prompts == [["Weather one"], ["Weather two"]]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def unwritable(tmp_path, monkeypatch):
    """A home below a file: what root cannot write either."""
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("COPILOT_KERNEL_DEMO_HOME")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))


async def test_prompts_are_answered_where_the_home_folder_cannot_be_written(connected, unwritable, acts, capfd):
    async with connected() as client:
        assert await client.play(acts(["say", "Hello"])) == [message("Hello"), END]
        assert await client.play(acts(["say", "Again"])) == [message("Again"), END]
        assert (await client.request("session/list", {}))["sessions"] == []
        assert await refused(client, "session/load", sessionId=str(uuid4())) == -32002
        await client.request("session/delete", {})
    assert capfd.readouterr().err.count(saved.UNKEPT.partition("{")[0]) == 1
