"""The start of a session over loopback, with a scripted agent in the test itself."""

import socket
import time

import pytest
from copilot_kernel import __version__
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.acp.locate import Launch
from copilot_kernel.acp.messages import Unknown
from copilot_kernel.errors import AgentNotFound, AgentRefused, AgentStartFailed, AuthRequired, ProtocolUnsupported

from .scripted import listening, opened, refused, said

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30), pytest.mark.usefixtures("nothing_is_left")]


async def test_the_start_says_who_we_are_and_opens_one_session():
    async with listening() as (script, launch), opened(launch, cwd="/tmp") as (session, _):
        assert (session.info.name, session.state.id, session.closed.is_set()) == ("script", "s1", False)
        initialize, new = script.heard
        assert initialize[1].pop("clientCapabilities").keys().isdisjoint({"elicitation", "auth"})
        assert initialize == (
            "initialize",
            {
                "protocolVersion": 1,
                "clientInfo": {"name": "copilot-kernel", "title": "Copilot Kernel", "version": __version__},
            },
        )
        assert new == ("session/new", {"cwd": "/tmp", "mcpServers": []})


async def test_updates_before_the_session_has_a_name_are_not_lost():
    async def new(script, params):
        await script.say("early")
        await script.update({"sessionUpdate": "news"}, session="another")
        return {"sessionId": "s1"}

    async with listening(session_new=new) as (_, launch), opened(launch) as (_, client):
        assert client.events == [("s1", said("early")), ("another", Unknown("news", {"sessionUpdate": "news"}))]


@pytest.mark.parametrize("version", [1, "1"])
async def test_version_one_is_taken_as_number_or_digit(version):
    async with listening(initialize={"protocolVersion": version}) as (_, launch), opened(launch) as (session, _):
        assert session.state.id == "s1"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"protocolVersion": 2}, "2"),
        ({"protocolVersion": 99}, "99"),
        ({"protocolVersion": 0}, "0"),
        ({"protocolVersion": "v1"}, "v1"),
        ({"protocolVersion": True}, "true"),
        ({}, "none"),
        (None, "none"),
    ],
)
async def test_any_other_version_is_refused(answer, words):
    async with listening(initialize=answer) as (script, launch):
        with pytest.raises(ProtocolUnsupported) as caught:
            await refused(launch)
        assert str(caught.value) == f"the agent speaks version {words} of the protocol; this client speaks version 1"
        assert caught.value.hint
        assert [method for method, _ in script.heard] == ["initialize"]


async def test_an_agent_that_wants_a_sign_in_says_how():
    methods = [{"id": "login", "name": "Log in", "description": "Run it"}]
    answers = {
        "initialize": {"protocolVersion": 1, "authMethods": methods},
        "session_new": RequestFailed(-32000, "Authentication required"),
    }
    async with listening(**answers) as (_, launch):
        with pytest.raises(AuthRequired) as caught:
            await refused(launch)
        assert (caught.value.method, caught.value.code) == ("session/new", -32000)
        assert [(method.id, method.name, method.description) for method in caught.value.methods] == [
            ("login", "Log in", "Run it")
        ]
        assert isinstance(caught.value.__cause__, AgentRefused)


async def test_another_refusal_keeps_its_method_code_and_data():
    answer = RequestFailed(-32603, "Internal error", {"details": "no disk"})
    async with listening(session_new=answer) as (_, launch):
        with pytest.raises(AgentRefused) as caught:
            await refused(launch)
        assert not isinstance(caught.value, AuthRequired)
        assert (caught.value.method, caught.value.code, caught.value.data, str(caught.value)) == (
            "session/new",
            -32603,
            {"details": "no disk"},
            "The agent refused session/new: Internal error: no disk (-32603)",
        )


@pytest.mark.parametrize("answer", [{}, None, {"sessionId": 5}, {"sessionId": ""}])
async def test_a_session_without_a_name_is_no_session(answer):
    async with listening(session_new=answer) as (_, launch):
        with pytest.raises(AgentStartFailed) as caught:
            await refused(launch)
        assert str(caught.value) == "the agent opened a session without a sessionId"


async def test_one_that_accepts_and_says_nothing_is_given_up_in_time():
    with socket.create_server(("127.0.0.1", 0)) as server:
        began = time.monotonic()
        with pytest.raises(AgentStartFailed) as caught:
            await refused(Launch(address=server.getsockname(), label="the agent"), timeout=0.2)
        assert time.monotonic() - began < 1
        assert str(caught.value) == "the agent was not ready within 0.2 s"


async def test_nobody_at_the_address_is_no_agent():
    with pytest.raises(AgentNotFound):
        await refused(Launch(address=("127.0.0.1", 9), label="the agent"))
