"""What an agent is asked outside of turns: its sessions, and to sign in; each only when it offers it."""

import anyio
import pytest
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.acp.messages import AuthMethod, Chunk, Mode, SessionInfo, Text
from copilot_kernel.errors import AgentRefused, AgentStartFailed, AuthRequired, UsageError

from .scripted import OPTIONS as CHOICES
from .scripted import Client, met, said

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


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


def pages(*sizes):
    """A list of so many pages, and the sessions in it."""
    entries = iter(range(sum(sizes)))
    made = [[{"sessionId": f"s{next(entries)}", "cwd": "/here", "title": "One"} for _ in range(n)] for n in sizes]

    async def answer(script, params):
        number = int(params.get("cursor", "0"))
        more = {"nextCursor": str(number + 1)} if number + 1 < len(made) else {}
        return {"sessions": made[number], **more}

    return answer


async def test_all_pages_of_the_list_are_read(referee):
    async with met(initialize=able(list=True), session_list=pages(2, 0, 1)) as (script, link, _):
        found = await link.sessions("/here")
        assert [(each.id, each.cwd, each.title) for each in found] == [(f"s{n}", "/here", "One") for n in range(3)]
        assert asked(script) == [
            ("session/list", {"cwd": "/here"}),
            ("session/list", {"cwd": "/here", "cursor": "1"}),
            ("session/list", {"cwd": "/here", "cursor": "2"}),
        ]
        assert referee(link.log.lines) == ["initialize", *["session/list"] * 3]


async def test_a_list_without_end_is_not_followed_for_ever():
    answers = iter(["a", "b", "a", "c"])

    async def answer(script, params):
        return {"sessions": [{"sessionId": "s1"}], "nextCursor": next(answers)}

    async with met(initialize=able(list=True), session_list=answer) as (script, link, _):
        assert await link.sessions() == (SessionInfo("s1", raw={"sessionId": "s1"}),)
    assert len(asked(script)) == 3


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


async def test_the_list_needs_neither_a_session_nor_a_sign_in():
    signed_out = RequestFailed(-32000, "Authentication required")
    answers = {"initialize": able(list=True), "session_new": signed_out, "session_list": pages(1)}
    async with met(**answers) as (_, link, _):
        assert [session.id for session in await link.sessions()] == ["s0"]
        with pytest.raises(AuthRequired) as caught:
            await link.new("/")
        assert caught.value.methods == (AuthMethod("key", "Key", raw={"id": "key", "name": "Key"}),)


# -- load and resume ----------------------------------------------------------------------------------------------


async def test_a_load_brings_what_was_said_before_it_returns(referee):
    async def load(script, params):
        for kind, text in (("user", "Hi"), ("agent", "Hello"), ("user", "Bye")):
            await script.update(
                {"sessionUpdate": f"{kind}_message_chunk", "content": {"type": "text", "text": text}}, session="old"
            )
        modes = {"currentModeId": "plan", "availableModes": [{"id": "plan", "name": "Plan"}]}
        return {"modes": modes}

    async with met(initialize=able(), session_load=load) as (script, link, client):
        session = await link.load("old", "/here")
        assert client.events == [
            ("old", Chunk("user", Text("Hi"))),
            ("old", said("Hello")),
            ("old", Chunk("user", Text("Bye"))),
        ]
        assert (session.id, session.state.mode, session.state.modes) == ("old", "plan", (Mode("plan", "Plan"),))
        assert asked(script) == [("session/load", {"sessionId": "old", "cwd": "/here", "mcpServers": []})]
        assert referee(link.log.lines) == ["initialize", "session/load"]
        await session.prompt([Text("hello")])
        assert script.heard[-1][1]["sessionId"] == "old"


@pytest.mark.parametrize("answer", [None, {}, [], {"sessionId": "another"}])
async def test_a_load_may_be_answered_by_nothing(answer):
    async with met(initialize=able(), session_load=answer) as (_, link, _):
        assert (await link.load("old", "/")).id == "old"


async def test_resume_is_a_method_of_its_own(referee):
    async with met(initialize=able(resume=True), session_resume={}) as (script, link, client):
        assert (await link.resume("old", "/")).id == "old"
        assert [method for method, _ in asked(script)] == ["session/resume"]
        assert referee(link.log.lines) == ["initialize", "session/resume"]
        assert client.events == []


async def test_a_load_that_is_not_answered_is_given_up_in_time():
    async def load(script, params):
        await anyio.sleep_forever()

    async with met(timeout=0.2, initialize=able(), session_load=load) as (_, link, _):
        with pytest.raises(AgentStartFailed) as caught:
            await link.load("old", "/")
        assert (str(caught.value), caught.value.ended) == (
            "the agent did not answer session/load within 0.2 s",
            False,
        )
        assert not link.closed.is_set()


