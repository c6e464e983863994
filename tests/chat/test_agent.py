"""How an agent is started, tried again and spoken to, and what of the wire may be shown."""

import json
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.chat import Chat, retry
from copilot_kernel.chat.agent import MAX_LOGGED_CHARS, readable
from copilot_kernel.chat.retry import CRASH_SECONDS, MAX_ATTEMPTS, MAX_CRASHES, Retry
from copilot_kernel.chat.session_manager import FORGOTTEN
from copilot_kernel.config import Settings
from copilot_kernel.errors import (
    AgentExited,
    AgentNotFound,
    AgentRefused,
    AgentStartFailed,
    AuthRequired,
    ProtocolUnsupported,
    UsageError,
)
from copilot_kernel.mcp_config import McpServer
from copilot_kernel.redaction import HIDDEN, redactor

from ..acp.scripted import Script, listening
from ..agent.command import COMMAND
from ..agent.signin import log_in
from ..ports import free_port
from .conftest import Open, Time, chatting
from .loopback import met
from .people import Person, ask

ENDED = AgentStartFailed("it ended\nwords on stderr", stderr="words on stderr", ended=True)
BUSY = AgentRefused("session/new", -32603, "busy")


def failing(times: int, error: Exception = BUSY) -> Callable[[], object]:
    """Work that fails so often, then returns how often it was tried."""
    tries = 0

    async def work() -> int:
        nonlocal tries
        tries += 1
        if tries <= times:
            raise error
        return tries

    return work


@pytest.mark.parametrize("times", [0, MAX_ATTEMPTS - 1])
async def test_each_pause_is_twice_as_long_as_the_one_before(time: Time, times: int) -> None:
    said: list[str] = []
    assert await Retry(time.sleep, time.clock)(failing(times), said.append) == times + 1
    assert time.naps == [1.0, 2.0, 4.0, 8.0][:times]
    lines = [f"busy; attempt {n + 2} in {nap:g} s" for n, nap in enumerate(time.naps)]
    assert said == [words for line in lines for words in (line, "")]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ENDED, True),
        (BUSY, True),
        (AgentExited("gone"), True),
        (AgentRefused("session/load", -32001, "too slow"), True),
        (AuthRequired("session/new", "sign in"), False),
        (AgentNotFound("no such program"), False),
        (UsageError("no such setting"), False),
        (ProtocolUnsupported("version 2"), False),
        (AgentRefused("session/new", -32602, "no such folder"), False),
        (AgentRefused("session/load", None, "?"), False),
        (AgentStartFailed("was not ready within 30 s"), False),
    ],
)
async def test_only_what_may_pass_is_tried_again(time: Time, error: Exception, again: bool) -> None:
    with pytest.raises(type(error)):
        await Retry(time.sleep, time.clock, 2)(failing(2, error), lambda words: None)
    assert time.naps == [1.0] * again


async def test_five_crashes_in_three_minutes_are_the_end_until_somebody_asks(time: Time) -> None:
    retry = Retry(time.sleep, time.clock)
    with pytest.raises(AgentStartFailed) as first:
        await retry(failing(9, ENDED), lambda words: None)
    assert first.value is ENDED
    time.now += 10 * CRASH_SECONDS
    work = failing(0)
    with pytest.raises(AgentStartFailed) as caught:
        await retry(work, lambda words: None)
    assert str(caught.value) == "The agent ended 5 times within 3 minutes and is not started again: it ended"
    assert ("%restart" in caught.value.hint, caught.value.stderr) == (True, "words on stderr")
    retry.recovered()
    assert await retry(work, lambda words: None) == 1


SPACING = CRASH_SECONDS / (MAX_CRASHES - 1)


@pytest.mark.parametrize(
    ("between", "recovers", "outcome"),
    [
        (SPACING, False, pytest.raises(AgentStartFailed)),
        (SPACING + 1, False, nullcontext()),
        (0.0, True, nullcontext()),
    ],
    ids=["close together", "far apart", "with good turns in between"],
)
async def test_only_crashes_close_together_are_a_loop(time: Time, between: float, recovers: bool, outcome: Any) -> None:
    retry = Retry(time.sleep, time.clock)
    for _ in range(MAX_CRASHES):
        retry.crashed(AgentExited("gone"))
        time.now += between
        if recovers:
            retry.recovered()
    with outcome:
        assert await retry(failing(0), lambda words: None) == 1


# -- with an agent ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("switches", "more"), [("fails-starts=2", {"agent": "demo"}), ("new-fails=2", {})])
async def test_an_agent_that_fails_to_start_or_to_open_a_session_is_tried_again(
    opened: Open, time: Time, switches: str, more: dict[str, str]
) -> None:
    async with opened(switches=switches, **more) as chat:
        turn = await ask(chat, "demo: say hello", person := Person())
    assert (turn.text, time.naps) == ("hello", [1.0, 2.0])
    assert [words.partition("; ")[2] for words in person.statuses if "attempt" in words] == [
        "attempt 2 in 1 s",
        "attempt 3 in 2 s",
    ]


