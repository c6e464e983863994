"""The test agent speaks ACP as its specification has it, unless it was asked not to."""

import pytest
from copilot_kernel.demo.directives import DIRECTIVES as SHIPPED
from copilot_kernel.errors import AgentRefused

from ..demo.conftest import home, talking  # noqa: F401
from .agent import DIRECTIVES
from .signin import log_in
from .switches import SWITCHES, read_switches

pytestmark = pytest.mark.anyio

CAPABLE = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}, "url": {}},
    "session": {"configOptions": {"boolean": {}}},
}
SERVICES = {
    "fs/read_text_file": {"content": "one"},
    "fs/write_text_file": None,
    "terminal/create": {"terminalId": "term_1"},
    "terminal/wait_for_exit": {"exitCode": 0},
    "terminal/output": {"output": "", "truncated": False},
    "terminal/release": None,
    "elicitation/create": {"action": "decline"},
}
SCRIPT = """demo: text one two
think hm
slow 2 0
plan a;b / 1
create new/a.txt one
edit new/a.txt one => two
unasked true
flood 2
storm 8
long 500 3 0
remember
late x
notice warning Careful: it is hot
usage 7 10
mode plan
commands one two
image
svg
audio
link file:///a/b.txt
resource hello
blob
tool
echo
mcp
options allow_once;allow_once=Yes, and the rest;reject_always
ask
ask2
elicit form
elicit url https://example.org/a
swap true => touch two.txt
swap-late true => true
fsread a.txt 2 5
fswrite a.txt one
fswrite-asked a.txt one
terminal true
terminal-asked true
terminal-left true
wait 0
silent 0
stderr x"""
LAWLESS = {"hang", "rawline", "request", "withdraw", "elicit-withdrawn", "question", "stop", "refuse", "error", "die"}


async def test_what_directives_send_is_lawful(talking, tmp_path):  # noqa: F811
    async with talking("", **CAPABLE) as client:
        client.services = {method: lambda params, answer=answer: answer for method, answer in SERVICES.items()}
        assert await client.prompt(SCRIPT) == {"stopReason": "end_turn"}
    played = {line.removeprefix("demo: ").split()[0] for line in SCRIPT.splitlines()}
    assert played | LAWLESS == set(DIRECTIVES) - set(SHIPPED) | {"ask"}
    assert (tmp_path / "two.txt").exists()


@pytest.mark.parametrize("switches", ["uri-modes,more-options", "models", "name=Other,mcp-http,auth=agent+terminal"])
async def test_what_switches_add_is_lawful(talking, switches):  # noqa: F811
    async with talking(*switches.split(","), **CAPABLE, auth={"terminal": True}) as client:
        await client.prompt("demo: mode plan")
        await client.come_back("session/load", client.session_id)


@pytest.mark.parametrize("name", ["load", "resume", "list", "close", "delete", "logout"])
async def test_what_is_not_advertised_is_not_there(talking, name):  # noqa: F811
    async with talking(f"no-{name}") as client:
        can = (await client.initialize())["agentCapabilities"]
        has = {*can["sessionCapabilities"], *can["auth"], *(["load"] if can["loadSession"] else [])}
        assert has == {"load", "resume", "list", "close", "delete", "logout"} - {name}
        with pytest.raises(AgentRefused) as caught:
            await client.request("logout" if name == "logout" else f"session/{name}", {})
        assert caught.value.code == -32601


async def test_the_list_has_pages(talking):  # noqa: F811
    async with talking("page=2") as client:
        for _ in range(3):
            await client.begin()
            await client.prompt("demo: say one")
        first = await client.request("session/list", {})
        second = await client.request("session/list", {"cursor": first["nextCursor"]})
    assert (len(first["sessions"]), len(second["sessions"]), "nextCursor" in second) == (2, 1, False)


def test_unknown_switches_are_an_error():
    with pytest.raises(SystemExit, match="sleepy"):
        read_switches("no-load,sleepy")
    assert "no-load" in SWITCHES


async def test_signing_in_elsewhere_is_noticed_at_once(talking):  # noqa: F811
    async with talking("signed-out", begins=False) as client:
        log_in()
        assert await client.request("authenticate", {"methodId": "demo-login"}) == {}
        assert (await client.new())["sessionId"]
