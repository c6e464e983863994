"""The numbers of the runs within a cell."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any


class ExecutionCounts:
    """Runs are numbered after the cell that waits, and the next cell after them.

    IPython counts one up when a cell begins, and ipykernel's reply takes the count at its end.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._next = 0
        """The number that is free after the runs of this cell; 0: there were none."""

    @contextmanager
    def next(self) -> Iterator[int]:
        """Inside, IPython's count is the next free number; afterwards it is the waiting cell's again."""
        shell = self._shell
        if not self._next:
            shell.events.register("post_run_cell", self._leave)
        own, shell.execution_count = shell.execution_count, max(self._next, shell.execution_count)
        try:
            yield shell.execution_count
        finally:
            self._next = max(self._next, shell.execution_count)
            shell.execution_count = own

    def _leave(self, result: Any = None) -> None:
        """The waiting cell has ended: after its reply, which is made without an await, the next number is the runs'."""
        shell = self._shell
        if shell.display_trap.is_active:
            return  # that was a run, or another cell within the cell
        shell.events.unregister("post_run_cell", self._leave)
        free, self._next = self._next, 0
        advance = partial(setattr, shell, "execution_count", free)
        with suppress(RuntimeError):
            asyncio.get_running_loop().call_soon(advance)
            return
        advance()
