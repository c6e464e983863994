"""How the notebook's tools reach an agent's sessions, and how they end with them."""

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from copilot_kernel.chat import open_chat
from copilot_kernel.chat.notebook_gate import NO_TURN
from copilot_kernel.chat.notebook_tools import KERNEL_ENDED, NO_CELLS, introduction, is_here
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentRefused
from copilot_kernel.mcp_config import McpServer
from copilot_kernel.notebook.live import RunResult
from copilot_kernel.output.vs_code import NO_CHANGES
from mcp import ClientSession, StdioServerParameters, stdio_client

from ..acp.scripted import listening, numbered, offering
from ..notebook_tools.fakes import FakeNotebook
from .in_notebook import INFO, Agent, in_notebook
from .loopback import address, connecting
from .people import Person, ask

Json = dict[str, Any]
RESUMES = {"mcpCapabilities": {"http": True}, "loadSession": True, "sessionCapabilities": {"close": {}, "resume": {}}}


async def nothing(agent: Agent) -> None:
    """The agent ends its turn at once."""


async def test_every_way_of_opening_a_session_passes_the_server_with_a_token_of_its_own(settings: Settings) -> None:
    opens = {"session_load": {}, "session_resume": {}, "session_close": {}}
    async with in_notebook(settings, nothing, info={"agentCapabilities": RESUMES}, **opens) as (chat, agent):
        await ask(chat, "One")
        first = agent.server()
        await chat.resume("s2", Person())
        second = agent.server()
        await chat.new()
        await ask(chat, "Two")
        third = agent.server()
        assert [method for method, _ in agent.script.heard if method in ("session/new", "session/load")] == [
            "session/new",
            "session/load",
            "session/new",
        ]
        assert (
            first["type"],
            first["name"],
            len({server["headers"][0]["value"] for server in (first, second, third)}),
        ) == (
            "http",
            "notebook",
            3,
        )
        statuses = [(await agent.post("ping", server)).status_code for server in (first, second, third)]
    assert statuses == [401, 401, 200]
    with pytest.raises(httpx2.TransportError):
        await agent.post("ping", third)


async def test_a_session_that_cannot_be_opened_leaves_the_tools_of_the_open_one(settings: Settings) -> None:
    broken = {"session_load": RuntimeError("no"), "session_resume": RuntimeError("no")}
    async with in_notebook(settings, nothing, info={"agentCapabilities": RESUMES}, **broken) as (chat, agent):
        await ask(chat, "One")
        first = agent.server()
        with pytest.raises(AgentRefused):
            await chat.resume("s2", Person())
        assert (await agent.post("ping", first)).status_code == 200


async def test_an_agent_without_http_gets_the_bridge_and_a_file_that_ends_with_the_chat(settings: Settings) -> None:
    found: list[str] = []

    async def act(agent: Agent) -> None:
        server = agent.server()
        file = Path(server["args"][-1])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text().count(server["name"]) == 0
        parameters = StdioServerParameters(command=server["command"], args=server["args"])
        async with stdio_client(parameters) as streams, ClientSession(*streams) as client:
            await client.initialize()
            result = await client.call_tool("list_variables", {"filter": "n"})
            found.extend([result.content[0].text, str(file)])

    async with in_notebook(settings, act, info={"agentCapabilities": {}}) as (chat, _):
        await ask(chat, "Go")
    assert ("\nn: int 5\n" in found[0], Path(found[1]).exists()) == (True, False)


@pytest.mark.parametrize(
    ("info", "more", "words"),
    [
        ({"agentInfo": {"name": "copilot"}, "agentCapabilities": {}}, {}, NO_CELLS),
        ({}, {"notebook_tools": False}, ""),
    ],
)
async def test_without_a_way_or_a_wish_there_are_no_tools(
    settings: Settings, info: Json, more: Json, words: str
) -> None:
    async with in_notebook(settings, nothing, info=info, **more) as (chat, agent):
        await ask(chat, "One", person := Person())
        await ask(chat, "Two", person)
        unseen = chat.tools.unseen
        opened = [params for method, params in agent.script.heard if method == "session/new"]
        prompts = [params["prompt"] for method, params in agent.script.heard if method == "session/prompt"]
    assert opened[0]["mcpServers"] == []
    assert (person.notices, unseen) == ([], words)
    assert [len(prompt) for prompt in prompts] == [1, 1]


@pytest.mark.parametrize("agent", ["", "copilot --acp", "tcp://localhost:1", "tcp://127.0.0.1:1", "tcp://[::1]:1"])
def test_an_agent_on_this_machine_reaches_us(agent: str) -> None:
    assert is_here(agent)


@pytest.mark.parametrize("agent", ["tcp://10.0.0.1:1", "tcp://localhost.example:1", " tcp://example:1"])
def test_an_agent_on_another_machine_does_not(agent: str) -> None:
    assert not is_here(agent)


RENAMED = "MCP: the server notebook of your settings is passed on as {}: the notebook's own tools have its name."


async def test_a_server_of_the_user_with_our_name_gets_another_one(settings: Settings) -> None:
    theirs = tuple(McpServer(name, "http", url="http://127.0.0.1:9/mcp") for name in ("notebook", "notebook-2"))
    async with in_notebook(settings, nothing, mcp_servers=theirs) as (chat, agent):
        await ask(chat, "Go", person := Person())
        (opened,) = [params for method, params in agent.script.heard if method == "session/new"]
    assert [server["name"] for server in opened["mcpServers"]] == ["notebook-3", "notebook-2", "notebook"]
    assert person.notices == [RENAMED.format("notebook-3")]


