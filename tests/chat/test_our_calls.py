"""A call of a notebook tool has one entry, whatever the agent says of it, and whenever."""

from typing import Any

import anyio
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.config import Settings
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.notebook.live import NotebookError
from copilot_kernel.permissions.question import PermissionAnswer, Question

from ..notebook_tools.fakes import FakeNotebook
from .in_notebook import Acting, Agent, in_notebook
from .people import Person, ask

CODE = {"code": "df.describe()"}
RUN = "notebook-run_python"
SHOWN = ("Run Python code", "completed", "allowed by you")


class Hesitant(Person):
    """Answers when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.decided = anyio.Event()

    async def ask(self, question: Question) -> PermissionAnswer:
        answer = await super().ask(question)
        await self.decided.wait()
        return answer


async def calls(settings: Settings, act: Acting, person: Person | None = None, **more: Any) -> list[ToolCall]:
    """The entries that the user sees when the turn is over."""
    person = person or Person()
    async with in_notebook(settings, act, **more) as (chat, _):
        turn = await ask(chat, "Go", person)
    seen = person.of(ToolCall)
    assert (tuple(seen), len(turn.unasked_calls)) == (turn.tool_calls, 0)
    return seen


def shown(found: list[ToolCall]) -> list[tuple[str, str, str]]:
    return [(call.best_title, call.status, call.decision) for call in found]


async def update(agent: Agent, **more: Any) -> None:
    await agent.script.update({"sessionUpdate": "tool_call_update", "toolCallId": "call_1", **more})


async def heard(agent: Agent, person: Person) -> None:
    """Until all that the agent has sent is known."""
    text = {"type": "text", "text": "."}
    await agent.script.update({"sessionUpdate": "agent_message_chunk", "content": text})
    await person.heard.wait()


async def test_our_entry_takes_the_place_of_the_agents(settings: Settings) -> None:
    async def act(agent: Agent) -> None:
        await agent.post("tools/list")
        await agent.show(RUN, CODE, kind="execute")
        await agent.ask("run_python", CODE)
        await agent.call("run_python", **CODE)
        await agent.finish()

    (found,) = await calls(settings, act)
    assert shown([found]) == [SHOWN]
    assert (found.content, found.raw_input) == ((TextBlock("```python\ndf.describe()\n```"),), None)


async def test_so_it_does_if_the_agent_shows_the_call_later(settings: Settings) -> None:
    person = Hesitant()

    async def act(agent: Agent) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: agent.call("run_python", **CODE))
            await person.asked.wait()
            await agent.show(RUN, CODE, kind="execute")
            await heard(agent, person)
            person.decided.set()
        await agent.finish()

    assert shown(await calls(settings, act, person)) == [SHOWN]


async def test_two_calls_alike_have_an_entry_each(settings: Settings) -> None:
    async def act(agent: Agent) -> None:
        for id in ("call_1", "call_2"):
            await agent.show(RUN, CODE, toolCallId=id)
        for _ in range(2):
            await agent.call("run_python", **CODE)

    assert shown(await calls(settings, act)) == [SHOWN] * 2


async def test_what_the_agent_says_while_the_user_is_asked_changes_nothing(settings: Settings) -> None:
    person = Hesitant()
    words = [{"type": "content", "content": {"type": "text", "text": "Harmless, I promise."}}]

    async def act(agent: Agent) -> None:
        await agent.show(RUN, CODE, kind="execute")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: agent.call("run_python", **CODE))
            await person.asked.wait()
            await update(agent, title="Read a file", kind="read", content=words, status="completed")
            await update(agent, rawInput=CODE, rawOutput={"content": "Harmless"})
            await heard(agent, person)
            person.decided.set()

    (found,) = await calls(settings, act, person)
    assert shown([found]) == [SHOWN]
    assert (found.kind, found.raw_output) == ("execute", None)
    assert len(person.questions) == 1
    assert "promise" not in str(found)


async def test_another_call_under_the_same_id_has_its_own_entry(settings: Settings) -> None:
    async def act(agent: Agent) -> None:
        await agent.show(RUN, CODE, kind="execute")
        await agent.call("run_python", **CODE)
        await update(agent, title="ls", kind="execute", rawInput={"command": "ls"}, status="failed")
        await update(agent, rawOutput="no")

    ours, other = await calls(settings, act)
    assert shown([ours]) == [SHOWN]
    assert (other.title, other.raw_input, other.raw_output) == ("ls", {"command": "ls"}, "no")


async def test_why_a_call_failed_is_shown(settings: Settings) -> None:
    class Broken(FakeNotebook):
        async def run_python(self, code: str) -> Any:
            raise NotebookError("The kernel is busy.")

    async def act(agent: Agent) -> None:
        await agent.show(RUN, CODE, kind="execute")
        text = await agent.call("run_python", **CODE)
        await update(agent, status="failed", rawOutput={"message": text})

    (found,) = await calls(settings, act, notebook=Broken())
    assert (found.status, found.raw_output) == ("failed", {"message": "failed: The kernel is busy."})


async def test_a_call_of_another_server_stays_beside_ours(settings: Settings) -> None:
    async def act(agent: Agent) -> None:
        await agent.show("other-run_python", CODE, kind="read")
        await agent.call("run_python", **CODE)

    other, ours = await calls(settings, act)
    assert shown([ours]) == [SHOWN]
    assert other.title == "other-run_python"
