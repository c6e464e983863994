"""Signing in and out, in all the ways that there are."""

import pytest
from copilot_kernel.demo.signin import log_in
from copilot_kernel.errors import AgentRefused, AuthRequired

pytestmark = pytest.mark.anyio


async def refused(client, method, **params):
    with pytest.raises((AgentRefused, AuthRequired)) as caught:
        await client.request(method, params)
    return caught.value.code


async def methods(client):
    return [(method["id"], method.get("type")) for method in (await client.initialize())["authMethods"]]


async def test_who_is_signed_out_gets_no_session(talking, tmp_path):
    async with talking("signed-out", begins=False) as client:
        assert await methods(client) == [("demo-login", None)]
        session = {"cwd": str(tmp_path), "mcpServers": [], "sessionId": "unknown"}
        for method in ("session/new", "session/load", "session/resume"):
            assert await refused(client, method, **session) == -32000
        assert await refused(client, "authenticate", methodId="demo-login") == -32000
        assert await client.request("session/list", {}) == {"sessions": []}


async def test_signing_in_elsewhere_is_noticed_at_once(talking):
    async with talking("signed-out", begins=False) as client:
        await client.initialize()
        log_in()
        assert await client.request("authenticate", {"methodId": "demo-login"}) == {}
        assert (await client.new())["sessionId"]


async def test_the_method_of_type_agent_signs_in(talking):
    async with talking("signed-out", "auth=agent", begins=False) as client:
        assert await methods(client) == [("demo-account", None)]
        assert await client.request("authenticate", {"methodId": "demo-account"}) == {}
        assert (await client.new())["sessionId"]


async def test_signing_in_can_fail(talking):
    async with talking("signed-out", "auth=agent", "auth-fails", begins=False) as client:
        await client.initialize()
        assert await refused(client, "authenticate", methodId="demo-account") == -32603
        assert await client.request("authenticate", {"methodId": "demo-account"}) == {}


@pytest.mark.parametrize(
    ("client_auth", "ids"),
    [({"terminal": True}, [("demo-account", None), ("demo-terminal", "terminal")]), ({}, [("demo-account", None)])],
)
async def test_a_terminal_is_only_for_clients_that_have_one(talking, client_auth, ids):
    async with talking("signed-out", "auth=agent+terminal", begins=False, auth=client_auth) as client:
        assert await methods(client) == ids
        assert await refused(client, "authenticate", methodId="demo-terminal") == -32000


async def test_there_may_be_no_method_at_all(talking):
    async with talking("auth=none", begins=False) as client:
        assert await methods(client) == []


async def test_after_logout_a_sign_in_is_needed(talking, tmp_path):
    async with talking("auth=agent") as client:
        assert await client.request("logout", {}) == {}
        assert await refused(client, "session/new", cwd=str(tmp_path), mcpServers=[]) == -32000
        await client.request("authenticate", {"methodId": "demo-account"})
        assert (await client.new())["sessionId"]


async def test_logout_may_be_missing(talking):
    async with talking("no-logout") as client:
        assert (await client.initialize())["agentCapabilities"]["auth"] == {}
        assert await refused(client, "logout") == -32601