async def test_the_first_prompt_that_is_no_command_says_where_the_agent_is(settings: Settings) -> None:
    async with in_notebook(settings, nothing, session_new=offering("compact")) as (chat, agent):
        for prompt in ("/compact", "One", "Two"):
            await ask(chat, prompt, person := Person())
        prompts = [params["prompt"] for method, params in agent.script.heard if method == "session/prompt"]
    assert [[block["text"] for block in prompt] for prompt in prompts] == [
        ["/compact"],
        ["One", introduction(FakeNotebook())],
        ["Two"],
    ]
    assert person.said[0] == ("user", "Two")


async def test_the_next_kernel_tells_that_the_agents_code_has_ended_the_one_before(settings: Settings) -> None:
    notebook, left = FakeNotebook("x = 1"), list[str]()

    async def prompt(script: Any, params: Json) -> None:
        if params["prompt"][0]["text"] == "Run":
            await Agent(script).call("run_python", code="os._exit(0)")

    def run(source: str) -> RunResult:
        left.append(next(Path(settings.state).glob("sessions/*.json")).read_text())
        return RunResult(1, True, ())

    notebook.run = run
    info = {"protocolVersion": 1, "agentInfo": INFO, "agentCapabilities": RESUMES}
    offered = {"session_new": offering("compact"), "session_resume": offering("compact"), "session_close": {}}
    async with listening(initialize=info, session_prompt=prompt, **offered) as (script, launch):
        chosen, person = replace(settings, agent=address(launch)), Person()
        for prompts in (["Run", "Go"], ["/compact", "Go", "Go on"]):
            async with open_chat(chosen, "book.ipynb", live=notebook) as chat:
                for each in prompts:
                    await ask(chat, each, person)
            next(Path(settings.state).glob("sessions/*.json")).write_text(left[0])  # as at the end of a process
        sent = [params["prompt"] for method, params in script.heard if method == "session/prompt"]
    counts = [str(prompt).count(KERNEL_ENDED) for prompt in sent]
    assert (counts, person.notices.count(KERNEL_ENDED)) == ([0, 0, 0, 1, 0], 1)


@pytest.mark.parametrize("has_variables", [True, False])
@pytest.mark.parametrize("why_fixed", ["", NO_CHANGES])
def test_the_introduction_is_short_and_offers_only_what_works(has_variables: bool, why_fixed: str) -> None:
    notebook = FakeNotebook()
    notebook.has_variables, notebook.why_fixed = has_variables, why_fixed
    text = introduction(notebook)
    assert (len(text) <= 800, "insert" in text, NO_CHANGES in text) == (True, not why_fixed, bool(why_fixed))


async def test_an_agent_that_lives_on_keeps_no_session_with_our_address(settings: Settings) -> None:
    info = {"protocolVersion": 1, "agentInfo": INFO, "agentCapabilities": RESUMES}
    async with listening(initialize=info, session_new=numbered(), session_close={}) as (script, launch):
        settings = replace(settings, agent=address(launch))
        async with connecting(settings) as connect, open_chat(settings, connect=connect) as other:
            async with open_chat(settings, connect=connect, live=FakeNotebook()) as chat:
                await ask(chat, "Go")
                await ask(other, "Go")
            closed = [params["sessionId"] for method, params in script.heard if method == "session/close"]
            assert (closed, other.session is not None) == (["s1"], True)


async def test_two_notebooks_on_one_agent_have_tools_of_their_own(settings: Settings) -> None:
    notebooks = [FakeNotebook("x"), FakeNotebook("x")]
    people = [Person("allow_once"), Person("reject_once")]
    texts: list[str] = []

    async def prompt(script: Any, params: Json) -> None:
        agent, number = Agent(script), int(params["sessionId"][1]) - 1
        whose = (number, 1 - number) if params["prompt"][0]["text"] == "Go on" else (number,)
        for each in whose:
            call = {"name": "run_cell", "arguments": {"id": "c1"}}
            result = (await agent.post("tools/call", agent.server(each), **call)).json()["result"]
            texts.append(result["content"][0]["text"])

    info = {"protocolVersion": 1, "agentInfo": INFO, "agentCapabilities": RESUMES}
    async with listening(initialize=info, session_prompt=prompt, session_new=numbered(), session_close={}) as (
        _,
        launch,
    ):
        settings = replace(settings, agent=address(launch))
        async with (
            connecting(settings) as connect,
            open_chat(settings, connect=connect, live=notebooks[0]) as one,
            open_chat(settings, connect=connect, live=notebooks[1]) as two,
        ):
            await one.ready()
            await two.ready()
            async with anyio.create_task_group() as tasks:
                for chat, person in ((one, people[0]), (two, people[1])):
                    tasks.start_soon(ask, chat, "Go", person)
            assert [notebook.done for notebook in notebooks] == [[("run", "c1")], []]
            assert [len(person.questions) for person in people] == [1, 1]
            texts.clear()
            await ask(two, "Go on", people[1])
            assert texts == ["Not done. denied by you", NO_TURN]
