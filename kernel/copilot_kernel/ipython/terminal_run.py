"""Run code where IPython prints or captures what it shows: in a terminal, under `%%capture`, in another kernel."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from ..frontend.cell import Request
from ..notebook.live import NotebookError, Output, RunResult
from .cell_thread import CellThread
from .runs import AWAITS, ExecutionCounts, Runs, exit_refused, kept

MAX_STREAM_CHARS = 1_000_000
"""Limit of each stream."""


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
        self.active = True
        result, captured = None, None
        try:
            with (
                self._counts.next() as number,
                kept(shell.displayhook, "exec_result"),
                exit_refused(shell),
                capture_output() as captured,
            ):
                result = self._interruptible(mark, code)
        finally:
            self.active = False
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
