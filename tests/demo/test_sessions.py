"""Sessions: listed, loaded, resumed, closed and deleted, each where it is advertised."""

import json
from uuid import uuid4

import pytest
from copilot_kernel.demo import session as saved
from copilot_kernel.demo.session import Past
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio

END = {"stopReason": "end_turn"}


def message(text, speaker="agent_message"):
    return {"sessionUpdate": f"{speaker}_chunk", "content": {"type": "text", "text": text}}


def mode(id):
    return {"sessionUpdate": "current_mode_update", "currentModeId": id}


def names(heard):
    return [update["sessionUpdate"] for update in heard]


async def refused(client, method, **params):
    with pytest.raises(AgentRefused) as caught:
        await client.request(method, {"cwd": "/", "mcpServers": [], **params})
    return caught.value.code


async def talked(talking, *prompts, **options):
    """The id of a session in which these prompts were said, by an agent that is gone."""
    async with talking(**options) as client:
        for prompt in prompts:
            await client.prompt(prompt)
        return client.session_id


async def test_a_loaded_session_is_shown_again_before_the_answer(talking, tmp_path):
    script = "demo: say Hel\nsay lo\nthink hm\nplan a;b\nask Shall I\nsay bye"
    async with talking("") as client:
        await client.prompt(script)
        await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "plan"})
        session = client.session_id
    async with talking() as client:
        new = await client.new()
        told, answer = await client.come_back("session/load", session)
        call = {"toolCallId": "call_1", "title": "Shall I", "kind": "other", "rawInput": {"what": "Shall I"}}
        done = {"type": "content", "content": {"type": "text", "text": "You answered: allow_once"}}
        assert told == [
            message(script, "user_message"),
            message("Hel"),
            message("lo"),
            {"sessionUpdate": "tool_call", **call, "status": "pending"},
            {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "completed", "content": [done]},
            message("bye"),
            mode("plan"),
            client.heard[0],
        ]
        assert answer["modes"] == {**new["modes"], "currentModeId": "plan"}
        assert [option["currentValue"] for option in answer["configOptions"]] == ["plan", "scripted"]


async def test_a_loaded_session_remembers_and_goes_on(talking):
    session = await talked(talking, "demo: say one\nask")
    async with talking() as client:
        await client.come_back("session/load", session)
        first, _ = await client.play("What do you remember?")
        assert first == message("This is prompt 2 of this session; the first was 'demo: say one\\nask'.")
        assert (await client.play("demo: ask"))[0]["toolCallId"] == "call_2"


async def test_a_resumed_session_is_not_shown_but_remembers(talking):
    async with talking() as client:
        await client.prompt("demo: say one")
        await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "plan"})
        session = client.session_id
    async with talking() as client:
        told, answer = await client.come_back("session/resume", session)
        assert (names(told), answer["modes"]["currentModeId"]) == (["available_commands_update"], "plan")
        (said, _) = await client.play("What do you remember?")
        assert said == message("This is prompt 2 of this session; the first was 'demo: say one'.")


async def test_pictures_of_the_prompt_are_not_shown_again(talking):
    async with talking() as client:
        await client.prompt("Draw", {"type": "image", "mimeType": "image/png", "data": "AAAA"})
        told, _ = await client.come_back("session/load", client.session_id)
        assert sum(update.get("content", {}).get("type") == "image" for update in told) == 1


async def test_sessions_are_listed_by_folder_the_newest_first(talking, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    other = await talked(talking, "demo: say there", cwd=elsewhere)
    here = [await talked(talking, f"demo: say {number}") for number in range(3)]
    async with talking(begins=False) as client:
        found = (await client.request("session/list", {"cwd": str(tmp_path)}))["sessions"]
        everything = (await client.request("session/list", {}))["sessions"]
    assert [session["sessionId"] for session in found] == here[::-1]
    (*_, oldest) = everything
    updated = {"updatedAt": oldest["updatedAt"]}
    assert oldest == {"sessionId": other, "cwd": str(elsewhere), "title": "Demo: demo: say there", **updated}
    assert oldest["updatedAt"] < found[0]["updatedAt"]


async def test_a_session_without_a_prompt_is_not_listed_but_can_be_left_and_loaded(talking):
    async with talking() as client:
        assert await client.request("session/list", {}) == {"sessions": []}
        told, _ = await client.come_back("session/load", client.session_id)
        assert names(told) == ["current_mode_update", "available_commands_update"]
        assert await client.request("session/close", {"sessionId": client.session_id}) == {}
        assert await refused(client, "session/load", sessionId=client.session_id) == -32002


async def test_a_closed_session_can_be_loaded_but_not_used(talking):
    async with talking() as client:
        await client.prompt("demo: say a")
        session = {"sessionId": client.session_id}
        assert await client.request("session/close", session) == {}
        assert await refused(client, "session/prompt", **session, prompt=[]) == -32602
        assert await refused(client, "session/close", **session) == -32002
        told, _ = await client.come_back("session/load", client.session_id)
        assert told[1] == message("a")


async def test_a_deleted_session_is_gone_and_deleting_it_again_is_no_mistake(talking):
    async with talking() as client:
        await client.prompt("demo: say a")
        session = {"sessionId": client.session_id}
        assert [await client.request("session/delete", session) for _ in range(2)] == [{}, {}]
        assert await client.request("session/list", {}) == {"sessions": []}
        assert await refused(client, "session/load", **session) == -32002
        assert await refused(client, "session/prompt", **session, prompt=[]) == -32602


@pytest.mark.parametrize("id", ["../../secret", "/etc/passwd", None, 3, "x" * 36])
async def test_no_other_file_can_be_named(talking, id):
    async with talking() as client:
        assert await refused(client, "session/load", sessionId=id) == -32002
        assert await client.request("session/delete", {"sessionId": id}) == {}


async def test_a_line_that_was_cut_off_costs_itself_alone(talking, home):
    session = await talked(talking, "demo: say one")
    path = home / "sessions" / f"{session}.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    async with talking() as client:
        await client.come_back("session/load", session)
        await client.prompt("demo: say two")
    assert saved.load(session).prompts == ["demo: say one", "demo: say two"]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_scenes_use_the_scratch_project_as_it_was_left(talking, tmp_path):
    session = await talked(talking, "Fix the bug in fibonacci.py")
    fixed = (tmp_path / "demo-project" / "fibonacci.py").read_text()
    async with talking() as client:
        await client.come_back("session/load", session)
        await client.prompt("Run the tests")
    assert (tmp_path / "demo-project" / "fibonacci.py").read_text() == fixed


def test_what_is_no_session_is_not_listed(home):
    (home / "sessions").mkdir()
    (home / "sessions" / f"{uuid4()}.jsonl").write_text(json.dumps({"at": "2026-01-01", "cwd": "/"}))
    (home / "sessions" / f"{uuid4()}.jsonl").write_text("[]\n{}\n")
    assert saved.list_saved() == []


def test_updates_that_are_no_updates_are_not_shown_again():
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


async def test_prompts_are_answered_where_the_home_folder_cannot_be_written(talking, unwritable, capfd):
    async with talking() as client:
        assert await client.play("demo: say Hello") == [message("Hello"), END]
        assert await client.play("demo: say Again") == [message("Again"), END]
        assert (await client.request("session/list", {}))["sessions"] == []
        assert await refused(client, "session/load", sessionId=str(uuid4())) == -32002
        await client.request("session/delete", {"sessionId": client.session_id})
    assert capfd.readouterr().err.count("demo agent: sessions are not kept: ") == 1
