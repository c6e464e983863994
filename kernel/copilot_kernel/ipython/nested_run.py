"""Run code in the user's namespace while the cell that asked for it still waits, as a cell of its own.

IPython and ipykernel keep much in one place for *the* cell that executes: its number, its request, its result, its
traceback. A run takes these places, and gives them back.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from typing import Any
from uuid import uuid4

from ..notebook.live import KernelBusy, NotebookError, Output, RunResult
from ..output.cell import Request
from ..rendering.plain import whole
from .cell_thread import CellThread, run_through
from .front_end import ParentTracker
from .progress_bars import with_bars
from .run_outputs import END, MARK, RunOutputs
from .runs import AWAITS, RUN_END_SECONDS, ExecutionCounts, Runs, exit_refused, kept

MAX_STREAM_CHARS = 1_000_000
"""Limit of each stream."""


class NotebookRuns(Runs):
    """Runs for a cell in ipykernel. Created on the cell's thread."""

    def __init__(
        self, shell: Any, cell: Request, thread: CellThread, counts: ExecutionCounts, parents: ParentTracker | None
    ):
        super().__init__(shell, thread, counts, NotebookRuns._execute)
        self._kernel, self._cell, self._parents = shell.kernel, cell, parents
        self._context = copy_context()
        self._outputs = RunOutputs()

    async def run(self, code: str, request: Request | None = None, cell_id: str | None = None) -> RunResult:
        """Run `code`, one at a time. `request`: what the outputs belong to; by default the waiting cell.

        Cancelled, it ends the code. Raises NotebookError if the code was not run. Belongs to the agent's loop.
        """
        async with self._one:
            self._mark = mark = uuid4().hex
            ended = await self._outputs.begin(mark)
            try:
                count, ok = await self._on_thread(lambda: self._run(code, request, mark, cell_id))
                outputs = await asyncio.wait_for(ended, RUN_END_SECONDS)
            except TimeoutError:
                raise NotebookError("The code ran, but its output could not be read.") from None
            finally:
                ended.cancel()
        return RunResult(count, ok, with_bars(outputs))

    async def close(self) -> None:
        """End what runs, and stop listening to outputs."""
        await super().close()
        await self._outputs.close()

    # -- on the cell's thread -----------------------------------------------------------------------------------------

    async def _run(self, code: str, request: Request | None, mark: str, cell_id: str | None) -> tuple[int | None, bool]:
        """The number of the run, and whether it succeeded."""
        if self.active:
            raise KernelBusy("Other code is still running.")
        own = request or self._cell
        # Comms made in the run would be answered in the subshell of its request, which the page may delete.
        header = {**own.parent["header"], "subshell_id": None, MARK: mark}
        inner = Request(own.ident, {**own.parent, "header": header})
        with self._places(is_cell=request is not None), self._counts.next() as number:
            if request is not None:
                self._kernel._publish_status("busy", "shell", inner.parent)
                self._kernel._publish_execute_input(code, inner.parent, number)
            try:
                result = await self._interruptible(mark, self._execute(mark, code, inner, cell_id))
            finally:
                self._end(inner, is_cell=request is not None)
        return (number, bool(result.success)) if result is not None else (None, False)

    async def _interruptible(self, run: str, execution: Coroutine[Any, Any, Any]) -> Any:
        """The result of the execution, in a context of its own; None if it was interrupted in code of IPython's."""
        context = copy_context()
        try:
            if not self._thread.awaits:
                with self._interrupts.handled(run, lambda: None):
                    return context.run(run_through, execution)
            loop = asyncio.get_running_loop()
            task = loop.create_task(self._caught(execution), context=context)
            with self._interrupts.handled(run, lambda: loop.call_soon_threadsafe(task.cancel)):
                try:
                    await asyncio.wait({task})
                except asyncio.CancelledError:
                    task.cancel()
                    await asyncio.wait({task})
                    raise
            return None if task.cancelled() else task.result()
        except KeyboardInterrupt:
            return None

    async def _caught(self, execution: Coroutine[Any, Any, Any]) -> Any:
        """KeyboardInterrupt would leave the event loop."""
        try:
            return await execution
        except KeyboardInterrupt:
            return None

    async def _execute(self, run: str, code: str, request: Request, cell_id: str | None) -> Any:
        """Execute code as ipykernel does for a cell."""
        self._interrupts.check(run)
        shell = self._shell
        self._kernel.set_parent(request.ident, request.parent, "shell")
        try:
            transformed, failure = shell.transform_cell(code), None
        except Exception:
            transformed, failure = code, sys.exc_info()
        if not self._thread.awaits and shell.should_run_async(code, transformed_cell=transformed):
            raise NotebookError(AWAITS)
        options = {"transformed_cell": transformed, "preprocessing_exc_tuple": failure, "cell_id": cell_id}
        result = None
        try:
            result = await shell.run_cell_async(code, store_history=True, **options)
        finally:
            shell.events.trigger("post_execute")  # shows figures
            shell.events.trigger("post_run_cell", result)
        return result

    @contextmanager
    def _places(self, *, is_cell: bool) -> Iterator[None]:
        """Restore afterwards what the run overwrites of the waiting cell."""
        shell = self._shell
        with ExitStack() as stack:
            # Threads, and messages without a context of their own, fall back on the parent that was set last.
            stack.callback(
                self._context.copy().run, self._kernel.set_parent, self._cell.ident, self._cell.parent, "shell"
            )
            if self._parents is not None:
                stack.enter_context(kept(self._parents, "cell"))
            stack.enter_context(kept(shell.displayhook, "exec_result"))
            stack.enter_context(kept(shell, "_last_traceback_during_displayhook"))
            stack.enter_context(kept(shell.payload_manager, "_payload"))
            shell.payload_manager._payload = []
            stack.enter_context(self._cancel_shown_as_interrupt())
            stack.enter_context(_tracebacks_sendable(shell))
            stack.enter_context(exit_refused(shell))
            if not is_cell:
                # `clear_output` would clear the agent's answer, in the same cell.
                stack.enter_context(kept(shell.display_pub, "clear_output"))
                shell.display_pub.clear_output = lambda wait=False: None
            stack.enter_context(kept(self, "active"))
            self.active = True
            yield

    @contextmanager
    def _cancel_shown_as_interrupt(self) -> Iterator[None]:
        """An awaiting run that is interrupted looks like one that computes."""
        shell = self._shell

        def show(shell: Any, kind: Any, error: Any, traceback: Any, tb_offset: Any = None) -> None:
            if self._interrupts.interrupted:
                kind, error = KeyboardInterrupt, KeyboardInterrupt()
            shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)

        with kept(shell, "custom_exceptions"), kept(shell, "CustomTB"):
            if not shell.custom_exceptions:
                shell.set_custom_exc((asyncio.CancelledError,), show)
            yield

    def _end(self, request: Request, *, is_cell: bool) -> None:
        """Mark the last message: the page's cell is idle now; the waiting one, and with it the kernel, is not."""
        sys.stdout.flush()
        sys.stderr.flush()
        kernel, state = self._kernel, {"execution_state": "idle" if is_cell else "busy"}
        topic = kernel._topic("status")
        kernel.session.send(kernel.iopub_socket, "status", state, request.parent, topic, metadata={END: True})
        if is_cell:
            self._kernel._publish_status("busy", "shell", self._cell.parent)


