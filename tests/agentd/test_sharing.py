"""Notebooks that share a real agent process: what each of them sees, whatever happens to the others."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.agent_connection import NOT_READY
from copilot_kernel.acp.locate import locate
from copilot_kernel.agentd import client
from copilot_kernel.chat import Chat
from copilot_kernel.chat.agent_start import shares
from copilot_kernel.chat.session_manager import RESTARTED
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentError, AgentStartFailed, SessionInUse
from copilot_kernel.permissions.question import PermissionAnswer, Question

from ..chat.people import Person, ask, cancelled
from ..processes import gone
from .brokers import LIMIT, agents, brokers, until
from .conftest import Open


@contextmanager
def kernel_process(settings: Settings, prompt: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A kernel that waits in a turn, and the id of its session."""
    command = [sys.executable, "-m", "tests.agentd.notebook", settings.cwd, settings.state, prompt]
    root, environ = Path(__file__).parents[2], dict(os.environ)  # without what readline has added for its children
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=environ) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


# -- one process --------------------------------------------------------------------------------------------------


async def test_three_notebooks_of_one_project_have_one_agent(opened: Open, runtime: Path) -> None:
    async with AsyncExitStack() as stack:
        chats = [await stack.enter_async_context(opened()) for _ in range(3)]
        async with anyio.create_task_group() as tasks:  # the first to come starts it
            for chat in chats:
                tasks.start_soon(ask, chat, "demo: say hello")
        assert (len(brokers(runtime)), len(agents(runtime))) == (1, 1)
        await until(lambda: {chat.agent.sharing_state for chat in chats} == {"shared with 2 other notebooks"})
        assert len({chat.session.id for chat in chats if chat.session}) == 3
        turn = await ask(chats[1], "demo: remember")
        assert "2" in turn.text


@pytest.mark.parametrize(
    "more",
    [{"deny": ("Bash(rm *)",), "agent": "copilot"}, {"fs": True}, {"cwd": "/"}, {"answer_form": "flat"}],
    ids=lambda more: next(iter(more)),
)
async def test_a_notebook_that_would_start_it_otherwise_has_another(
    opened: Open, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, object]
) -> None:
    """Copilot is given deny rules; here a program of that name is the test agent."""
    program = tmp_path / "copilot"
    program.write_text(f"#!/bin/sh\nexec {os.environ['COPILOT_KERNEL_DEMO_COMMAND']}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with opened(agent=str(more.get("agent", "demo"))) as plain, opened(**more) as other:
        for chat in (plain, other):
            assert (await ask(chat, "demo: say hello")).text == "hello"
        assert len(agents(runtime)) == 2


@pytest.mark.parametrize(
    ("more", "is_shared"),
    [
        ({}, True),
        ({"agent_sharing": "off"}, False),
        ({"agent": "tcp://127.0.0.1:1"}, False),
        ({"sandbox_hosts": ()}, False),
    ],
)
def test_what_is_shared(more: dict[str, Any], is_shared: bool) -> None:
    settings = Settings(**{"agent": "demo", "agent_sharing": "user", **more})
    assert shares(settings, locate(settings.agent, os.environ)) is is_shared


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, "shared with no other notebook now"),
        ({"agent_sharing": "off"}, ""),
        ({"agent": "tcp://127.0.0.1:1"}, "not by this kernel, which did not start the agent"),
        ({"sandbox_hosts": ()}, "not in a sandbox with a list of hosts"),
    ],
)
async def test_status_says_with_whom_an_agent_is_shared(opened: Open, more: dict[str, object], state: str) -> None:
    async with opened(**more) as chat:
        assert chat.agent.sharing_state == state


# -- what one notebook does ---------------------------------------------------------------------------------------


class Thinking(Person):
    """Allows when it is time."""

    def __init__(self) -> None:
        super().__init__()
        self.decided = anyio.Event()

    async def ask(self, question: Question) -> PermissionAnswer:
        self.asked.set()
        await self.decided.wait()
        return await super().ask(question)


async def test_two_ask_at_once_and_one_is_stopped_and_the_other_allowed(opened: Open) -> None:
    async with opened() as left, opened() as right:
        stopped, thinking = Person(None), Thinking()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, right, "demo: ask Second", thinking)
            with anyio.fail_after(LIMIT):
                await thinking.asked.wait()
            turn = await cancelled(left, "demo: ask First", stopped, lambda: stopped.asked)
            thinking.decided.set()
        assert turn.stop_reason == "cancelled"
        assert [call[0] for call in thinking.calls] == ["completed"]


async def test_a_killed_kernels_question_is_cancelled_and_its_session_closed(
    opened: Open, settings: Settings, runtime: Path
) -> None:
    async with opened() as chat:
        await ask(chat, "demo: say hello")
        with kernel_process(settings, "demo: ask Something") as (process, session):
            await until(lambda: chat.agent.sharing_state == "shared with 1 other notebook")
            process.kill()
            await until(lambda: chat.agent.sharing_state == "shared with no other notebook now")
            resumed = await chat.resume(session, Person())
            assert resumed.stop_reason == "end_turn"
        assert (await ask(chat, "demo: say hello")).text == "hello"
        assert len(agents(runtime)) == 1


