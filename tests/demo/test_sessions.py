"""Sessions: listed, loaded, resumed, closed and deleted, each where it is advertised."""

import json

import pytest
from copilot_kernel.demo.journal import recall
from copilot_kernel.demo.replay import replay
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
    script = "demo: say Hel\nsay lo\nthink hm\nplan a;b\nask Shall I\nsay bye\nmode plan"
    session = await talked(talking, script, "demo: say again")
    async with talking() as client:
        new = await client.new()
        told, answer = await client.come_back("session/load", session)
        call = {"toolCallId": "call_1", "title": "Shall I", "kind": "other", "rawInput": {"what": "Shall I"}}
        done = {"type": "content", "content": {"type": "text", "text": "You answered: allow_once"}}
        assert told == [
            message(script, "user_message"),
            message("Hello"),
            {"sessionUpdate": "tool_call", **call, "status": "pending"},
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call_1",
                "status": "completed",
                "content": [done],
            },
            message("bye"),
            message("demo: say again", "user_message"),
            message("again"),
            mode("plan"),
            client.heard[0],
        ]
        assert answer["modes"] == {**new["modes"], "currentModeId": "plan"}
        assert [option["currentValue"] for option in answer["configOptions"]] == ["plan", "scripted"]


async def test_a_loaded_session_remembers_and_goes_on(talking):
    session = await talked(talking, "demo: say one\nask")
    async with talking() as client:
        await client.come_back("session/load", session)
        first, second, _ = await client.play("demo: remember\nlink")
        assert first == message("This is prompt 2 of this session; the first was 'demo: say one\\nask'.")
        assert (await client.play("demo: ask"))[0]["toolCallId"] == "call_2"
    async with talking() as client:
        told, _ = await client.come_back("session/load", session)
        assert [update for update in told if update.get("content") == second["content"]] == [second]
        assert len(told) == 12


async def test_thoughts_are_shown_on_request(talking):
    session = await talked(talking, "demo: think hm\nsay a")
    async with talking("replays-thoughts") as client:
        told, _ = await client.come_back("session/load", session)
        assert told[1:3] == [message("hm", "agent_thought"), message("a")]


async def test_a_resumed_session_is_not_shown_but_remembers(talking):
    session = await talked(talking, "demo: mode plan")
    async with talking() as client:
        told, answer = await client.come_back("session/resume", session)
        assert names(told) == ["available_commands_update"]
        assert answer["modes"]["currentModeId"] == "plan"
        (said, _) = await client.play("demo: remember")
        assert said == message("This is prompt 2 of this session; the first was 'demo: mode plan'.")


async def test_pictures_of_the_prompt_are_not_shown_again(talking):
    async with talking() as client:
        await client.prompt("demo: image", {"type": "image", "mimeType": "image/png", "data": "AAAA"})
        session = client.session_id
        told, _ = await client.come_back("session/load", session)
        assert [update["content"]["type"] for update in told if "content" in update] == ["text", "image"]


async def test_the_list_has_pages_and_a_filter_and_needs_no_sign_in(talking, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    other = await talked(talking, "demo: say there", cwd=elsewhere)
    here = [await talked(talking, f"demo: say {number}\nsay more") for number in range(5)]
    async with talking("page=3", "signed-out", begins=False) as client:
        first = await client.request("session/list", {"cwd": str(tmp_path)})
        second = await client.request("session/list", {"cwd": str(tmp_path), "cursor": first["nextCursor"]})
        everything = await client.request("session/list", {"cursor": here[1]})
    assert [session["sessionId"] for session in first["sessions"] + second["sessions"]] == here[::-1]
    assert ("nextCursor" in second, len(first["sessions"])) == (False, 3)
    oldest = everything["sessions"][-1]
    assert oldest == {
        "sessionId": other,
        "cwd": str(elsewhere),
        "title": "Demo: demo: say there",
        "updatedAt": oldest["updatedAt"],
    }
    assert oldest["updatedAt"] < first["sessions"][0]["updatedAt"]


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


async def test_closing_ends_the_prompt_that_runs(talking):
    async with talking() as client:

        async def close():
            assert await client.request("session/close", {"sessionId": client.session_id}) == {}
            return "allow_once"

        client.answers = [close]
        assert await client.prompt("demo: ask\nsay never") == {"stopReason": "cancelled"}


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


@pytest.mark.parametrize("name", ["load", "resume", "list", "close", "delete"])
async def test_what_is_not_advertised_is_not_there(talking, name):
    async with talking(f"no-{name}") as client:
        can = (await client.initialize())["agentCapabilities"]
        loads = {"load"} if can["loadSession"] else set()
        assert loads | set(can["sessionCapabilities"]) == {"load", "resume", "list", "close", "delete"} - {name}
        assert await refused(client, f"session/{name}", sessionId=client.session_id) == -32601


@pytest.mark.parametrize("method", ["load", "resume"])
async def test_loading_can_fail_although_it_is_advertised(talking, method):
    session = await talked(talking, "demo: say a")
    async with talking(f"{method}-fails") as client:
        for _ in range(2):
            assert await refused(client, f"session/{method}", sessionId=session) == -32603
    async with talking(f"{method}-fails=3") as client:
        assert await refused(client, f"session/{method}", sessionId=session) == -32603
        await client.come_back(f"session/{method}", session)


async def test_new_sessions_can_fail_for_a_while(talking):
    async with talking("new-fails=2", begins=False) as client:
        assert [await refused(client, "session/new") for _ in range(2)] == [-32603, -32603]
        assert (await client.new())["sessionId"]


async def test_a_line_that_was_cut_off_costs_itself_alone(talking, home):
    session = await talked(talking, "demo: say one")
    path = home / "sessions" / f"{session}.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    async with talking() as client:
        await client.come_back("session/load", session)
        await client.prompt("demo: say two")
    assert [record["prompt"][0]["text"] for record in recall(session).records if "prompt" in record] == [
        "demo: say one",
        "demo: say two",
    ]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_scenes_use_the_scratch_project_as_it_was_left(talking, tmp_path):
    session = await talked(talking, "Fix the bug in fibonacci.py")
    fixed = (tmp_path / "demo-project" / "fibonacci.py").read_text()
    async with talking() as client:
        await client.come_back("session/load", session)
        await client.prompt("Run the tests")
    assert (tmp_path / "demo-project" / "fibonacci.py").read_text() == fixed


def test_a_call_that_never_ended_is_shown_as_it_began():
    call = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "A"}
    news = {"sessionUpdate": "tool_call_update", "toolCallId": "2", "status": "failed"}
    records = [{"update": update} for update in (call, news, 3, {"x": 1}, {"sessionUpdate": "novelty"})]
    assert replay(json.loads(json.dumps(records))) == [call]
