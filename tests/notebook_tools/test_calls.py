"""The tools at work: what is asked, what is done, and what the agent reads of it."""

import json
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.messages import Diff, TextBlock
from copilot_kernel.notebook.calls import NO_PAGE, OVER, RUN_PYTHON, SHOW_CODE, UnknownTool
from copilot_kernel.notebook.live import CellType, RunResult
from copilot_kernel.notebook.sources import source_hash
from copilot_kernel.notebook.tools import INSTRUCTIONS, tools_for
from copilot_kernel.tags import tagged

from .desk import CALLS, EDITED, Desk, put_out
from .fakes import FakeNotebook, raised, stream


@pytest.mark.parametrize("name", CALLS)
async def test_every_tool_asks_the_gate_first_and_does_nothing_without_it(name: str) -> None:
    desk = Desk(refuses="The user said no.")
    assert await desk.call(name, **CALLS[name]) == "failed: The user said no."
    assert ([asked for asked, _ in desk.gate.asked], desk.gate.given) == ([name], [CALLS[name]])
    assert (desk.notebook.done, desk.gate.ended) == ([], [])


async def test_there_is_a_call_for_every_tool_and_each_fits_its_schema() -> None:
    import jsonschema  # takes seconds

    tools = tools_for(has_kernel=True)
    assert set(CALLS) == set(tools)
    for name, tool in tools.items():
        jsonschema.Draft202012Validator.check_schema(tool.listing["inputSchema"])
        jsonschema.validate(CALLS[name], tool.listing["inputSchema"])
        assert not (await Desk().call(name, **CALLS[name])).startswith("failed"), name


@pytest.mark.parametrize("name", CALLS)
async def test_outside_a_turn_nothing_is_asked_or_done(name: str) -> None:
    desk = Desk()
    desk.gate.has_turn = False
    assert await desk.call(name, **CALLS[name]) == "failed: No turn is running."
    assert (desk.gate.asked, desk.notebook.done) == ([], [])


async def test_the_end_of_the_turn_breaks_a_call_off() -> None:
    desk = Desk()
    desk.notebook.blocks = anyio.Event()
    texts: list[str] = []

    async def inspect() -> None:
        texts.append(await desk.call("inspect_variable", name="df"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(inspect)
        await desk.notebook.blocks.wait()
        desk.gate.scope.cancel()
    assert (texts, desk.gate.ended) == ([f"failed: {OVER}"], [False])


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("edit_cell", {**EDITED, "source": None}, "Pass either `source` or `edits`, or another `type`."),
        ("edit_cell", {**EDITED, "edits": [{"old": "1", "new": "2"}]}, "Pass either `source` or `edits`"),
        (
            "edit_cell",
            {**EDITED, "edits": [{"old": "1"}]},
            "`edits` must be an array of objects with the strings `old`",
        ),
        ("edit_cell", {**EDITED, "source": None, "edits": [{"old": "y", "new": ""}]}, "`edits[0].old` was not found"),
        ("edit_cell", {**EDITED, "type": "markdown", "run": True}, "is not a code cell."),
        (
            "edit_cell",
            {**EDITED, "force": True},
            "Unknown argument `force`. Known arguments: `edits`, `expected`, `id`",
        ),
        ("inspect_variable", {"name": ["df"]}, "`name` must be a string."),
        ("inspect_variable", {"name": "df", "rows": True}, "`rows` must be an integer."),
        ("inspect_variable", {"name": "df", "rows": 1_000}, "`rows` must be from 1 to 50."),
        ("insert_cell", {"source": "", "type": "raw"}, "`type` must be one of: code, markdown."),
        ("insert_cell", {"source": "", "type": "markdown", "run": True}, "Only a code cell can be run."),
        ("read_output", {"id": "c1", "offset": -1}, "`offset` must be from 0"),
        ("run_cells", {"ids": ["c1"] * 101}, "`ids` must be an array of strings."),
        ("run_cells", {"ids": []}, "`ids` is empty."),
        ("run_cells", {"ids": ["c1", "c9"]}, "No cell with the id 'c9'"),
        ("move_cell", {"id": "c1", "expected": "x = 1", "after": "c9"}, "No cell with the id 'c9'"),
        ("move_cell", {"id": "c1", "expected": "x = 1", "after": "c1"}, "below itself"),
        ("insert_cell", {"source": "", "after": "c9"}, "No cell with the id 'c9'"),
    ],
)
async def test_what_does_not_fit_is_said_and_nobody_is_asked(name: str, arguments: Any, words: str) -> None:
    desk = Desk()
    text = await desk.call(name, **arguments)
    assert text.startswith("failed: ")
    assert words in text
    assert (desk.gate.asked, desk.notebook.done) == ([], [])


