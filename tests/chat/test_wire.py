"""What passes between a chat and an agent that is scripted in the test, over loopback: dialects, several kernels."""

import json
from contextlib import nullcontext
from typing import Any

import pytest
from copilot_kernel.acp.agent_errors import HINTS, error_from_answer
from copilot_kernel.acp.elicitation import ElicitationAnswer
from copilot_kernel.acp.jsonrpc import RequestFailed, RpcError
from copilot_kernel.acp.messages import ImageBlock
from copilot_kernel.chat.session_manager import (
    CLOSED,
    EXPIRED,
    KEPT,
    NEW_CONVERSATION,
    PERHAPS_GONE,
    PREVIOUS_GONE,
    REOPENED,
    REOPENED_NOW,
    RESTARTED,
)
from copilot_kernel.conversation.model import Message
from copilot_kernel.errors import AgentRefused, AuthRequired, ConnectionLost, UsageError

from ..acp.scripted import END_TURN, Script, answering, listening, numbered
from ..limits import until
from .conftest import Open, Time
from .loopback import address, asking, met, playing
from .people import Person, ask

LOADS = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}


def methods(script: Script) -> list[str]:
    return [method for method, _ in script.heard]


def prompts(script: Script) -> list[Any]:
    return [params["prompt"] for method, params in script.heard if method == "session/prompt"]


# -- dialects -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (["One", "Two"], ["One", "Two"]),
        ([{"role": "user", "content": "me"}, {"role": "assistant", "content": "One"}], ["One"]),
        ([{"role": "assistant", "content": [{"type": "text", "text": t} for t in ("One", " more")]}], ["One more"]),
    ],
)
async def test_what_was_not_streamed_is_shown_at_the_end(opened: Open, messages: Any, said: list[str]) -> None:
    async with met(opened, session_prompt={"stopReason": "end_turn", "messages": messages}) as (_, chat):
        turn = await ask(chat, "hello", person := Person())
    assert [text for speaker, text in person.said if speaker == "agent"] == said
    assert turn.text == "\n\n".join(said)


async def test_what_was_streamed_is_not_shown_twice(opened: Open) -> None:
    async def prompt(script: Script, params: Any) -> Any:
        return {**await playing("streamed")(script, params), "messages": ["streamed"]}

    async with met(opened, session_prompt=prompt) as (_, chat):
        assert (await ask(chat, "hello")).text == "streamed"


# -- sessions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("initialize", "code", "message", "opens", "lines"),
    [
        (LOADS, -32002, "Resource not found", ["session/load"], [REOPENED]),
        ({"protocolVersion": 1}, -32002, "Resource not found", ["session/new"], [CLOSED]),
        (LOADS, -32003, "Session expired", ["session/new"], [EXPIRED]),
        (LOADS, -32002, "Permission denied", [], []),
        (LOADS, -32003, "Quota exceeded", [], []),
        (LOADS, -32603, "Rate limit exceeded", [], []),
        (LOADS, -32603, "Connection error", [], []),
    ],
)
async def test_a_session_that_the_agent_let_go_of_is_opened_by_the_next_prompt_and_no_other(
    opened: Open, initialize: Any, code: int, message: str, opens: list[str], lines: list[str]
) -> None:
    """The agent was not started again, and no line says so."""
    prompt = answering(RequestFailed(code, message), END_TURN)
    async with met(opened, initialize=initialize, session_load={}, session_prompt=prompt) as (script, chat):
        with pytest.raises(AgentRefused, match=message) as caught:
            await ask(chat, "one")
        turn = await ask(chat, "two", person := Person())
        assert (caught.value.code, turn.session_id, person.notices) == (code, "s1", lines)
    assert methods(script) == ["initialize", "session/new", "session/prompt", *opens, "session/prompt"]
    assert prompts(script) == [[{"type": "text", "text": text}] for text in ("one", "two")]


FAILURES = [
    RequestFailed(-32603, "Internal error", {"details": "Session not found: s1"}),
    RequestFailed(-32603, "Session not found"),
    RequestFailed(-32602, "unknown session"),
    RequestFailed(-32603, "Something broke"),
]
UNKNOWN = RequestFailed(-32603, "No such thing")
HERE, ELSEWHERE = ({"sessions": [{"sessionId": id}]} for id in ("s1", "s2"))


