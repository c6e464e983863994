"""Using the client's files and terminals; the client is a small pretended one."""

import anyio
import pytest
from copilot_kernel.acp.jsonrpc import RequestFailed

pytestmark = pytest.mark.anyio

ALL = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
CREATED = {"terminalId": "term_1"}
SHOWN = [{"type": "terminal", "terminalId": "term_1"}]
TERMINAL = {"terminalId": "term_1"}


def said(heard):
    return [update["content"]["text"] for update in heard if update.get("sessionUpdate") == "agent_message_chunk"]


def statuses(heard):
    return [update["status"] for update in heard if "status" in update]


def offer_terminals(client, code=0, output="hello\n", **more):
    client.services = {
        "terminal/create": lambda params: CREATED,
        "terminal/wait_for_exit": lambda params: {"exitCode": code},
        "terminal/output": lambda params: {"output": output, "truncated": False, **more},
        "terminal/kill": lambda params: {},
        "terminal/release": lambda params: None,
    }


def methods(client):
    return [method for method, _ in client.served]


async def test_a_file_is_read_by_the_client(talking, tmp_path):
    async with talking(**ALL) as client:
        client.services["fs/read_text_file"] = lambda params: {"content": "one\n"}
        heard = await client.play("demo: fsread a.txt\nfsread a.txt 2\nfsread a.txt 2 5")
        path = str(tmp_path / "a.txt")
        assert [params for _, params in client.served] == [
            {"path": path},
            {"path": path, "line": 2},
            {"path": path, "line": 2, "limit": 5},
        ]
        assert (said(heard), statuses(heard)) == (["'one\\n'\n"] * 3, ["pending", "completed"] * 3)


async def test_a_file_is_written_by_the_client(talking, tmp_path):
    async with talking(**ALL) as client:
        client.services["fs/write_text_file"] = lambda params: None
        heard = await client.play(r"demo: fswrite a.txt one\ntwo\n")
        path = str(tmp_path / "a.txt")
        assert client.served == [("fs/write_text_file", {"path": path, "content": "one\ntwo\n"})]
        assert heard[0]["content"] == [{"type": "diff", "path": path, "oldText": None, "newText": "one\ntwo\n"}]
        assert said(heard) == ["a.txt is written\n"]


async def test_a_question_may_come_first(talking):
    async with talking(**ALL) as client:
        offer_terminals(client)
        client.services["fs/write_text_file"] = lambda params: {}
        heard = await client.play("demo: fswrite-asked a.txt one\nterminal-asked echo hello")
        assert [update["toolCall"]["toolCallId"] for update in heard if "options" in update] == ["call_1", "call_2"]
        client.answers, client.served = ["reject_once"], []
        await client.play("demo: terminal-asked echo two")
        assert client.served == []


@pytest.mark.parametrize("line", ["fsread a", "fswrite a b", "terminal ls", "terminal-left ls", "terminal-killed 0 ls"])
async def test_what_the_client_does_not_offer_is_not_asked_for(talking, line):
    async with talking() as client:
        heard = await client.play(f"demo: {line}\nsay on")
        assert ("the client does not offer" in said(heard)[0], said(heard)[1]) == (True, "on")
        assert statuses(heard) == ["pending", "failed"]


async def test_the_clients_error_is_told_and_the_turn_goes_on(talking):
    async def fail(params):
        raise RequestFailed(-32002, "no such file")

    async with talking(**ALL) as client:
        client.services["fs/read_text_file"] = fail
        heard = await client.play("demo: fsread a.txt\nsay on")
        assert ("no such file" in said(heard)[0], said(heard)[1]) == (True, "on")


async def test_a_command_runs_in_a_terminal_of_the_clients(talking, tmp_path):
    async with talking(**ALL) as client:
        offer_terminals(client, code=3, truncated=True)
        heard = await client.play("demo: terminal echo hello; exit 3")
        created, *rest = client.served
        assert created == (
            "terminal/create",
            {
                "command": "/bin/sh",
                "args": ["-c", "echo hello; exit 3"],
                "env": [{"name": "DEMO_AGENT", "value": "1"}],
                "cwd": str(tmp_path),
                "outputByteLimit": 100_000,
            },
        )
        waits = [("terminal/wait_for_exit", TERMINAL)] * 2
        assert rest == [*waits, ("terminal/output", TERMINAL), ("terminal/release", TERMINAL)]
        assert [update.get("content") for update in heard[:2]] == [None, SHOWN]
        assert statuses(heard) == ["pending", "in_progress", "completed"]
        assert said(heard) == ["exit code 3, output 'hello\\n', cut off\n"]


async def test_a_terminal_can_be_left_behind(talking):
    async with talking(**ALL) as client:
        offer_terminals(client)
        heard = await client.play("demo: terminal-left sleep 1000")
        assert (methods(client), said(heard)) == (["terminal/create"], ["left running\n"])


async def test_a_command_can_be_killed(talking):
    killed = anyio.Event()

    async def wait(params):
        await killed.wait()
        return {"signal": "SIGKILL"}

    async with talking(**ALL) as client:
        offer_terminals(client)
        client.services |= {"terminal/wait_for_exit": wait, "terminal/kill": lambda params: killed.set()}
        heard = await client.play("demo: terminal-killed 0.05 sleep 1000")
        assert said(heard) == ["signal SIGKILL, output 'hello\\n'\n"]
        assert methods(client)[-4:] == [
            "terminal/kill",
            "terminal/wait_for_exit",
            "terminal/output",
            "terminal/release",
        ]


async def test_a_terminal_is_released_when_the_turn_is_cancelled(talking):
    async with talking(**ALL) as client:

        async def wait(params):
            await client.cancel()
            await anyio.sleep_forever()

        offer_terminals(client)
        client.services["terminal/wait_for_exit"] = wait
        assert await client.prompt("demo: terminal sleep 1000") == {"stopReason": "cancelled"}
        assert methods(client) == ["terminal/create", "terminal/wait_for_exit", "terminal/release"]
