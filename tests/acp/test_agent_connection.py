"""What an agent is asked outside of turns: its sessions, and to sign in; each only when it offers it."""

from dataclasses import replace
from itertools import count

import anyio
import pytest
from copilot_kernel.acp.agent_connection import UNLISTED, UNSUPPORTED
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.acp.messages import AuthMethod, Chunk, Mode, TextBlock
from copilot_kernel.errors import AgentRefused, AgentStartFailed, AuthRequired, UsageError

from .scripted import OPTIONS as CHOICES
from .scripted import Client, agent_text, linked, listening, met


def able(load=True, logout=False, **session):
    """An answer to `initialize` that offers this."""
    capabilities = {
        "loadSession": load,
        "sessionCapabilities": {name: {} for name, on in session.items() if on},
        "auth": {"logout": {}} if logout else {},
    }
    return {"protocolVersion": 1, "agentCapabilities": capabilities, "authMethods": [{"id": "key", "name": "Key"}]}


def asked(script):
    return [(method, params) for method, params in script.heard if method != "initialize"]


# -- lists --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cursors", "asked_for"), [(["1", "2", None], 3), (["a", "b", "a", "c"], 3), (["1", "2", "3", "4", "5"], 4)]
)
async def test_all_pages_of_the_list_are_read_until_a_cursor_repeats_or_they_are_too_many(
    referee, monkeypatch, cursors, asked_for
):
    monkeypatch.setattr("copilot_kernel.acp.agent_connection.MAX_PAGES", 4)
    numbers = count()

    async def answer(script, params):
        n = next(numbers)
        return {"sessions": [{"sessionId": f"s{n}", "title": "T"}] * 2, "nextCursor": cursors[n]}

    signed_out = RequestFailed(-32000, "Authentication required")
    async with met(initialize=able(list=True), session_new=signed_out, session_list=answer) as (script, link, _):
        found = [(each.id, each.title) for each in await link.sessions("/here")]
        assert found == [(f"s{n}", "T") for n in range(asked_for)]
        sent = [{"cwd": "/here"}, *({"cwd": "/here", "cursor": each} for each in cursors[: asked_for - 1])]
        assert asked(script) == [("session/list", params) for params in sent]
        assert referee(link.log.lines) == ["initialize", *["session/list"] * asked_for]
        with pytest.raises(AuthRequired) as caught:
            await link.new("/")
        assert (caught.value.method, caught.value.code) == ("session/new", -32000)
        assert caught.value.methods == (AuthMethod("key", "Key"),)
        assert isinstance(caught.value.__cause__, AgentRefused)
        script.answers["session/new"] = RequestFailed(-32603, "Internal error", {"details": "no disk"})
        with pytest.raises(AgentRefused, match=r"^no disk$"):
            await link.new("/")


