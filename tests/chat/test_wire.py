"""What passes between a chat and an agent that is scripted in the test, over loopback: dialects, several kernels."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.elicitation import ElicitationAnswer
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.acp.messages import Image
from copilot_kernel.chat.sessions import CLOSED, EXPIRED, FORGOTTEN, REOPENED, RESTARTED
from copilot_kernel.conversation.model import Message
from copilot_kernel.errors import AgentExited, AgentNotFound, AgentRefused, AuthRequired, ConnectionLost, UsageError
from copilot_kernel.rendering.entry import render

from ..acp.scripted import OPTIONS, Script, listening
from .conftest import Open, Time
from .loopback import address, met
from .people import LIMIT, Person, ask

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

LOADS = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}


def methods(script: Script) -> list[str]:
    return [method for method, _ in script.heard]


# -- dialects -----------------------------------------------------------------------------------------------------

MESSAGES = [
    (["One", "Two"], ["One", "Two"]),
    ([{"role": "user", "content": "me"}, {"role": "assistant", "content": "One"}], ["One"]),
    (
        [{"role": "assistant", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": " more"}]}],
        ["One more"],
    ),
    ([{"type": "text", "text": "One"}], ["One"]),
    ([], []),
]


@pytest.mark.parametrize(("messages", "said"), MESSAGES)
async def test_what_was_not_streamed_is_shown_at_the_end(opened: Open, messages: Any, said: list[str]) -> None:
    async with met(opened, session_prompt={"stopReason": "end_turn", "messages": messages}) as (_, chat):
        turn = await ask(chat, "hello", person := Person())
    assert [text for speaker, text in person.said if speaker == "agent"] == said
    assert turn.text == "\n\n".join(said)


async def test_what_was_streamed_is_not_shown_twice(opened: Open) -> None:
    async def prompt(script: Script, params: Any) -> Any:
        await script.say("streamed")
        return {"stopReason": "end_turn", "messages": ["streamed"]}

    async with met(opened, session_prompt=prompt) as (_, chat):
        assert (await ask(chat, "hello")).text == "streamed"


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        ("nested", {"outcome": {"outcome": "selected", "optionId": "yes-1"}}),
        ("flat", {"outcome": "selected", "optionId": "yes-1"}),
    ],
)
async def test_the_form_of_an_answer_is_a_setting(opened: Open, form: str, answer: Any) -> None:
    answers = []

    async def prompt(script: Script, params: Any) -> Any:
        answers.append(await script.ask(sessionId="s1", toolCall={"toolCallId": "t"}, options=OPTIONS))
        return {"stopReason": "end_turn"}

    async with met(opened, {"answer_form": form}, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello")
    assert answers == [answer]


# -- sessions -----------------------------------------------------------------------------------------------------


LET_GO = [
    (LOADS, -32002, "Resource not found", "session/load", [REOPENED]),
    ({"protocolVersion": 1}, -32002, "Resource not found", "session/new", [CLOSED]),
    (LOADS, -32003, "Session expired", "session/new", [EXPIRED]),
]


@pytest.mark.parametrize(("initialize", "code", "message", "opens", "lines"), LET_GO)
async def test_a_session_that_the_agent_let_go_of_is_opened_by_the_next_prompt(
    opened: Open, initialize: Any, code: int, message: str, opens: str, lines: list[str]
) -> None:
    """The agent was not started again, and no line says so."""
    answers = [RequestFailed(code, message), None]

    async def prompt(script: Script, params: Any) -> Any:
        if error := answers.pop(0):
            raise error
        return {"stopReason": "end_turn"}

    async with met(opened, initialize=initialize, session_load={}, session_prompt=prompt) as (script, chat):
        with pytest.raises(AgentRefused):
            await ask(chat, "one")
        turn = await ask(chat, "two", person := Person())
        assert (turn.session_id, person.notices) == ("s1", lines)
    assert methods(script) == ["initialize", "session/new", "session/prompt", opens, "session/prompt"]
    assert [params["prompt"] for method, params in script.heard if method == "session/prompt"] == [
        [{"type": "text", "text": text}] for text in ("one", "two")
    ]


@pytest.mark.parametrize(("code", "message"), [(-32002, "Permission denied"), (-32003, "Quota exceeded")])
async def test_a_refusal_that_is_not_about_the_session_leaves_it_open(opened: Open, code: int, message: str) -> None:
    answers = [RequestFailed(code, message), {"stopReason": "end_turn"}]

    async def prompt(script: Script, params: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with met(opened, initialize=LOADS, session_prompt=prompt) as (script, chat):
        with pytest.raises(AgentRefused, match=message):
            await ask(chat, "one")
        await ask(chat, "two", person := Person())
    assert (methods(script)[2:], person.notices) == (["session/prompt", "session/prompt"], [])


async def test_after_a_connection_that_the_agent_has_lost_the_next_prompt_connects_again(opened: Open) -> None:
    answers = [RequestFailed(-32000, "Connection closed"), None]

    async def prompt(script: Script, params: Any) -> Any:
        if error := answers.pop(0):
            raise error
        return {"stopReason": "end_turn"}

    async with met(opened, initialize=LOADS, session_load={}, session_prompt=prompt) as (script, chat):
        with pytest.raises(ConnectionLost):
            await ask(chat, "one")
        assert (await ask(chat, "two")).session_id == "s1"
        assert len(script.connections) == 2
    assert methods(script)[-3:] == ["initialize", "session/load", "session/prompt"]


async def test_a_connection_that_is_lost_while_a_session_is_opened_is_made_again(opened: Open, time: Time) -> None:
    answers = [RequestFailed(-32000, "Connection closed"), {"sessionId": "s1"}]

    async def new(script: Script, params: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with met(opened, session_new=new) as (script, chat):
        assert (await ask(chat, "one")).session_id == "s1"
        assert (len(script.connections), time.naps) == (2, [1.0])


async def test_a_sign_in_that_is_wanted_in_the_middle_starts_the_agent_again_and_goes_on(opened: Open) -> None:
    answers = [None, RequestFailed(-32000, "expired"), None]

    async def prompt(script: Script, params: Any) -> Any:
        if error := answers.pop(0):
            raise error
        return {"stopReason": "end_turn"}

    async with met(opened, initialize=LOADS, session_load={}, session_prompt=prompt) as (script, chat):
        await ask(chat, "one")
        with pytest.raises(AuthRequired):
            await ask(chat, "two")
        await ask(chat, "three", person := Person())
        assert (len(script.connections), person.notices) == (2, [RESTARTED])


async def test_replayed_messages_are_dropped_and_the_rest_of_a_replay_counts(opened: Open) -> None:
    async def load(script: Script, params: Any) -> Any:
        await script.say("old answer")
        await script.update({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "plan"}]})
        return None

    async with met(opened, initialize=LOADS, session_load=load) as (script, chat):
        await ask(chat, "one")
        await script.connection._transport.close()
        link = chat.agent.link
        with anyio.fail_after(LIMIT):
            while link is not None and not link.closed.is_set():
                await link.closed.wait()
        await ask(chat, "two", person := Person())
        assert (person.notices, person.said) == ([RESTARTED], [("user", "two")])
        assert [command.name for command in chat.conversation.commands] == ["plan"]


# -- several kernels, and a server that goes away --------------------------------------------------------------------


async def test_two_kernels_on_one_agent_see_their_own_sessions_only(opened: Open) -> None:
    numbers = iter(range(10))

    async def new(script: Script, params: Any) -> Any:
        return {"sessionId": f"s{next(numbers)}"}

    async def prompt(script: Script, params: Any) -> Any:
        for connection in script.connections:
            chunk = {"sessionUpdate": "agent_message_chunk", "content": params["prompt"][0]}
            await connection.notify("session/update", {"sessionId": params["sessionId"], "update": chunk})
        return {"stopReason": "end_turn"}

    async with listening(session_new=new, session_prompt=prompt) as (script, launch):
        agent = address(launch)
        async with opened(agent=agent) as one, opened(agent=agent) as two:
            turns = [await ask(one, "for one"), await ask(two, "for two"), await ask(one, "again")]
            assert [(turn.session_id, turn.text) for turn in turns] == [
                ("s0", "for one"),
                ("s1", "for two"),
                ("s0", "again"),
            ]
            said = [str(entry.text) for entry in two.conversation.entries if isinstance(entry, Message)]
            assert (said, len(script.connections)) == (["for two", "for two"], 2)


async def test_a_server_that_comes_back_is_reached_again(opened: Open, time: Time, free_port: int) -> None:
    agent = f"tcp://127.0.0.1:{free_port}"
    async with opened(agent=agent) as chat:
        with pytest.raises(AgentNotFound):
            await ask(chat, "hello")
        assert time.naps == []
        async with listening(port=free_port, session_prompt={"stopReason": "end_turn"}):
            await ask(chat, "hello")
        link = chat.agent.link
        assert link is None or await link.closed.wait() is None
        person = Person()

        async def sleep(seconds: float) -> None:
            await time.sleep(seconds)
            if len(time.naps) == 2:
                wanted.set()
                await there.wait()

        wanted, there = anyio.Event(), anyio.Event()
        chat._retry._sleep = sleep
        async with anyio.create_task_group() as tasks:

            async def come_back() -> None:
                await wanted.wait()
                async with listening(port=free_port):
                    there.set()
                    await anyio.sleep_forever()

            tasks.start_soon(come_back)
            await ask(chat, "again", person)
            tasks.cancel_scope.cancel()
        assert (time.naps, person.notices) == ([1.0, 2.0], [FORGOTTEN])


@pytest.fixture
def listens(free_port: int) -> Iterator[Callable[[], None]]:
    """Start the demo agent on the port, again if it runs already."""
    running: list[subprocess.Popen[bytes]] = []

    def end() -> None:
        for process in running:
            process.kill()
            process.wait()
        running.clear()

    def start() -> None:
        end()
        running.append(subprocess.Popen([sys.executable, "-m", "copilot_kernel.demo", "--port", str(free_port)]))

    yield start
    end()


async def test_two_kernels_go_on_when_their_agent_was_started_again(
    opened: Open, free_port: int, listens: Callable[[], None]
) -> None:
    agent = f"tcp://127.0.0.1:{free_port}"
    async with opened(agent=agent) as one, opened(agent=agent) as two:
        one._retry._sleep = two._retry._sleep = anyio.sleep
        listens()
        with anyio.fail_after(LIMIT):
            while not await answers(free_port):
                await anyio.lowlevel.checkpoint()
        before = [(await ask(chat, "demo: say one")).session_id for chat in (one, two)]
        listens()
        for chat in (one, two):
            link = chat.agent.link
            with anyio.fail_after(LIMIT):
                assert link is None or await link.closed.wait() is None
        people = Person(), Person()
        after = [
            (await ask(chat, "demo: say two", who)).session_id for chat, who in zip((one, two), people, strict=True)
        ]
    assert (after, before[0] != before[1]) == (before, True)
    assert [person.notices for person in people] == [[RESTARTED], [RESTARTED]]


async def answers(port: int) -> bool:
    try:
        async with await anyio.connect_tcp("127.0.0.1", port):
            return True
    except OSError:
        return False


# -- what goes with a prompt ----------------------------------------------------------------------------------------


async def test_what_was_attached_goes_with_one_prompt(opened: Open) -> None:
    async with met(opened, initialize={**LOADS, "agentCapabilities": {"promptCapabilities": {"image": True}}}) as met_:
        script, chat = met_
        chat.attach([Image("aGk=", "image/png")])
        for text in ("one", "two"):
            await ask(chat, text)
    prompts = [params["prompt"] for method, params in script.heard if method == "session/prompt"]
    assert [[block["type"] for block in prompt] for prompt in prompts] == [["text", "image"], ["text"]]


async def test_what_this_agent_cannot_take_is_refused_once(opened: Open) -> None:
    async with met(opened) as (script, chat):
        chat.attach([Image("aGk=", "image/png")])
        with pytest.raises(UsageError):
            await ask(chat, "one")
        await ask(chat, "two")
    assert [params["prompt"] for method, params in script.heard if method == "session/prompt"] == [
        [{"type": "text", "text": "two"}]
    ]


# -- elicitation --------------------------------------------------------------------------------------------------


async def elicits(script: Script, params: Any) -> Any:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    request = {"sessionId": "s1", "mode": "form", "message": "Who?", "requestedSchema": schema}
    answer = await script.connection.request("elicitation/create", request)
    await script.say(json.dumps(answer))
    return {"stopReason": "end_turn"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ElicitationAnswer("accept", {"name": "Ada"}), {"action": "accept", "content": {"name": "Ada"}}),
        (ElicitationAnswer("decline"), {"action": "decline"}),
    ],
)
async def test_a_form_goes_to_the_view_and_its_answer_back(opened: Open, answer: ElicitationAnswer, told: Any) -> None:
    async with met(opened, session_prompt=elicits) as (script, chat):
        person = Person()
        person.answer = answer
        turn = await ask(chat, "hello", person)
        assert json.loads(turn.text) == told
        assert [request.message for request in person.elicitations] == ["Who?"]
        assert script.heard[0][1]["clientCapabilities"]["elicitation"] == {"form": {}, "url": {}}


async def test_death_in_a_turn_over_tcp_is_an_end_too(opened: Open) -> None:
    async def prompt(script: Script, params: Any) -> Any:
        await script.connection._transport.close()

    async with met(opened, session_prompt=prompt) as (_, chat):
        with pytest.raises(AgentExited, match="closed the connection"):
            await ask(chat, "hello")


@pytest.mark.parametrize(("name", "of_copilot"), [("Copilot", True), ("claude-agent-acp", False), ("", False)])
async def test_only_of_copilot_is_it_known_what_always_means(opened: Open, name: str, of_copilot: bool) -> None:
    async def prompt(script: Script, params: Any) -> Any:
        await script.ask(sessionId="s1", toolCall={"toolCallId": "1", "title": "Run"}, options=OPTIONS)
        return {"stopReason": "end_turn"}

    initialize = {"protocolVersion": 1, "agentInfo": {"name": name, "version": "1"}}
    async with met(opened, initialize=initialize, session_prompt=prompt) as (_, chat):
        await ask(chat, "Hello", person := Person())
    assert [question.of_copilot for question in person.questions] == [of_copilot]


async def test_the_question_for_an_mcp_tool_names_its_server(opened: Open) -> None:
    """As Copilot CLI words it; what is decided about is the title of the request."""
    told = {"toolCallId": "1", "kind": "other", "rawInput": {"text": "hi"}}

    async def prompt(script: Script, params: Any) -> Any:
        await script.update({"sessionUpdate": "tool_call", "title": "lab-echo", "status": "pending", **told})
        await script.ask(sessionId="s1", toolCall={"title": "echo", "status": "pending", **told}, options=OPTIONS)
        await script.update({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"})
        return {"stopReason": "end_turn"}

    async with met(opened, session_prompt=prompt) as (_, chat):
        turn = await ask(chat, "Hello", person := Person())
    (question,), (call,) = person.questions, turn.tool_calls
    assert (question.call.best_title, question.call.title) == ("lab-echo", "echo")
    assert render(call)["text/plain"].startswith("✓ lab-echo · done")