def able(**sessions: Any) -> dict[str, Any]:
    return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True, "sessionCapabilities": sessions}}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(
    ("initialize", "answers", "asks", "opens", "hint", "lines"),
    [
        (able(list={}), {"list": HERE}, ["list"], [], None, []),
        (able(list={}), {"list": ELSEWHERE}, ["list"] * 2, ["list"] * 2 + ["new"], HINTS[-32002], [PREVIOUS_GONE]),
        (able(list={}), {"list": UNKNOWN}, ["list"], [], None, []),
        (able(), {"load": {}}, ["load"], [], REOPENED_NOW, []),
        (able(resume={}), {"resume": {}}, ["resume"], [], REOPENED_NOW, []),
        (
            able(),
            {"load": RequestFailed(-32602, "No such thing")},
            ["load"],
            ["load", "new"],
            HINTS[-32002],
            [NEW_CONVERSATION.format("No such thing")],
        ),
        ({"protocolVersion": 1}, {}, [], [], PERHAPS_GONE, []),
    ],
)
async def test_after_a_failure_without_a_known_reason_the_agent_is_asked_whether_it_has_the_session(
    opened: Open,
    failure: RequestFailed,
    initialize: Any,
    answers: dict[str, Any],
    asks: list[str],
    opens: list[str],
    hint: str | None,
    lines: list[str],
) -> None:
    """Nothing is sent again, and the conversation goes on with the next prompt, here or in a new session."""
    prompt = answering(END_TURN, failure, END_TURN, END_TURN)
    others: dict[str, Any] = {f"session_{name}": answer for name, answer in answers.items()}
    others["session_new"] = answering({"sessionId": "s1"}, {"sessionId": "s3"})
    async with met(opened, initialize=initialize, session_prompt=prompt, **others) as (script, chat):
        await ask(chat, "one")
        with pytest.raises(AgentRefused) as caught:
            await ask(chat, "two")
        own = error_from_answer("session/prompt", RpcError(failure.code, str(failure), failure.data)).hint
        assert caught.value.hint == (f"{own} {hint}" if hint == PERHAPS_GONE else hint or own)
        for text, said in (("three", lines), ("four", [])):
            turn = await ask(chat, text, person := Person())
            assert (turn.session_id, person.notices) == ("s3" if opens else "s1", said)
    assert [name.removeprefix("session/") for name in methods(script)[1:]] == [
        *("new", "prompt", "prompt"),
        *(*asks, *opens),
        *("prompt", "prompt"),
    ]
    assert [blocks[0]["text"] for blocks in prompts(script)] == ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (RequestFailed(-32000, "Connection closed"), ConnectionLost),
        (RequestFailed(-32000, "expired"), AuthRequired),
    ],
)
async def test_after_a_lost_connection_or_sign_in_the_next_prompt_starts_the_agent_again_and_goes_on(
    opened: Open, failure: Exception, raised: type[Exception]
) -> None:
    prompt = answering(END_TURN, failure, END_TURN)
    async with met(opened, initialize=LOADS, session_load={}, session_prompt=prompt) as (script, chat):
        await ask(chat, "one")
        with pytest.raises(raised):
            await ask(chat, "two")
        assert (await ask(chat, "three", person := Person())).session_id == "s1"
        assert (len(script.connections), person.notices) == (2, [RESTARTED])
    assert methods(script)[-3:] == ["initialize", "session/load", "session/prompt"]


@pytest.mark.parametrize(("loads", "method"), [(False, "session/prompt"), (True, "session/load")])
async def test_an_agent_that_would_forget_the_conversation_is_not_ended_for_want_of_a_sign_in(
    opened: Open, loads: bool, method: str
) -> None:
    """It is signed in as it is, and goes on; only after that it would be started again."""
    signs_in = {"protocolVersion": 1, "authMethods": [{"id": "account", "name": "Account"}]}
    initialize = {**signs_in, "agentCapabilities": {"loadSession": loads}}
    prompt = answering(END_TURN, RequestFailed(-32000, "expired"), END_TURN)
    answers = {"session_load": {}, "authenticate": {}, "session_prompt": prompt}
    async with met(opened, initialize=initialize, **answers) as (script, chat):
        await ask(chat, "one")
        with pytest.raises(AuthRequired) as caught:
            await ask(chat, "two")
        assert caught.value.hint == ("" if loads else KEPT)
        await chat.authenticate()
        turn = await ask(chat, "three", person := Person())
        assert (turn.session_id, person.notices, len(script.connections)) == ("s1", [REOPENED] * loads, 1)
    assert methods(script)[3:] == ["session/prompt", "authenticate", *([method] * loads), "session/prompt"]


