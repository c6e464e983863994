"""The tools at work: each call is checked, shown to the gate as what it would do, and then does just that.

What a cell holds is read before the question, and is what the front end must still find when the call acts.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..acp.messages import Diff, TextBlock
from ..tags import tagged
from .content import (
    CELL,
    VARIABLE,
    VARIABLES,
    Json,
    Reading,
    cell_attributes,
    cell_parts,
    cut,
    fenced,
    read_outputs,
    text_block,
    variable_text,
)
from .live import ChangedMeanwhile, LiveNotebook, NoPage, NotebookCell, NotebookError, NotebookState
from .results import OUTPUTS, Result, Run, count, notebook_page, of_run, of_runs, page, run_of
from .search import search
from .sources import difference, edited, with_edits
from .tools import Gate, InvalidArguments, Proposal, Tool, tools_for

LAST_RUN = "run_python"
"""Stands for a cell's id: the last output of `run_python`."""

OVER = "The turn ended before this call did; it may have taken effect."
_CHANGED = "The cell was changed meanwhile, and nothing was done. {} Read it again with read_cell."
NO_PAGE = (
    "No open page shows the notebook to this cell, so its cells can only be read, as they were saved last. "
    "A console cannot change cells: they can be changed if the user asks in a cell of the notebook."
)
SHOW_CODE = "Show the code in your answer."
RUN_PYTHON = f"Run code with run_python. {SHOW_CODE}"
_PROMPT = re.compile(r"(?:^|=)[ \t]*%%?copilot\b|run_(?:line|cell)_magic\(\s*['\"]copilot['\"]", re.MULTILINE)
_OWN_PROMPT = "Code with %copilot cannot be run by a tool: it would wait for itself."

Work = Callable[[], Awaitable[Result]]


class _Call(NamedTuple):
    """`given` are the arguments as the agent passed them, `args` all of them, checked."""

    tool: Tool
    given: Json
    args: Json


class UnknownTool(NotebookError):
    """The tool is unknown, or unavailable in this notebook."""


MAX_NAMES = 8
"""Limit of the cells that the title of a call names."""