async def test_arguments_that_are_no_object_and_unknown_tools_fail() -> None:
    desk = Desk()
    assert (await desk.calls.call("run_cell", ["c1"]))["isError"]
    with pytest.raises(UnknownTool):
        await desk.calls.call("_read", {})


# -- editing ----------------------------------------------------------------------------------------------------------


async def test_an_edit_is_shown_as_a_diff_of_the_cell() -> None:
    desk = Desk()
    assert await desk.call("edit_cell", **EDITED) == "Edited the cell c1."
    (_, proposal) = desk.gate.asked[0]
    assert (proposal.title, proposal.content, proposal.path, proposal.runs) == (
        "Edit cell 1",
        (Diff("a.ipynb#c1", "x = 1", "x = 2"),),
        "a.ipynb",
        False,
    )
    assert desk.notebook.done == [("edit", "c1", "x = 2")]


@pytest.mark.parametrize("name", ["edit_cell", "delete_cell", "move_cell"])
@pytest.mark.parametrize(
    ("own", "expected", "source", "after"),
    [
        ("if x:\r\n    y\r\nz", "if x:\n    y\nz", "if x:\n    y2\nz\nlast", "if x:\r\n    y2\r\nz\r\nlast"),
        ("x = 1\n", "x = 1", "x = 2", "x = 2\n"),
        ("y = 2   ", "y = 2", "y = 3", "y = 3   "),
        ("w = 4\n\n\n", "w = 4\n", "w = 4\nv = 5\n", "w = 4\nv = 5\n\n\n"),
        ("s = 'a\u00a0b'", "s = 'a b'", "s = 'a b' + c", "s = 'a\u00a0b' + c"),
        ("s = 'a\u00a0b'", "s = 'a\u00a0b'", "s = 'a b'", "s = 'a b'"),
    ],
)
async def test_a_cell_is_known_by_what_its_source_means_and_keeps_its_own_characters(
    name: str, own: str, expected: str, source: str, after: str
) -> None:
    desk = Desk(own, "print(x)")
    given = {**CALLS[name], "expected": expected, **({"source": source} if name == "edit_cell" else {})}
    assert not (await desk.call(name, **given)).startswith("failed")
    assert desk.notebook.done == [
        {"edit_cell": ("edit", "c1", after), "delete_cell": ("delete", "c1")}.get(name, ("move", "c1", "c2"))
    ]
    if name == "edit_cell":
        assert desk.gate.asked[0][1].content == (Diff("a.ipynb#c1", own, after),)


async def test_a_name_in_a_long_cell_is_changed_by_its_piece_and_the_hash() -> None:
    source = "".join(f"x{number} = {number}\n" for number in range(5_000))
    desk = Desk(source, "print(x)")
    assert f'hash="{source_hash(source)}"' in await desk.call("read_cell", id="c1")
    given = {"id": "c1", "expected": source_hash(source), "edits": [{"old": "x4321 ", "new": "total "}]}
    assert (await desk.call("edit_cell", **given), len(str(given)) < 200) == ("Edited the cell c1.", True)
    after = source.replace("x4321 ", "total ")
    (_, proposal) = desk.gate.asked[-1]
    assert (proposal.title, proposal.content) == ("Edit cell 1", (Diff("a.ipynb#c1", source, after),))
    assert desk.notebook.done == [("edit", "c1", after)]