async def test_what_an_agent_does_not_filter_is_filtered_here(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    sessions = [
        {"sessionId": "same", "cwd": str(tmp_path / "link")},
        {"sessionId": "without links", "cwd": str(tmp_path / "real")},
        {"sessionId": "other", "cwd": str(tmp_path)},
        {"sessionId": "unknown"},
        {"cwd": str(tmp_path / "link")},
        "rubbish",
    ]
    async with met(initialize=able(list=True), session_list={"sessions": sessions}) as (_, link, _):
        here = [session.id for session in await link.sessions(str(tmp_path / "link"))]
        everywhere = [session.id for session in await link.sessions()]
    assert here == ["same", "without links", "unknown"]
    assert everywhere == ["same", "without links", "other", "unknown"]


# -- load and resume ----------------------------------------------------------------------------------------------


async def test_a_load_replays_the_conversation_before_it_returns(referee):
    async def load(script, params):
        for kind, text in (("user", "Hi"), ("agent", "Hello")):
            content = {"type": "text", "text": text}
            await script.update({"sessionUpdate": f"{kind}_message_chunk", "content": content}, session="old")
        return {"modes": {"currentModeId": "plan", "availableModes": [{"id": "plan", "name": "Plan"}]}}

    async with met(initialize=able(), session_load=load) as (script, link, client):
        session = await link.reopen("load", "old", "/here")
        assert client.events == [("old", Chunk("user", TextBlock("Hi"))), ("old", agent_text("Hello"))]
        assert (session.id, session.state.mode, session.state.modes) == ("old", "plan", (Mode("plan", "Plan"),))
        assert asked(script) == [("session/load", {"sessionId": "old", "cwd": "/here", "mcpServers": []})]
        assert referee(link.log.lines) == ["initialize", "session/load"]
        await session.prompt([TextBlock("hello")])
        assert script.heard[-1][1]["sessionId"] == "old"


async def test_a_load_that_is_not_answered_is_given_up_in_time():
    async def load(script, params):
        await anyio.sleep_forever()

    async with met(initialize=able(), session_load=load) as (_, link, _):
        link._start_timeout = 0.2
        with pytest.raises(AgentStartFailed) as caught:
            await link.reopen("load", "old", "/")
        assert (str(caught.value), caught.value.ended) == ("the agent did not answer session/load within 0.2 s", False)
        assert not link.closed.is_set()


# -- close, delete, sign in ---------------------------------------------------------------------------------------


async def test_close_and_delete_are_requests_with_the_id(referee):
    answers = {"initialize": able(close=True, delete=True), "session_close": {}, "session_delete": None}
    async with met(**answers) as (script, link, _):
        session = await link.new("/")
        await session.close()
        await link.delete("old")
        assert asked(script)[1:] == [("session/close", {"sessionId": "s1"}), ("session/delete", {"sessionId": "old"})]
        assert referee(link.log.lines)[2:] == ["session/close", "session/delete"]


@pytest.mark.parametrize(
    ("code", "message", "counts"),
    [(-32002, "no such session", True), (-32602, "no such session", False), (-32002, "Permission denied", False)],
)
async def test_what_the_agent_does_not_know_is_closed_and_deleted(code, message, counts):
    answers = dict.fromkeys(("session_close", "session_delete"), RequestFailed(code, message))
    async with met(initialize=able(close=True, delete=True), **answers) as (_, link, _):
        session = await link.new("/")
        for request in (session.close, lambda: link.delete("s1")):
            if counts:
                await request()
            else:
                with pytest.raises(AgentRefused):
                    await request()


async def test_signing_in_and_out_names_only_the_method(referee):
    async with met(initialize=able(logout=True), authenticate={}, logout=None) as (script, link, _):
        await link.authenticate("key")
        await link.logout()
        assert asked(script) == [("authenticate", {"methodId": "key"}), ("logout", {})]
        assert referee(link.log.lines) == ["initialize", "authenticate", "logout"]


UNOFFERED = {
    "list": lambda link, session: link.sessions(),
    "load": lambda link, session: link.reopen("load", "old", "/"),
    "resume": lambda link, session: link.reopen("resume", "old", "/"),
    "delete": lambda link, session: link.delete("old"),
    "close": lambda link, session: session.close(),
    "logout": lambda link, session: link.logout(),
}


@pytest.mark.parametrize("name", UNOFFERED)
async def test_what_is_not_offered_is_not_asked_for(name):
    async with met() as (script, link, _):
        session = await link.new("/")
        with pytest.raises(UsageError) as caught:
            await UNOFFERED[name](link, session)
        assert str(caught.value) == (UNLISTED if name == "list" else UNSUPPORTED).format("script", name)
        assert [method for method, _ in asked(script)] == ["session/new"]


# -- what a session can be set to ---------------------------------------------------------------------------------


async def test_mode_and_model_are_set_by_their_ids(referee):
    answers = {"session_set_mode": {}, "session_set_model": {}}
    async with met(**answers) as (script, link, _):
        session = await link.new("/")
        await session.set_mode("https://example.org/modes#plan")
        await session.set_model("large")
        assert asked(script)[1:] == [
            ("session/set_mode", {"sessionId": "s1", "modeId": "https://example.org/modes#plan"}),
            ("session/set_model", {"sessionId": "s1", "modelId": "large"}),
        ]
        assert referee(list(link.log.lines)[:5])[2:] == ["session/set_mode"]


OPTIONS = [{"id": "effort", "name": "Effort", "type": "select", "currentValue": "low", "options": []}]


@pytest.mark.parametrize(("value", "sent"), [("low", {"value": "low"}), (True, {"type": "boolean", "value": True})])
async def test_an_option_is_set_by_its_config_id_and_the_answer_is_the_whole_list(referee, value, sent):
    answers = {"session_set_config_option": {"configOptions": [*OPTIONS, "rubbish"]}}
    async with met(**answers) as (script, link, _):
        session = await link.new("/")
        assert await session.set_option("effort", value) == tuple(OPTIONS)
        assert asked(script)[1:] == [("session/set_config_option", {"sessionId": "s1", "configId": "effort", **sent})]
        script.answers["session/set_config_option"] = None
        assert await session.set_option("effort", value) is None


def option_members(script):
    return [member for _, params in asked(script)[1:] for member in ("configId", "optionId") if member in params]


@pytest.mark.parametrize(
    ("setting", "members"), [("configId", ["configId", "optionId", "optionId"]), ("optionId", ["optionId"] * 2)]
)
async def test_an_agent_that_misses_option_id_gets_it_from_then_on(setting, members):
    async def answer(script, params):
        if "optionId" not in params:
            raise RequestFailed(-32602, "Invalid params")
        return {"configOptions": OPTIONS}

    async with met(session_set_config_option=answer, more={"option_member": setting}) as (script, link, _):
        session = await link.new("/")
        for _ in range(2):
            assert await session.set_option("effort", "low") == tuple(OPTIONS)
        assert option_members(script) == members


async def test_an_agent_that_refuses_a_value_gets_config_id_again_and_other_refusals_are_final():
    async def choosy(script, params):
        if params.get("value") != "high" or "configId" not in params:
            raise RequestFailed(-32602, "missing configId" if "configId" not in params else "no such value")
        return {"configOptions": OPTIONS}

    async with met(session_set_config_option=choosy) as (script, link, _):
        session = await link.new("/")
        with pytest.raises(AgentRefused, match="no such value"):
            await session.set_option("effort", "low")
        assert await session.set_option("effort", "high") == tuple(OPTIONS)
        script.answers["session/set_config_option"] = RequestFailed(-32603, "optionId is missing")
        with pytest.raises(AgentRefused, match="optionId is missing"):
            await session.set_option("effort", "low")
        assert option_members(script) == ["configId", "optionId", "configId", "configId"]


async def test_an_agent_without_set_model_gets_the_option_once():
    async with met(session_set_config_option={}) as (script, link, _):
        session = await link.new("/")
        await session.set_model("large")
        assert asked(script)[1:] == [
            ("session/set_model", {"sessionId": "s1", "modelId": "large"}),
            ("session/set_config_option", {"sessionId": "s1", "optionId": "model", "value": "large"}),
        ]
        script.answers["session/set_config_option"] = RequestFailed(-32602, "no such option")
        with pytest.raises(AgentRefused, match="session/set_model"):
            await session.set_model("small")
        script.answers["session/set_model"] = RequestFailed(-32602, "no such model")
        with pytest.raises(AgentRefused, match="no such model"):
            await session.set_model("small")
        assert [method for method, _ in asked(script)[3:]] == [
            "session/set_model",
            "session/set_config_option",
            "session/set_model",
        ]


async def test_copilot_that_names_neither_itself_nor_a_way_to_sign_in_gets_the_documented_ways():
    async with (
        listening(initialize={"protocolVersion": 1}) as (_, launch),
        linked(replace(launch, is_copilot=True)) as (link, _),
    ):
        commands = [method.command for method in link.info.auth_methods]
        assert commands == [("copilot", "login"), ("gh", "auth", "login")]


# -- what we serve beside updates and permissions -----------------------------------------------------------------


async def test_what_is_served_is_offered_and_answered_in_order(referee):
    heard = []

    def read(params):
        heard.append(params["path"])

        async def answer():
            return {"content": "text"}

        return answer()

    async def prompt(script, params):
        ask = {"sessionId": "s1", "path": "/a"}
        assert await script.connection.request("fs/read_text_file", ask) == {"content": "text"}

    services = {"fs/read_text_file": read}
    async with met(Client(), more={"services": services}, session_prompt=prompt) as (script, link, _):
        await (await link.new("/")).prompt([TextBlock("hello")])
        offered = script.heard[0][1]["clientCapabilities"]
        assert (offered["fs"], offered["terminal"]) == ({"readTextFile": True, "writeTextFile": True}, False)
        assert heard == ["/a"]
        assert referee(link.log.lines)[-1] == "= fs/read_text_file"


async def test_an_agent_that_wants_the_flat_answer_gets_it_by_setting():
    answers = []

    async def prompt(script, params):
        answers.append(await script.ask(sessionId="s1", toolCall={"toolCallId": "t"}, options=CHOICES))

    async with met(more={"answer_form": "flat"}, session_prompt=prompt) as (_, link, _):
        await (await link.new("/")).prompt([TextBlock("hello")])
    assert answers == [{"outcome": "selected", "optionId": "yes-1"}]