class NotebookCalls:
    """The tools for one notebook. Without `takes_images`, the agent gets words only."""

    def __init__(self, notebook: LiveNotebook, gate: Gate, *, takes_images: bool) -> None:
        self._notebook, self._gate, self._takes_images = notebook, gate, takes_images
        self._last_run = Reading("")

    def listing(self) -> list[Json]:
        """The result of `tools/list`."""
        return [tool.listing for tool in self._tools.values() if tool.needs_no_page or not self._notebook.why_fixed]

    async def call(self, name: str, given: Any) -> Json:
        """The result of `tools/call`. Raises UnknownTool."""
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(f"Unknown tool {name[:80]!r}.")
        result = _failed(OVER)
        try:
            call = _Call(tool, given or {}, tool.read(given or {}))
            with self._gate.turn():
                result = self._composed(await self._work_of(call))
        except NotebookError as error:
            result = _failed(" ".join(filter(None, (str(error), error.hint))))
        return result

    @property
    def _tools(self) -> dict[str, Tool]:
        return tools_for(has_kernel=self._notebook.has_variables)

    def _work_of(self, call: _Call) -> Awaitable[Result]:
        """Return the work of a tool. Tools that read ask the gate here, the others once they know their effect."""
        work: Callable[[_Call], Awaitable[Result]] = getattr(self, f"_{call.tool.name}")
        if call.tool.kind == "read":
            return self._do(call, Proposal(call.tool.title.format(**call.args)), partial(work, call))
        return work(call)

    def _composed(self, result: Result) -> Json:
        images = result.images if self._takes_images else ()
        return {"content": [text_block(result.text), *images], "isError": False}

    async def _do(self, call: _Call, proposal: Proposal, work: Work) -> Result:
        """Return the result of `work` if the gate allows the proposal. Raises NotebookError."""
        decision = await self._gate.authorize(call.tool, call.given, proposal)
        if not decision.allowed:
            raise NotebookError(decision.reason)
        ok = False
        try:
            result = await work()
            ok = result.ok
        finally:
            self._gate.finished(decision, ok=ok)
        return result

    # -- reading ------------------------------------------------------------------------------------------------------

    async def _list_variables(self, call: _Call) -> Result:
        found = await self._notebook.list_variables(call.args["filter"])
        text = cut("\n".join(map(variable_text, found)), lambda offset: "pass a filter")
        return Result(tagged(VARIABLES, text) if text else "No such variables.")

    async def _inspect_variable(self, call: _Call) -> Result:
        name, path, rows = call.args["name"], call.args["path"], call.args["rows"]
        text = await self._notebook.inspect_variable(name, path, rows)
        return Result(tagged(VARIABLE, cut(text, lambda offset: "pass a path, or fewer rows"), name=name))

    async def _read_notebook(self, call: _Call) -> Result:
        state, after = await self._notebook.read(None, outputs=call.args["outputs"]), call.args["after"]
        return notebook_page(state, 0 if after is None else _Document(state).number(after))

    async def _read_cell(self, call: _Call) -> Result:
        cell = await self._with_outputs(call.args["id"])
        found = read_outputs(cell.outputs)
        reading = Reading(cell_parts(cell.source, found.text), found.images)
        return page(reading, "read_cell", call.args["offset"], CELL, cell_attributes(cell))

    async def _read_output(self, call: _Call) -> Result:
        id, offset = call.args["id"], call.args["offset"]
        found = self._last_run if id == LAST_RUN else read_outputs((await self._with_outputs(id)).outputs)
        shown = page(found, "read_output", offset, OUTPUTS, {"id": id})
        return shown if found.text or offset else Result("No output.")

    async def _with_outputs(self, id: str) -> NotebookCell:
        state = await self._notebook.read([id], outputs=True)
        return _Document(state).cell(id)

    async def _search_notebook(self, call: _Call) -> Result:
        state = await self._notebook.read(None, outputs=False)
        if state.cells:  # named, their outputs come whole
            state = await self._notebook.read([cell.id for cell in state.cells], outputs=True)
        return Result(await search(state.cells, call.args["pattern"], is_regex=call.args["regex"]))

    # -- editing ------------------------------------------------------------------------------------------------------

    async def _insert_cell(self, call: _Call) -> Result:
        source, type, after = call.args["source"], call.args["type"], call.args["after"]
        runs = bool(call.args.get("run"))
        if runs and type != "code":
            raise InvalidArguments("Only a code cell can be run.")
        if runs:
            _check_no_prompt(source)
        document = await self._read()
        place = f" below {document.name(after)}" if after is not None else ""
        title = f"Insert a {type} cell{place}{' and run it' if runs else ''}"

        async def work() -> Result:
            id = await self._notebook.insert(source, type, after)
            return await self._changed(f"Inserted the cell {id}.", id, source, runs=runs)

        diff = Diff(document.path_of("new cell"), None, source)
        return await self._do(call, Proposal(title, (diff,), document.path, runs=runs, cell_type=type), work)

    async def _edit_cell(self, call: _Call) -> Result:
        document, cell = await self._expected(call)
        source, type, runs = _new_source(call, cell), call.args["type"] or cell.type, bool(call.args.get("run"))
        if runs:
            _check_runnable(cell.id, type, source)

        async def work() -> Result:
            await self._notebook.edit(cell.id, cell.source, source, call.args["type"])
            return await self._changed(f"Edited the cell {cell.id}.", cell.id, source, runs=runs)

        # Of a cell of another type, nothing was shown as this type before.
        before = cell.source if type == cell.type else None
        becomes = "" if type == cell.type else f" and make it a {type} cell"
        title = f"Edit {document.name(cell.id)}{becomes}{' and run it' if runs else ''}"
        diff = Diff(document.path_of(cell.id), before, source)
        return await self._do(call, Proposal(title, (diff,), document.path, runs=runs, cell_type=type), work)

    async def _changed(self, done: str, id: str, source: str, *, runs: bool) -> Result:
        """Return the result of a change, `done`; with `runs`, of running the cell as well."""
        if not runs:
            return Result(done)
        try:
            ran = of_run(await self._run(id, source))
        except NotebookError as error:
            raise NotebookError(f"{done} It was not run: {error}", error.hint) from error
        return Result(f"{done} {ran.text}", ran.images, ran.ok)

    async def _delete_cell(self, call: _Call) -> Result:
        document, cell = await self._expected(call)

        async def work() -> Result:
            await self._notebook.delete(cell.id, cell.source)
            return Result(f"Deleted the cell {cell.id}.")

        diff = Diff(document.path_of(cell.id), cell.source, "")
        return await self._do(call, Proposal(f"Delete {document.name(cell.id)}", (diff,), document.path), work)

    async def _move_cell(self, call: _Call) -> Result:
        document, cell = await self._expected(call)
        after = call.args["after"]
        if after == cell.id:
            raise InvalidArguments("A cell cannot be moved below itself.")
        place = "to the top" if after is None else f"below {document.name(after)}"

        async def work() -> Result:
            await self._notebook.move(cell.id, cell.source, after)
            return Result(f"Moved the cell {cell.id} {place}.")

        proposal = Proposal(f"Move {document.name(cell.id)} {place}", (_shown(cell),), document.path)
        return await self._do(call, proposal, work)

    async def _clear_outputs(self, call: _Call) -> Result:
        document = await self._read()
        ids = call.args["ids"]
        if ids is None:
            ids = [cell.id for cell in document.state.cells if cell.type == "code"]
        title = f"Clear the outputs of {document.names(ids)}"

        async def work() -> Result:
            await self._notebook.clear_outputs(ids)
            return Result(f"Cleared the outputs of {count(ids)}.")

        return await self._do(call, Proposal(title, path=document.path), work)

    # -- running ------------------------------------------------------------------------------------------------------

    async def _run_cell(self, call: _Call) -> Result:
        document = await self._read()
        cell = document.runnable(call.args["id"])
        proposal = Proposal(f"Run {document.name(cell.id)}", (_shown(cell),), document.path, runs=True)

        async def work() -> Result:
            return of_run(await self._run(cell.id, cell.source))

        return await self._do(call, proposal, work)

    async def _run_cells(self, call: _Call) -> Result:
        document = await self._read()
        cells = [document.runnable(id) for id in call.args["ids"]]
        if not cells:
            raise InvalidArguments("`ids` is empty.")
        title = f"Run {document.names([cell.id for cell in cells])}"
        proposal = Proposal(title, tuple(map(_shown, cells)), document.path, runs=True)
        return await self._do(call, proposal, lambda: self._run_in_order(cells))

    async def _run_python(self, call: _Call) -> Result:
        code = call.args["code"]
        _check_no_prompt(code)

        async def work() -> Result:
            run = run_of(await self._notebook.run_python(code), LAST_RUN)
            self._last_run = run.found
            return of_run(run)

        return await self._do(call, Proposal("Run Python code", (TextBlock(fenced(code)),), runs=True), work)

    async def _restart_kernel(self, call: _Call) -> Result:
        async def work() -> Result:
            await self._notebook.restart_kernel()
            return Result("The kernel restarts: all variables are lost, and the turn ends.")

        return await self._do(call, Proposal("Restart the kernel", runs=True), work)

    async def _run(self, id: str, source: str) -> Run:
        return run_of(await self._notebook.run_cell(id, source), id)

    async def _run_in_order(self, cells: Sequence[NotebookCell]) -> Result:
        """Up to the first error."""
        runs = list[Run]()
        for cell in cells:
            try:
                run = await self._run(cell.id, cell.source)
            except NotebookError as error:
                run = Run(cell.id, f"It was not run: {error}")
            runs.append(run)
            if not run.ok:
                break
        return of_runs(runs, len(cells))

    # -- cells --------------------------------------------------------------------------------------------------------

    async def _read(self) -> _Document:
        """The cells as a page shows them. Raises NoPage."""
        if why := self._notebook.why_fixed:
            raise NoPage(why, RUN_PYTHON if self._notebook.has_variables else SHOW_CODE)
        state = await self._notebook.read(None, outputs=False)
        if state.saved:
            raise NoPage(NO_PAGE)
        return _Document(state)

    async def _expected(self, call: _Call) -> tuple[_Document, NotebookCell]:
        """The cell, if what the agent expects means its source. Raises ChangedMeanwhile."""
        document = await self._read()
        cell = document.cell(call.args["id"])
        if words := difference(cell.source, call.args["expected"]):
            raise ChangedMeanwhile(_CHANGED.format(words))
        return document, cell