async def test_pieces_are_matched_again_after_nothing_and_the_question_covers_the_run() -> None:
    desk = Desk("x = 1\ny = 1", "print(x)")
    edits = [{"old": "y = 1", "new": "y = 2"}, {"old": "x = 1", "new": "x = 3"}]
    desk.gate.meanwhile = lambda: desk.notebook.put("c1", source="x = 1\ny = 1\nmine")
    text = await desk.call("edit_cell", id="c1", expected="x = 1\ny = 1", edits=edits, run=True)
    assert (text, desk.notebook.done) == ("failed: changed meanwhile", [])
    ((_, proposal),) = desk.gate.asked
    assert (proposal.title, proposal.runs, proposal.content) == (
        "Edit cell 1 and run it",
        True,
        (Diff("a.ipynb#c1", "x = 1\ny = 1", "x = 3\ny = 2"),),
    )


@pytest.mark.parametrize(
    ("more", "source"),
    [({}, "x = 1"), ({"source": "# Title"}, "# Title"), ({"edits": [{"old": "1", "new": "2"}]}, "x = 2")],
)
async def test_a_cell_of_another_type_is_shown_as_new_content(more: Any, source: str) -> None:
    desk = Desk()
    await desk.call("edit_cell", id="c1", expected="x = 1", type="markdown", **more)
    ((_, proposal),) = desk.gate.asked
    assert (proposal.title, proposal.content, proposal.cell_type) == (
        "Edit cell 1 and make it a markdown cell",
        (Diff("a.ipynb#c1", None, source),),
        "markdown",
    )
    assert desk.notebook.done == [("edit", "c1", source, "markdown")]


async def test_a_markdown_cell_becomes_code_and_runs() -> None:
    desk = Desk("x = 1")
    desk.notebook.put("c1", type="markdown")
    text = await desk.call("edit_cell", id="c1", expected="x = 1", type="code", run=True)
    assert text.startswith("Edited the cell c1. It ran as [7].")
    assert [proposal.title for _, proposal in desk.gate.asked] == ["Edit cell 1 and make it a code cell and run it"]


@pytest.mark.parametrize("name", ["edit_cell", "delete_cell", "move_cell"])
async def test_an_old_hash_is_refused(name: str) -> None:
    desk = Desk()
    text = await desk.call(name, **{**CALLS[name], "expected": "0123abcd"})
    assert "Its source no longer has the hash 0123abcd. Read it again with read_cell." in text
    assert (desk.gate.asked, desk.notebook.done) == ([], [])


@pytest.mark.parametrize("name", ["edit_cell", "delete_cell", "move_cell"])
async def test_a_cell_that_the_agent_knows_otherwise_is_left_alone(name: str) -> None:
    desk = Desk()
    text = await desk.call(name, **{**CALLS[name], "expected": "x = 0"})
    assert "changed meanwhile, and nothing was done. In line 1, the cell has 'x = 1' where 'x = 0' was" in text
    assert (desk.gate.asked, desk.notebook.done) == ([], [])


@pytest.mark.parametrize("name", ["edit_cell", "delete_cell", "move_cell", "run_cell", "run_cells"])
async def test_what_the_user_changes_during_the_question_is_neither_overwritten_nor_run(name: str) -> None:
    desk = Desk()
    desk.gate.meanwhile = lambda: desk.notebook.put("c1", source="mine")
    assert "changed meanwhile" in await desk.call(name, **CALLS[name])
    assert (desk.notebook.done, desk.gate.ended) == ([], [False])


async def test_one_question_covers_inserting_and_running() -> None:
    desk = Desk()
    text = await desk.call("insert_cell", source="y = 2", run=True)
    assert text == f"Inserted the cell new. It ran as [7].\n{put_out('ran y = 2', 'new')}"
    ((_, proposal),) = desk.gate.asked
    assert (proposal.title, proposal.runs) == ("Insert a code cell and run it", True)
    assert proposal.content == (Diff("a.ipynb#new cell", None, "y = 2"),)
    assert desk.notebook.done == [("insert", "y = 2", "code", None), ("run", "new")]