@chatting(agent="demo")
async def test_deaths_in_turns_count_and_no_prompt_is_sent_twice(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "MAX_CRASHES", 2)
    for _ in range(2):
        with pytest.raises(AgentExited):
            await ask(chat, "demo: die 3")
    with pytest.raises(AgentStartFailed, match="ended 2 times within 3 minutes"):
        await ask(chat, "demo: say hello")
    await chat.restart()
    await ask(chat, "demo: remember", person := Person())
    assert "3" in person.said[-1][1]


async def test_an_outage_is_no_crash(opened: Open, time: Time) -> None:
    port = free_port()
    async with opened(agent=f"tcp://127.0.0.1:{port}") as chat:
        with pytest.raises(AgentNotFound):
            await ask(chat, "zero")
        assert time.naps == []
        async with listening(port=port):
            await ask(chat, "one")
            link = chat.agent.link
        # A prompt that is sent before the end has been read fails as one that was under way.
        await link.closed.wait()
        for _ in range(2):
            with pytest.raises(AgentStartFailed, match="Connection refused"):
                await ask(chat, "two")
        async with listening(port=port):
            turn = await ask(chat, "three", person := Person())
    assert (turn.stop_reason, person.notices, time.naps) == ("end_turn", [FORGOTTEN], 2 * [1.0, 2.0, 4.0, 8.0])