@contextmanager
def _tracebacks_sendable(shell: Any) -> Iterator[None]:
    """Half a character in an error's text cannot be sent: ipykernel would raise inside of our run."""
    with kept(shell, "_showtraceback"):
        show = shell._showtraceback
        shell._showtraceback = lambda kind, error, lines: show(kind, whole(str(error)), [*map(whole, lines)])
        yield


# -- where IPython prints or captures what is shown: in a terminal, under `%%capture`, in another kernel --------------


class TerminalRuns(Runs):
    """Runs for a cell that blocks its thread. What the code shows is shown at its end."""

    def __init__(self, shell: Any, thread: CellThread, counts: ExecutionCounts) -> None:
        super().__init__(shell, thread, counts, TerminalRuns._execute)

    async def run(self, code: str, request: Request | None = None, cell_id: str | None = None) -> RunResult:
        """Run code as `NotebookRuns.run` does. There are no pages, and no requests of theirs."""
        async with self._one:
            self._mark = mark = uuid4().hex
            return await self._on_thread(lambda: self._run(mark, code))

    async def _run(self, mark: str, code: str) -> RunResult:
        from IPython.utils.capture import capture_output

        shell = self._shell
        if shell.should_run_async(code, transformed_cell=shell.transform_cell(code)):
            raise NotebookError(AWAITS)
        result, captured = None, None
        try:
            with (
                kept(self, "active"),
                self._counts.next() as number,
                kept(shell.displayhook, "exec_result"),
                exit_refused(shell),
                capture_output() as captured,
            ):
                self.active = True
                result = self._interruptible(mark, code)
        finally:
            if captured is not None:
                captured.show()  # type: ignore[no-untyped-call]
        return RunResult(number, result is not None and bool(result.success), tuple(_outputs(captured, result)))

    def _interruptible(self, mark: str, code: str) -> Any:
        try:
            with self._interrupts.handled(mark, lambda: None):
                return self._execute(mark, code)
        except KeyboardInterrupt:
            return None

    def _execute(self, mark: str, code: str) -> Any:
        self._interrupts.check(mark)
        return self._shell.run_cell(code, store_history=True)


def _outputs(captured: Any, result: Any) -> list[Output]:
    """A traceback is part of what was printed."""
    streams = (("stdout", captured.stdout), ("stderr", captured.stderr))
    outputs: list[Output] = [
        {"output_type": "stream", "name": name, "text": text[-MAX_STREAM_CHARS:]} for name, text in streams if text
    ]
    outputs += [
        {"output_type": "display_data", "data": each.data, "metadata": each.metadata or {}} for each in captured.outputs
    ]
    error = None if result is None else result.error_before_exec or result.error_in_exec
    if error is not None:
        outputs.append({"output_type": "error", "ename": type(error).__name__, "evalue": "", "traceback": []})
    return outputs
