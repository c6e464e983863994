"""The kernel: a cell's text becomes a turn of the conversation. How messages reach it is `dispatch.py`'s business."""

from __future__ import annotations

import asyncio
import gc
import os
from traceback import format_exception
from typing import Any

from copilot_widgets.answers import GUARD_SECONDS
from traitlets import Float, Unicode

from .. import __version__
from ..config import AGENT, LANGUAGE
from ..errors import REPORT_BUG, SEE_ABOVE, CopilotError
from ..output.cell import Cell, MessageChannel
from ..pages.page_notebook import PageNotebook
from ..places import is_in_own_kernelspec
from ..prompts.kernel_session import KernelSession
from ..prompts.warm_start import WarmStart
from ..rendering.plain import clean, visible_line
from ..system.processes import parent
from . import comms, lifetime
from .dispatch import ConcurrentKernel

Reply = dict[str, Any]

PARENT = parent()
"""The parent at import: it may end while the kernel starts."""
INTERRUPT_LATENCY = 0.01
"""Seconds that an interrupt which came while the event loop was busy may take to reach it."""
NO_WIDGETS = "Questions are asked as text: this ipykernel has changed {}, which buttons in a running cell depend on.\n"


class CopilotKernel(ConcurrentKernel):
    """A Jupyter kernel whose language is what you say to an agent."""

    implementation = "copilot_kernel"
    implementation_version = __version__
    banner = (
        f"Copilot Kernel {__version__}: each cell is a prompt to a coding agent, which works in this notebook's folder."
        "\n%help lists the commands.\n"
    )
    language_info = {  # noqa: RUF012
        "name": LANGUAGE,
        "version": "1.0",  # not the kernel's: JupyterLab marks a notebook as changed when this is another
        "mimetype": "text/x-markdown",
        "file_extension": ".md",
        "pygments_lexer": "markdown",
        "codemirror_mode": "markdown",
    }
    help_links = [  # noqa: RUF012
        {"text": "GitHub Copilot CLI", "url": "https://docs.github.com/copilot/concepts/agents/about-copilot-cli"},
        {"text": "Agent Client Protocol", "url": "https://agentclientprotocol.com"},
    ]

    guard_seconds = Float(
        GUARD_SECONDS, help="Seconds to ignore clicks on a button that allows, after the button moved."
    ).tag(config=True)

    agent = Unicode(help="The agent's command line, as the kernelspec has it.").tag(config=True)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        comms.install(self)
        self._notebook = PageNotebook(self)
        started_in = os.getcwd()  # noqa: TID251
        is_own = bool(self.agent) and is_in_own_kernelspec(self.agent, started_in)
        self.kernel_session = KernelSession(
            notebook=self._notebook,
            environ={**os.environ, AGENT: self.agent} if self.agent and not is_own else dict(os.environ),
            own_agent=self.agent if is_own else "",
            started_in=started_in,
        )
        self._warm_start = WarmStart(self.kernel_session)
        self._turn: asyncio.Task[Reply] | None = None
        # Since the running cell began.
        self._interrupted = False
        if not self.widgets_work:
            self.kernel_session.notices.lines.append(NO_WIDGETS.format(", ".join(self.changed_internals)))

    # -- a cell ---------------------------------------------------------------------------------------------------

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: Any = None,
        allow_stdin: bool = False,
        *,
        cell_meta: Any = None,
        cell_id: str | None = None,
    ) -> Reply:
        """One cell; the content of its `execute_reply`."""
        assert self.running is not None
        if silent:  # front ends probe kernels with silent Python code, and an agent would act on it unseen
            refusal = "A silent request is not sent to the agent."
            return self._error("UsageError", refusal, []) if code.strip() else self._ok()
        channel = MessageChannel(self, self.comm_manager if self.widgets_work else None)
        cell = Cell(channel, self.running, live=bool(allow_stdin), cell_id=cell_id, guard_seconds=self.guard_seconds)
        try:
            return await self._execute(cell, code)
        finally:
            self._notebook.cell_ended(cell)

    async def _execute(self, cell: Cell, code: str) -> Reply:
        self._interrupted = False
        self._turn = asyncio.create_task(self._run(cell, code))
        await asyncio.wait({self._turn})
        turn, self._turn = self._turn, None
        if not gc.get_freeze_count():  # collecting what the first cell has imported would stop answers for 20 ms
            gc.freeze()
        if not turn.cancelled() and (bug := turn.exception()):
            return self._broken(cell, bug)
        await asyncio.sleep(INTERRUPT_LATENCY)
        # An interrupt before the reply cancels the cell, also one that came while its output was being drawn.
        if turn.cancelled() or (self._interrupted and turn.result()["status"] == "ok"):
            from ..rendering.footer import render_stopped

            cell.display(render_stopped(by_user=self._interrupted))
            return self._cancelled(cell)
        return turn.result()

    async def _run(self, cell: Cell, code: str) -> Reply:
        try:
            turn = await self.kernel_session.run(cell, code)
        except CopilotError as error:
            name, title = type(error).__name__, visible_line(error.title)
            full = [f"{name}: {title}"]
            cell.error(name, title, [SEE_ABOVE] if cell.live else full)  # the card says the cause
            return self._error(name, title, full)
        return self._cancelled(cell) if turn and turn.stop_reason == "cancelled" else self._ok()

    # -- how a cell ends ------------------------------------------------------------------------------------------

    def _ok(self) -> Reply:
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def _cancelled(self, cell: Cell) -> Reply:
        """An error, so that the cells that wait behind this one do not run.

        A line in the cell says it; only batch runs look for an error among the outputs.
        """
        return self._error("Cancelled", "Stopped.", ["Stopped."], None if cell.live else cell)

    def _broken(self, cell: Cell, error: BaseException) -> Reply:
        self.log.error("A cell failed", exc_info=error)
        lines = clean("".join(format_exception(error))).splitlines()
        return self._error(type(error).__name__, str(error), [*lines, REPORT_BUG], cell)

    def _error(self, ename: str, evalue: str, traceback: list[str], cell: Cell | None = None) -> Reply:
        if cell is not None:
            cell.error(ename, evalue, traceback)
        failure = {"ename": ename, "evalue": evalue, "traceback": traceback}
        return {"status": "error", "execution_count": self.execution_count, **failure}

    # -- beside the cells -----------------------------------------------------------------------------------------

    def interrupt(self, at: float | None = None) -> None:
        """Cancel at the agent, or whatever else the cell waits for."""
        self._interrupted = True
        if not self.kernel_session.runner.cancel(at) and self._turn is not None:
            self._turn.cancel()

    async def kernel_info_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """A front end is there. Runs in the control thread, too."""
        await super().kernel_info_request(stream, ident, parent)  # type: ignore[no-untyped-call]
        self.io_loop.asyncio_loop.call_soon_threadsafe(self._warm_start.schedule)

    async def do_complete(self, code: str, cursor_pos: int) -> Reply:
        """Complete as `completion.py` describes."""
        from .completion import complete

        return await complete(code, cursor_pos, self.kernel_session.command_context)

    async def do_inspect(self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()) -> Reply:
        """Inspect as `completion.py` describes; where nothing is written, the card for an agent that is missing."""
        from .completion import inspect

        if not code.strip():
            card = self.kernel_session.missing_agent()
            return {"status": "ok", "found": card is not None, "data": card or {}, "metadata": {}}
        return inspect(code, cursor_pos, self.kernel_session.command_context.situation())

    async def do_is_complete(self, code: str) -> Reply:
        """Ask for more lines only in an open code fence."""
        fences = sum(line.lstrip().startswith("```") for line in code.splitlines())
        return {"status": "incomplete", "indent": ""} if fences % 2 else {"status": "complete"}

    # -- the process ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen for messages, for signals and for the parent's end."""
        super().start()  # type: ignore[no-untyped-call]
        loop = self.io_loop.asyncio_loop
        assert self._notebook.pages is not None
        self._notebook.pages.start(loop)
        lifetime.listen(loop, self.interrupt, self.leave)
        if lifetime.has_parent(os.environ):
            lifetime.watch_parent(PARENT, loop, self.leave)

    def leave(self) -> None:
        """End the agent and this process, without being asked on a channel."""
        lifetime.exit_within(lifetime.EXIT_LIMIT)
        self._leaving = self.io_loop.asyncio_loop.create_task(self.close())
        self._leaving.add_done_callback(lambda _: self.io_loop.stop())

    async def close(self) -> None:
        """End the turn, then the agent, in bounded time."""
        self._warm_start.cancel()
        if self._turn is not None:
            self._turn.cancel()
        await self.kernel_session.runner.close()

    async def do_shutdown(self, restart: bool) -> Reply:
        """Runs in the control thread; the agent lives on the kernel's loop."""
        closing = asyncio.run_coroutine_threadsafe(self.close(), self.io_loop.asyncio_loop)
        await asyncio.wait({asyncio.wrap_future(closing)}, timeout=lifetime.EXIT_LIMIT)
        return {"status": "ok", "restart": restart}
