"""Sessions: listed, loaded, resumed, closed and deleted."""

import json
from uuid import uuid4

import pytest
from copilot_kernel.demo import session as saved
from copilot_kernel.demo.scenes import REMEMBERED
from copilot_kernel.demo.session import Past
from copilot_kernel.errors import AgentRefused

from .messages import END, answered, begun, message

pytestmark = pytest.mark.anyio


def names(received):
    return [update["sessionUpdate"] for update in received]


async def refused(client, method, **params):
    with pytest.raises(AgentRefused) as caught:
        await client.request(method, {"cwd": "/", "mcpServers": [], **params})
    return caught.value.code


async def saved_session(connected, prompt, **options):
    """The id of a session with this prompt, in the mode plan, whose agent has ended."""
    async with connected(**options) as client:
        await client.prompt(prompt)
        await client.request("session/set_mode", {"modeId": "plan"})
        return client.session_id


async def test_a_loaded_session_is_shown_again_before_the_answer_remembers_and_goes_on(connected):
    script = 'demo: say Hel\nsay lo\nraw {"sessionUpdate": "plan", "entries": []}\nask Shall I\nsay bye'
    session = await saved_session(connected, script)
    async with connected() as client:
        commands = client.received[0]
        shown, answer = await client.restore("session/load", session)
        assert shown == [
            message(script, "user_message"),
            message("Hel"),
            message("lo"),
            begun("Shall I", "other", rawInput={"what": "Shall I"}),
            answered("allow_once"),
            message("bye"),
            {"sessionUpdate": "current_mode_update", "currentModeId": "plan"},
            commands,
        ]
        assert answer["modes"]["currentModeId"] == "plan"
        assert [option["currentValue"] for option in answer["configOptions"]] == ["plan", "scripted"]
        assert (await client.play("What do you remember?"))[0] == message(REMEMBERED.format(2, script))
        assert (await client.play("demo: ask"))[0]["toolCallId"] == "call_2"


async def test_pictures_of_the_prompt_are_not_shown_again(connected):
    async with connected() as client:
        await client.prompt("Draw", {"type": "image", "mimeType": "image/png", "data": "AAAA"})
        shown, _ = await client.restore("session/load", client.session_id)
        assert sum(update.get("content", {}).get("type") == "image" for update in shown) == 1


async def test_sessions_are_listed_by_folder_the_newest_first(connected, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    other = await saved_session(connected, "demo: say there", cwd=elsewhere)
    here = [await saved_session(connected, f"demo: say {number}") for number in range(3)]
    async with connected() as client:
        found = (await client.request("session/list", {"cwd": str(tmp_path)}))["sessions"]
        everything = (await client.request("session/list", {}))["sessions"]
    assert [session["sessionId"] for session in found] == here[::-1]
    (*_, oldest) = everything
    updated = {"updatedAt": oldest["updatedAt"]}
    assert oldest == {"sessionId": other, "cwd": str(elsewhere), "title": "Demo: demo: say there", **updated}
    assert oldest["updatedAt"] < found[0]["updatedAt"]


async def test_a_session_without_a_prompt_is_not_kept(connected):
    async with connected() as client:
        assert await client.request("session/list", {}) == {"sessions": []}
        shown, _ = await client.restore("session/load", client.session_id)
        assert names(shown) == ["current_mode_update", "available_commands_update"]
        assert await client.request("session/close", {}) == {}
        assert await refused(client, "session/load") == -32002


async def test_a_closed_session_can_be_loaded_and_a_deleted_one_cannot(connected):
    async with connected() as client:
        await client.prompt("demo: say a")
        assert await client.request("session/close", {}) == {}
        assert await refused(client, "session/prompt", prompt=[]) == -32602
        shown, _ = await client.restore("session/load", client.session_id)
        assert shown[1] == message("a")
        assert [await client.request("session/delete", {}) for _ in range(2)] == [{}, {}]
        assert await client.request("session/list", {}) == {"sessions": []}
        assert await refused(client, "session/load") == -32002
        assert await refused(client, "session/prompt", prompt=[]) == -32602


async def test_a_line_that_was_cut_off_costs_itself_alone(connected, home):
    session = await saved_session(connected, "demo: say one")
    path = home / "sessions" / f"{session}.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    async with connected() as client:
        await client.restore("session/load", session)
        await client.prompt("demo: say two")
    assert saved.load(session).prompts == ["demo: say one", "demo: say two"]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_scenes_use_the_scratch_project_as_it_was_left(connected, tmp_path):
    session = await saved_session(connected, "Fix the bug in fibonacci.py")
    fixed = (tmp_path / "demo-project" / "fibonacci.py").read_text()
    async with connected() as client:
        await client.restore("session/load", session)
        await client.prompt("Run the tests")
    assert (tmp_path / "demo-project" / "fibonacci.py").read_text() == fixed


def test_what_is_no_session_and_no_update_is_not_shown(home):
    (home / "sessions").mkdir()
    (home / "sessions" / f"{uuid4()}.jsonl").write_text(json.dumps({"at": "2026-01-01", "cwd": "/"}))
    (home / "sessions" / f"{uuid4()}.jsonl").write_text("[]\n{}\n")
    assert saved.list_saved() == []
    records = [{"update": update} for update in (3, {"x": 1}, {"sessionUpdate": "novelty"})]
    assert list(Past("1", records).replay()) == []


# -- where nothing can be kept --------------------------------------------------------------------------------------


@pytest.fixture
def unwritable(tmp_path, monkeypatch):
    """A home below a file: what root cannot write either."""
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("COPILOT_KERNEL_DEMO_HOME")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))


async def test_prompts_are_answered_where_the_home_folder_cannot_be_written(connected, unwritable, capfd):
    async with connected() as client:
        assert await client.play("demo: say Hello") == [message("Hello"), END]
        assert await client.play("demo: say Again") == [message("Again"), END]
        assert (await client.request("session/list", {}))["sessions"] == []
        assert await refused(client, "session/load", sessionId=str(uuid4())) == -32002
        await client.request("session/delete", {})
    assert capfd.readouterr().err.count(saved.UNKEPT.partition("{")[0]) == 1