async def test_a_connection_that_is_lost_while_a_session_is_opened_is_made_again(opened: Open, time: Time) -> None:
    new = answering(RequestFailed(-32000, "Connection closed"), {"sessionId": "s1"})
    async with met(opened, session_new=new) as (script, chat):
        assert (await ask(chat, "one")).session_id == "s1"
        assert (len(script.connections), time.naps) == (2, [1.0])


async def test_replayed_messages_are_dropped_and_the_rest_of_a_replay_counts(opened: Open) -> None:
    async def load(script: Script, params: Any) -> Any:
        await script.say("old answer")
        await script.update({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "plan"}]})
        return None

    async with met(opened, initialize=LOADS, session_load=load) as (script, chat):
        await ask(chat, "one")
        await script.connection._transport.close()
        await until(chat.agent.link.closed.is_set)
        await ask(chat, "two", person := Person())
        assert (person.notices, person.said) == ([RESTARTED], [("user", "two")])
        assert [command.name for command in chat.conversation.commands] == ["plan"]


# -- several kernels ---------------------------------------------------------------------------------------------


async def test_two_kernels_on_one_agent_see_their_own_sessions_only(opened: Open) -> None:
    async def prompt(script: Script, params: Any) -> None:
        for connection in script.connections:
            chunk = {"sessionUpdate": "agent_message_chunk", "content": params["prompt"][0]}
            await connection.notify("session/update", {"sessionId": params["sessionId"], "update": chunk})

    async with listening(session_new=numbered(), session_prompt=prompt) as (script, launch):
        agent = address(launch)
        async with opened(agent=agent) as one, opened(agent=agent) as two:
            turns = [await ask(one, "for one"), await ask(two, "for two"), await ask(one, "again")]
            answers = [(turn.session_id, turn.text) for turn in turns]
            assert answers == [("s1", "for one"), ("s2", "for two"), ("s1", "again")]
            said = [str(entry.text) for entry in two.conversation.entries if isinstance(entry, Message)]
            assert (said, len(script.connections)) == (["for two", "for two"], 2)


# -- what goes with a prompt ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("can_take", [True, False])
async def test_what_was_attached_goes_with_one_prompt_or_is_refused_once(opened: Open, can_take: bool) -> None:
    takes = {"protocolVersion": 1, "agentCapabilities": {"promptCapabilities": {"image": can_take}}}
    async with met(opened, initialize=takes) as (script, chat):
        chat.attach([ImageBlock("aGk=", "image/png")])
        with nullcontext() if can_take else pytest.raises(UsageError):
            await ask(chat, "one")
        await ask(chat, "two")
    sent = [[block["type"] for block in prompt] for prompt in prompts(script)]
    assert sent == ([["text", "image"]] if can_take else []) + [["text"]]


# -- elicitation --------------------------------------------------------------------------------------------------


async def elicits(script: Script, params: Any) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    request = {"sessionId": "s1", "mode": "form", "message": "Who?", "requestedSchema": schema}
    answer = await script.connection.request("elicitation/create", request)
    await script.say(json.dumps(answer))


async def test_a_form_goes_to_the_view_and_its_answer_back(opened: Open) -> None:
    async with met(opened, session_prompt=elicits) as (script, chat):
        person = Person()
        person.answer = ElicitationAnswer("accept", {"name": "Ada"})
        turn = await ask(chat, "hello", person)
        assert json.loads(turn.text) == {"action": "accept", "content": {"name": "Ada"}}
        assert [request.message for request in person.elicitations] == ["Who?"]
        assert script.heard[0][1]["clientCapabilities"]["elicitation"] == {"form": {}, "url": {}}


@pytest.mark.parametrize(("name", "of_copilot"), [("Copilot", True), ("", False)])
async def test_only_of_copilot_is_it_known_what_always_means(opened: Open, name: str, of_copilot: bool) -> None:
    initialize = {"protocolVersion": 1, "agentInfo": {"name": name, "version": "1"}}
    prompt = playing(asking(toolCallId="1", title="Run"))
    async with met(opened, initialize=initialize, session_prompt=prompt) as (_, chat):
        await ask(chat, "Hello", person := Person())
    assert [question.of_copilot for question in person.questions] == [of_copilot]