async def test_an_agent_that_dies_of_a_load_has_ended():
    async def load(script, params):
        await script.connection._transport.close()

    async with met(initialize=able(), session_load=load) as (_, link, _):
        with pytest.raises(AgentStartFailed) as caught:
            await link.load("old", "/")
        assert (str(caught.value), caught.value.ended) == (
            "the agent ended before it was ready: it closed the connection",
            True,
        )


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
    "load": lambda link, session: link.load("old", "/"),
    "resume": lambda link, session: link.resume("old", "/"),
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
        assert str(caught.value) == f"the agent does not offer this ({name})"
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
        assert asked(script)[1:] == [
            ("session/set_config_option", {"sessionId": "s1", "configId": "effort", **sent}),
        ]


async def test_an_answer_without_a_list_says_nothing_of_the_options():
    async with met(session_set_config_option=None) as (_, link, _):
        session = await link.new("/")
        assert await session.set_option("effort", "low") is None


def wants_option_id(refusal):
    async def answer(script, params):
        if "optionId" not in params:
            raise refusal
        return {"configOptions": OPTIONS}

    return answer


def option_members(script):
    return [*(params.keys() & {"configId", "optionId"} for _, params in asked(script)[1:])]


@pytest.mark.parametrize(
    "refusal",
    [
        RequestFailed(-32602, "Invalid params", {"details": "missing field `optionId`"}),
        RequestFailed(-32602, "Invalid params"),
        RequestFailed(-32602, "no such option: undefined"),
    ],
)
async def test_an_agent_that_misses_option_id_gets_it_from_then_on(refusal):
    async with met(session_set_config_option=wants_option_id(refusal)) as (script, link, _):
        session = await link.new("/")
        for _ in range(2):
            assert await session.set_option("effort", "low") == tuple(OPTIONS)
        assert option_members(script) == [{"configId"}, {"optionId"}, {"optionId"}]


async def test_the_setting_spares_the_first_try():
    refusal = RequestFailed(-32602, "Invalid params")
    async with met(session_set_config_option=wants_option_id(refusal), more={"option_member": "optionId"}) as (
        script,
        link,
        _,
    ):
        session = await link.new("/")
        assert await session.set_option("effort", "low") == tuple(OPTIONS)
        assert option_members(script) == [{"optionId"}]


async def test_an_agent_that_refuses_a_value_is_told_config_id_again():
    async def choosy(script, params):
        if params.get("value") != "high" or "configId" not in params:
            raise RequestFailed(-32602, "missing configId" if "configId" not in params else "no such value")
        return {"configOptions": OPTIONS}

    async with met(session_set_config_option=choosy) as (script, link, _):
        session = await link.new("/")
        with pytest.raises(AgentRefused, match="no such value"):
            await session.set_option("effort", "low")
        assert await session.set_option("effort", "high") == tuple(OPTIONS)
        assert option_members(script) == [{"configId"}, {"optionId"}, {"configId"}]


@pytest.mark.parametrize("error", [RequestFailed(-32603, "optionId is missing"), RequestFailed(-32601, "unknown")])
async def test_any_other_refusal_is_not_tried_again(error):
    async with met(session_set_config_option=error) as (script, link, _):
        session = await link.new("/")
        with pytest.raises(AgentRefused):
            await session.set_option("effort", "low")
        assert option_members(script) == [{"configId"}]


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
        return {"stopReason": "end_turn"}

    services = {"fs/read_text_file": read}
    async with met(Client(), more={"services": services}, session_prompt=prompt) as (script, link, _):
        await (await link.new("/")).prompt([Text("hello")])
        offered = script.heard[0][1]["clientCapabilities"]
        assert (offered["fs"], offered["terminal"]) == ({"readTextFile": True, "writeTextFile": True}, False)
        assert heard == ["/a"]
        assert referee(link.log.lines)[-1] == "= fs/read_text_file"


@pytest.mark.parametrize(
    ("choose", "outcome"), [(0, {"outcome": "selected", "optionId": "yes-1"}), (None, {"outcome": "cancelled"})]
)
async def test_an_agent_that_wants_the_flat_answer_gets_it_by_setting(choose, outcome):
    answers = []

    async def prompt(script, params):
        answers.append(await script.ask(sessionId="s1", toolCall={"toolCallId": "t"}, options=CHOICES))
        return {"stopReason": "end_turn"}

    client = Client()
    client.choose = choose
    async with met(client, more={"answer_form": "flat"}, session_prompt=prompt) as (_, link, _):
        await (await link.new("/")).prompt([Text("hello")])
    assert answers == [outcome]