async def test_one_question_covers_editing_and_running() -> None:
    desk = Desk()

    async def edit(id: str, expected: str, source: str, type: CellType | None) -> None:
        await FakeNotebook.edit(desk.notebook, id, expected, source, type)
        desk.notebook.put(id, source=source)

    desk.notebook.edit = edit
    text = await desk.call("edit_cell", id="c1", expected="x = 1", source="y = 2", run=True)
    assert text == f"Edited the cell c1. It ran as [7].\n{put_out('ran y = 2', 'c1')}"
    ((_, proposal),) = desk.gate.asked
    assert (proposal.title, proposal.runs) == ("Edit cell 1 and run it", True)
    assert proposal.content == (Diff("a.ipynb#c1", "x = 1", "y = 2"),)
    assert desk.notebook.done == [("edit", "c1", "y = 2"), ("run", "c1")]


async def test_a_cell_that_was_inserted_but_not_run_is_named() -> None:
    desk = Desk()

    async def changed(id: str, expected: str) -> RunResult:
        desk.notebook.put("new", source="mine")
        return await FakeNotebook.run_cell(desk.notebook, id, expected)

    desk.notebook.run_cell = changed
    text = await desk.call("insert_cell", source="y", run=True)
    assert text == "failed: Inserted the cell new. It was not run: changed meanwhile"


async def test_without_a_page_cells_are_read_but_not_changed() -> None:
    desk = Desk(saved=True)
    assert "as it was saved last" in await desk.call("read_notebook")
    for name in ("insert_cell", "edit_cell", "run_cell", "clear_outputs"):
        assert NO_PAGE in await desk.call(name, **CALLS[name])
    assert "It ran" in await desk.call("run_python", code="1")
    assert [name for name, _ in desk.gate.asked] == ["read_notebook", "run_python"]


READS = {"read_notebook", "search_notebook", "read_cell", "read_output"}


@pytest.mark.parametrize(("has_variables", "hint", "offered"), [
    (True, RUN_PYTHON, {"list_variables", "inspect_variable", "run_python", *READS}),
    (False, SHOW_CODE, READS),
])  # fmt: skip
async def test_where_cells_cannot_be_changed_no_tool_for_that_is_offered_and_calls_say_what_to_do(
    has_variables: bool, hint: str, offered: set[str]
) -> None:
    desk = Desk(saved=True)
    desk.notebook.why_fixed, desk.notebook.has_variables = "Not in this place.", has_variables
    assert {tool["name"] for tool in desk.calls.listing()} == offered
    assert await desk.call("edit_cell", **CALLS["edit_cell"]) == f"failed: Not in this place. {hint}"
    assert desk.gate.asked == []


# -- running ----------------------------------------------------------------------------------------------------------


async def test_several_cells_are_asked_about_once_with_all_sources_and_stop_at_the_first_error() -> None:
    desk = Desk("a", "b", "c")
    desk.notebook.run = lambda source: RunResult(1, source != "b", (stream(source),))
    text = await desk.call("run_cells", ids=["c1", "c2", "c3"])
    ((_, proposal),) = desk.gate.asked
    assert proposal.title == "Run cell 1, cell 2, cell 3"
    assert proposal.content == tuple(TextBlock(f"```python\n{source}\n```") for source in "abc")
    ends = f"c2: It ran as [1] and failed.\n{put_out('b', 'c2')}\nStopped at 2 of 3 cells."
    assert text == f"c1: It ran as [1].\n{put_out('a', 'c1')}\n{ends}"
    assert (desk.notebook.done, desk.gate.ended) == ([("run", "c1"), ("run", "c2")], [False])


async def test_code_cannot_end_the_block_in_which_it_is_shown() -> None:
    desk = Desk()
    await desk.call("run_python", code="1\n```\nharmless")
    assert desk.gate.asked[0][1].content == (TextBlock("````python\n1\n```\nharmless\n````"),)