@pytest.mark.parametrize("when", ["initialize", "session_prompt"])
async def test_a_connection_that_is_closed_is_no_crash_either(
    opened: Open, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A tunnel accepts connections, and closes them while what is behind it is away."""
    monkeypatch.setattr(retry, "MAX_CRASHES", 2)
    is_away = True

    async def answer(script: Script, params: Any) -> Any:
        if is_away:
            await script.connections[-1]._transport.close()
        return {"protocolVersion": 1, "stopReason": "end_turn"}

    async with met(opened, **{when: answer}) as (_, chat):
        for _ in range(3):
            with pytest.raises((AgentExited, AgentStartFailed), match="closed the connection"):
                await ask(chat, "one")
        is_away = False
        assert (await ask(chat, "two")).stop_reason == "end_turn"


# -- MCP servers of the settings on their way to the demo agent, and what becomes of a session that they spoil.


FILES = McpServer("files", "stdio", "serve-files", ("--root", "."), (("KEY", "s3cr3t"),))
API = McpServer("api", "http", url="https://h/mcp", headers=(("Authorization", "Bearer s3cr3t"),))
SERVERS = (FILES, API)


@chatting(mcp_servers=SERVERS)
async def test_the_agent_is_told_of_those_that_it_can_take_and_the_user_of_the_others(chat: Chat) -> None:
    turn = await ask(chat, "demo: mcp", person := Person())
    assert turn.text == "- files: stdio, serve-files --root ., env KEY"
    note = "MCP: api was not passed on: demo agent does not support http servers."
    assert person.notices == [note]
    await ask(chat, "demo: mcp", later := Person())
    assert later.notices == []


@chatting(mcp_servers=SERVERS, start_timeout=1.0)
@pytest.mark.parametrize(("switch", "error"), [("mcp-fails", AgentRefused), ("mcp-hangs", AgentStartFailed)])
async def test_a_session_that_they_make_fail_or_hang_says_which_were_passed(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, switch: str, error: type[AgentRefused | AgentStartFailed]
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", f"mcp-http,{switch}")
    with pytest.raises(error) as caught:
        await ask(chat, "demo: mcp")
    assert "may be the cause (files, api)." in caught.value.hint


async def test_no_log_and_no_error_shows_what_is_secret_even_if_the_agent_says_it(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "mcp-http")
    keyed = McpServer("keyed", "stdio", "serve", ("--api-key", "s3cr3t-in-words"), (("KEY", "s3cr3t-in-env"),))
    async with opened(mcp_servers=(*SERVERS, keyed)) as chat:
        await ask(chat, "demo: mcp\nsay It is s3cr3t-in-env.")
        log = "\n".join(chat.log())
        assert ("serve-files" in log, "It is •••." in log, "s3cr3t" in log) == (True, True, False)
        with pytest.raises(AgentRefused) as error:
            await ask(chat, "demo: error -32603 The key s3cr3t-in-words is wrong")
        assert str(error.value) == "The key ••• is wrong"


# -- What is denied is also denied by GitHub Copilot CLI itself: here, what it is started with.


@pytest.fixture
def copilot(tmp_path: Path) -> Path:
    """The demo agent, named so that it passes for GitHub Copilot CLI; `started` beside it has the arguments."""
    copilot = tmp_path / "copilot"
    becomes = f'exec "{sys.executable}" -P -m copilot_kernel.demo'
    copilot.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> "{tmp_path / "started"}"\n{becomes}\n')
    copilot.chmod(0o755)
    return copilot


async def test_copilot_is_started_with_the_rules_in_force(opened: Open, copilot: Path, settings: Settings) -> None:
    started = copilot.with_name("started")
    src = f"--deny-tool=write({os.path.join(settings.folder, 'src', '**')})"
    async with opened(agent=str(copilot), deny=("Bash(rm *)", "Edit(src/**)", "Grep")) as chat:
        await ask(chat, "demo: say one")
        assert started.read_text().splitlines() == ["--acp", "--deny-tool=shell(rm:*)", src]
        await chat.permissions.policy.add_rule("deny", "Bash(curl *)")
        chat.permissions.policy.book = chat.book.without("Bash(rm *)")
        await ask(chat, "demo: say two")
        assert len(started.read_text().splitlines()) == 3
        await chat.restart()
        await ask(chat, "demo: say three")
        assert started.read_text().splitlines()[3:] == ["--acp", src, "--deny-tool=shell(curl:*)"]


async def test_copilot_that_was_started_early_is_started_again_if_more_is_denied(opened: Open, copilot: Path) -> None:
    started = copilot.with_name("started")
    async with opened(agent=str(copilot)) as chat:
        await chat.prepare()
        await chat.permissions.policy.add_rule("deny", "Bash(curl *)")
        for _ in range(2):
            await ask(chat, "demo: say one")
        assert started.read_text().splitlines() == ["--acp", "--acp", "--deny-tool=shell(curl:*)"]


async def test_copilot_that_was_started_early_and_has_a_session_goes_on_if_more_is_denied(
    opened: Open, copilot: Path
) -> None:
    async with opened(agent=str(copilot)) as chat:
        await chat.prepare()
        await ask(chat, "demo: say one")
        await chat.permissions.policy.add_rule("deny", "Bash(curl *)")
        await chat.sessions()
        assert copilot.with_name("started").read_text().splitlines() == ["--acp"]


# -- Started before the first prompt.


def requests(chat: Chat) -> list[str]:
    """The methods of all that was requested from the agent."""
    sent = (json.loads(line) for direction, line in chat.agent.log.since(0) if direction == ">")
    return [message["method"] for message in sent if "method" in message]


async def test_an_agent_that_was_started_early_has_no_session_until_the_first_prompt(chat: Chat) -> None:
    await chat.prepare()
    assert (requests(chat), chat.session) == (["initialize"], None)
    await ask(chat, "demo: say one")
    assert requests(chat) == ["initialize", "session/new", "session/prompt"]


async def test_a_prompt_waits_for_an_agent_that_is_being_started(opened: Open) -> None:
    async with opened() as chat, anyio.create_task_group() as tasks:
        tasks.start_soon(chat.prepare)
        await ask(chat, "demo: say one")
        assert requests(chat) == ["initialize", "session/new", "session/prompt"]


async def test_an_early_start_that_fails_is_no_crash_and_the_prompt_starts_the_agent(
    opened: Open, time: Time, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.touch()
    agent = f"sh -c 'test ! -e {broken} && exec {shlex.join(COMMAND)}'"
    async with opened(agent=agent) as chat:
        for _ in range(MAX_CRASHES):
            with pytest.raises(AgentStartFailed):
                await chat.prepare()
        broken.unlink()
        assert (await ask(chat, "demo: say one")).text == "one"
    assert time.naps == []


@chatting(switches="signed-out")
async def test_a_sign_in_after_an_early_start_is_known_to_the_first_prompt(chat: Chat) -> None:
    await chat.prepare()
    log_in()
    assert (await ask(chat, "demo: say one")).text == "one"


@chatting(switches="signed-out")
async def test_without_a_sign_in_the_first_prompt_is_refused_after_one_more_start(chat: Chat) -> None:
    await chat.prepare()
    with pytest.raises(AuthRequired):
        await ask(chat, "demo: say one")
    assert requests(chat) == ["initialize", "session/new"] * 2


# -- What of the wire may be shown.


def test_what_is_too_long_is_cut_and_what_is_secret_hidden_also_in_what_is_no_json() -> None:
    image = {"data": "é" * (MAX_LOGGED_CHARS + 5), "items": [1, None], "accessToken": "abc"}
    lines = [("<", json.dumps(image).encode()), (">", b"Authorization: Bearer abcdefghijk")]
    shown, plain = readable(lines, redactor({}))
    cut = "é" * MAX_LOGGED_CHARS + "… (5 more characters)"
    assert json.loads(shown[2:]) == {"data": cut, "items": [1, None], "accessToken": HIDDEN}
    assert plain == f"> Authorization: Bearer {HIDDEN}"


async def test_the_log_is_that_of_the_last_turn(chat: Chat) -> None:
    assert chat.log() == []
    await ask(chat, "demo: say one")
    assert '"initialize"' in chat.log()[0]
    await ask(chat, "demo: say two")
    lines = chat.log()
    sent = [line for line in lines if line.startswith("> ")]
    assert ["say two" in line for line in sent] == [True]
    assert any(line.startswith("< ") and '"stopReason"' in line for line in lines)