async def hang(chat: Chat) -> None:
    """A turn that only a second press of ■ ends."""
    person = Person()
    await cancelled(chat, "demo: hang here", person, lambda: person.heard, presses=2)


async def test_a_turn_that_does_not_stop_ends_the_agent_only_where_nobody_else_uses_it(
    opened: Open, runtime: Path
) -> None:
    async with opened() as hung, opened() as other:
        await ask(other, "demo: say hello")
        await hang(hung)
        assert (await ask(other, "demo: say hello")).text == "hello"
        assert (await ask(hung, "demo: say hello")).text == "hello"
        assert len(agents(runtime)) == 2
        before = agents(runtime)
        await hang(hung)
        await until(lambda: len(agents(runtime)) == 1)
        assert agents(runtime)[0] in before


async def test_a_restart_of_the_agent_is_for_this_notebook_alone(opened: Open, runtime: Path) -> None:
    async with opened() as left, opened() as right:
        for chat in (left, right):
            await ask(chat, "demo: say hello")
        (before,) = agents(runtime)
        await left.restart()
        person = Person()
        assert (await ask(left, "demo: say hello", person)).text == "hello"
        assert person.notices == [RESTARTED]
        assert before.is_running()
        assert (await ask(right, "demo: say hello", person := Person())).text == "hello"
        assert person.notices == []
        await right.restart()
        await until(lambda: len(agents(runtime)) == 1)


# -- what happens to the agent and the broker ---------------------------------------------------------------------


async def test_an_agent_that_dies_in_a_turn_is_started_again_for_all(opened: Open, runtime: Path) -> None:
    async with opened() as left, opened() as right:
        await ask(right, "demo: say hello")
        with pytest.raises(AgentError) as caught:
            await ask(left, "demo: stderr Out of memory\ndie 3")
        assert "it exited with code 3" in str(caught.value)
        assert caught.value.crashed
        for chat in (left, right):
            person = Person()
            assert (await ask(chat, "demo: say hello", person)).text == "hello"
            assert person.notices == [RESTARTED]
        assert len(agents(runtime)) == 1


async def test_what_a_dying_agent_wrote_to_stderr_is_in_the_error(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "exit-at-start")
    async with opened() as chat:
        with pytest.raises(AgentStartFailed) as caught:
            await chat.agent.ready()
        assert "it exited with code 3" in str(caught.value)
        assert caught.value.stderr


async def test_what_an_agent_that_is_never_ready_wrote_to_stderr_is_in_the_error(opened: Open, runtime: Path) -> None:
    async with opened(agent="sh -c 'echo No network. >&2; exec sleep 1000'", start_timeout=3.0) as chat:
        with pytest.raises(AgentStartFailed) as caught:
            await chat.agent.ready()
        assert str(caught.value) == f"sh {NOT_READY.format(3)}\nNo network."
    await until(lambda: not brokers(runtime))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_broker_that_is_killed_takes_its_agent_along_and_is_started_again(
    opened: Open, runtime: Path, number: signal.Signals
) -> None:
    async with opened() as left, opened() as right:
        for chat in (left, right):
            await ask(chat, "demo: say hello")
        ((broker,), (agent,)) = brokers(runtime), agents(runtime)
        broker.send_signal(number)
        await until(lambda: not any(chat.agent.link for chat in (left, right)))
        await until(lambda: gone(agent))
        for chat in (left, right):
            person = Person()
            assert (await ask(chat, "demo: say hello", person)).text == "hello"
            assert person.notices == [RESTARTED]
        assert len(agents(runtime)) == 1


async def test_it_ends_some_time_after_its_last_notebook(
    opened: Open, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "IDLE_SECONDS", 1.0)
    async with opened() as chat:
        await ask(chat, "demo: say hello")
        (agent,) = agents(runtime)
    await until(lambda: not brokers(runtime))
    assert not agent.is_running()
    assert list(runtime.rglob("*.sock")) == []


async def test_the_same_conversation_is_not_opened_twice(opened: Open, tmp_path: Path) -> None:
    """Without our own locks, which usually say so first: these are of different state folders."""
    async with opened() as left, opened() as right:
        await ask(left, "demo: say hello")
        right.session_manager._locks._folder = tmp_path / "elsewhere"
        with pytest.raises(SessionInUse):
            await right.resume(left.session.id, Person())


# -- with the sandbox ---------------------------------------------------------------------------------------------


@pytest.mark.sandbox
async def test_notebooks_share_the_sandbox_too(bubblewrap: None, opened: Open, settings: Settings) -> None:
    async with opened(sandbox="required", terminal=True) as left, opened(sandbox="required", terminal=True) as right:
        for name, chat in (("left", left), ("right", right)):
            turn = await ask(chat, f"demo: terminal echo {name} > {name}; echo lost > /tmp/lost-{name}")
            assert turn.stop_reason == "end_turn"
        assert left.agent.sandbox.prefix == right.agent.sandbox.prefix if right.agent.sandbox else False
        handover = left.agent.sandbox.handover
        assert handover.is_dir()
        for chat in (left, right):
            await chat.restart()
    assert (Path(settings.cwd) / "left").read_text() == "left\n"
    assert not Path("/tmp/lost-left").exists()
    await until(lambda: not handover.exists())