class _Document:
    """The cells of a notebook by id, and how they are called before the user."""

    def __init__(self, state: NotebookState) -> None:
        self.state, self.path = state, state.path
        self._numbers = {cell.id: number for number, cell in enumerate(state.cells, 1)}

    def number(self, id: str) -> int:
        """The first cell has the number 1. Raises NotebookError."""
        if id not in self._numbers:
            raise NotebookError(f"No cell with the id {id[:80]!r}.", "read_notebook lists the ids.")
        return self._numbers[id]

    def cell(self, id: str) -> NotebookCell:
        """Raises NotebookError."""
        return self.state.cells[self.number(id) - 1]

    def runnable(self, id: str) -> NotebookCell:
        """Raises NotebookError."""
        cell = self.cell(id)
        _check_runnable(id, cell.type, cell.source)
        return cell

    def name(self, id: str) -> str:
        """Raises NotebookError."""
        return f"cell {self.number(id)}"

    def names(self, ids: Sequence[str]) -> str:
        """Each of them, or their number where they are many. Raises NotebookError."""
        names = [self.name(id) for id in ids]
        return ", ".join(names) if len(names) <= MAX_NAMES else count(names)

    def path_of(self, id: str) -> str:
        """Return the path under which a change of the cell is recorded."""
        return f"{self.path or 'notebook'}#{id}"


def _new_source(call: _Call, cell: NotebookCell) -> str:
    """The source that an edit leads to. Raises NotebookError."""
    source, edits = call.args["source"], call.args["edits"]
    if edits and source is None:
        return with_edits(cell.source, edits)
    if edits or (source is None and call.args["type"] is None):
        raise InvalidArguments("Pass either `source` or `edits`, or another `type`.")
    if source is None:
        return cell.source
    return source if call.args["expected"] == cell.source else edited(cell.source, source)


def _check_runnable(id: str, type: str, source: str) -> None:
    """Raises NotebookError."""
    if type != "code":
        raise NotebookError(f"The cell {id} is not a code cell.")
    _check_no_prompt(source)


def _check_no_prompt(code: str) -> None:
    if _PROMPT.search(code):
        raise NotebookError(_OWN_PROMPT)


def _shown(cell: NotebookCell) -> TextBlock:
    return TextBlock(fenced(cell.source, "python" if cell.type == "code" else ""))


def _failed(words: str) -> Json:
    return {"content": [text_block(words)], "isError": True}
