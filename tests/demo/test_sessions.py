"""Sessions: listed, loaded, resumed, closed and deleted, each where it is advertised."""

import io
import json
from pathlib import Path
from uuid import uuid4

import pytest
from copilot_kernel.demo import journal
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


# -- what a list costs ------------------------------------------------------------------------------------------------


class Counted(io.FileIO):
    """A file of which it is counted how often it was opened, and how many bytes were read."""

    opened = read_bytes = 0

    def __init__(self, path):
        super().__init__(path)
        Counted.opened += 1

    def readinto(self, buffer):
        count = super().readinto(buffer)
        Counted.read_bytes += count
        return count


@pytest.fixture
def counted(monkeypatch):
    """Since when the bytes are counted that are read of journals."""
    others = Path.open

    def opened(path, mode="r", *more, **options):
        return io.BufferedReader(Counted(path)) if mode == "rb" else others(path, mode, *more, **options)

    monkeypatch.setattr(Path, "open", opened)
    Counted.opened = Counted.read_bytes = 0
    return Counted


def write_journal(home, number, words="x" * 1000, updates=200):
    """A session with a long answer; its path."""
    (home / "sessions").mkdir(exist_ok=True)
    path = home / "sessions" / f"{uuid4()}.jsonl"
    at = f"2026-01-01T00:00:00.{number:06}+00:00"
    records = [
        {"session": path.stem, "cwd": "/", "chosen": {}},
        {"prompt": [{"type": "text", "text": f"No. {number}"}]},
    ]
    records += [{"update": message(words)}] * updates
    path.write_text("".join(json.dumps({"at": at, **record}) + "\n" for record in records))
    return path


async def pages(client):
    """All sessions of the list, page by page."""
    found, cursor = [], {}
    while True:
        answer = await client.request("session/list", cursor)
        found += answer["sessions"]
        if "nextCursor" not in answer:
            return found
        cursor = {"cursor": answer["nextCursor"]}


async def test_a_list_reads_the_ends_of_each_file_once_over_all_its_pages(talking, home, counted):
    paths = [write_journal(home, number) for number in range(120)]
    async with talking(begins=False) as client:
        await client.initialize()
        found = await pages(client)
        assert [each["sessionId"] for each in found] == [path.stem for path in reversed(paths)]
        assert found[0]["title"] == "Demo: No. 119"
        assert counted.opened == 120
        assert counted.read_bytes < 120 * 20_000 < sum(path.stat().st_size for path in paths) / 5
        assert len(await pages(client)) == 120
        assert counted.opened == 120


async def test_a_session_that_has_gone_on_is_read_again_and_one_that_is_gone_is_not_listed(talking, home, counted):
    first, second, third = (write_journal(home, number, updates=1) for number in range(3))
    assert [told.id for told in journal.list_all()] == [third.stem, second.stem, first.stem]
    with open(first, "a") as file:
        file.write(json.dumps({"at": "2026-01-02", "update": message("y")}) + "\n")
    third.unlink()
    told = journal.list_all()
    assert [(each.id, each.updated[:10]) for each in told] == [(first.stem, "2026-01-02"), (second.stem, "2026-01-01")]
    assert counted.opened == 4


@pytest.mark.parametrize("size", [10, 1000, 4096, 5000, 100_000])
@pytest.mark.parametrize("tail", ["", "\n", '{"at": "2027-', "\n{}\n"])
def test_the_list_tells_the_time_of_the_last_whole_record(home, size, tail):
    path = write_journal(home, 1, updates=3)
    last = json.dumps({"at": "2026-01-03", "update": message("z" * size)})
    with path.open("a") as file:
        file.write(f"{last}\n{tail}")
    (told,) = journal.list_all()
    assert told.updated == recall(path.stem).updated == "2026-01-03"


def test_a_session_without_a_prompt_is_not_listed(home):
    path = write_journal(home, 1)
    path.write_text(path.read_text().partition("\n")[0])
    (home / "sessions" / "notes.jsonl").write_text("[]\n")
    assert journal.list_all() == []


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


async def test_a_disk_that_is_full_costs_the_memory_and_not_the_answer(talking, monkeypatch, capfd):
    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    async with talking() as client:
        with monkeypatch.context() as patch:
            patch.setattr(journal.os, "write", full)
            assert await client.play("demo: say Hello") == [message("Hello"), END]
        assert await client.play("demo: say Again") == [message("Again"), END]
    assert "demo agent: sessions are not kept: [Errno 28]" in capfd.readouterr().err