@pytest.mark.parametrize(
    "code",
    [
        "%copilot do it",
        "x = 1\n%%copilot\ndo it",
        "turn = %copilot do it",
        "  %copilot",
        "get_ipython().run_line_magic('copilot', 'do it')",
        'get_ipython().run_cell_magic( "copilot", "", "x")',
    ],
)
async def test_a_run_that_would_wait_for_itself_is_refused(code: str) -> None:
    desk = Desk(code)
    for name, arguments in (
        ("run_cell", {"id": "c1"}),
        ("run_cells", {"ids": ["c1"]}),
        ("run_python", {"code": code}),
        ("insert_cell", {"source": code, "run": True}),
    ):
        assert "would wait for itself" in await desk.call(name, **arguments)
    assert (desk.gate.asked, desk.notebook.done) == ([], [])


async def test_what_only_looks_like_a_prompt_runs() -> None:
    for code in ("%load_ext copilot_kernel", "%copilot_x", "n %copilot", "print('copilot')"):
        assert "It ran" in await Desk().call("run_python", code=code)


async def test_a_markdown_cell_does_not_run() -> None:
    desk = Desk()
    desk.notebook.put("c1", type="markdown")
    assert "is not a code cell" in await desk.call("run_cell", id="c1")


async def test_failed_code_is_told_with_its_traceback_and_is_no_failure_of_the_tool() -> None:
    desk = Desk()
    desk.notebook.run = lambda source: RunResult(
        3, False, (stream("a\n"), raised("\x1b[31mTraceback\x1b[0m", "KeyError: 'x'"))
    )
    text = await desk.call("run_cell", id="c1")
    error = tagged("cell-output", "Traceback\nKeyError: 'x'", kind="error")
    assert (text.startswith("It ran as [3] and failed.\n"), error in text, desk.gate.ended) == (True, True, [False])


# -- which tools there are --------------------------------------------------------------------------------------------


async def test_without_variables_there_are_tools_for_cells_alone() -> None:
    desk = Desk()
    desk.notebook.has_variables = False
    listed = {tool["name"]: tool for tool in desk.calls.listing()}
    assert sorted(listed) == [
        "clear_outputs",
        "delete_cell",
        "edit_cell",
        "insert_cell",
        "move_cell",
        "read_cell",
        "read_notebook",
        "read_output",
        "search_notebook",
    ]
    assert "run" not in listed["insert_cell"]["inputSchema"]["properties"]
    assert "Unknown argument `run`" in await desk.call("insert_cell", source="x", run=True)
    assert await desk.call("insert_cell", source="x") == "Inserted the cell new."
    with pytest.raises(UnknownTool):
        await desk.call("run_python", code="1")


async def test_only_reads_are_annotated_as_such() -> None:
    listed = Desk().calls.listing()
    reading = {tool["name"] for tool in listed if tool["annotations"]["readOnlyHint"]}
    assert reading == {"list_variables", "inspect_variable", *READS}


@pytest.mark.parametrize(("has_kernel", "before"), [(True, 5_951), (False, 3_590)])
def test_what_every_prompt_pays_for_stays_small(*, has_kernel: bool, before: int) -> None:
    """`before`: characters of the list without search, edits by parts and instructions."""
    listed = [tool.listing for tool in tools_for(has_kernel=has_kernel).values()]
    assert len(INSTRUCTIONS) <= 1_500
    assert len(json.dumps(listed, separators=(",", ":"))) + len(INSTRUCTIONS) <= 1.25 * before


async def test_annotations_tell_what_is_lost_and_where_code_runs() -> None:
    listed = {tool["name"]: tool["annotations"] for tool in Desk().calls.listing()}
    assert {name for name, each in listed.items() if each.get("openWorldHint")} == {
        "insert_cell", "edit_cell", "run_cell", "run_cells", "run_python", "restart_kernel"
    }  # fmt: skip
    assert [name for name, each in listed.items() if each.get("destructiveHint") is False] == ["move_cell"]
    desk = Desk()
    desk.notebook.has_variables = False
    cells = {tool["name"]: tool["annotations"] for tool in desk.calls.listing()}
    assert cells["insert_cell"] == {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
