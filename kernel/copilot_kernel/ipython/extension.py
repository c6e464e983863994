"""`%load_ext copilot_kernel`: the magics and what makes cells of them. Everything else is loaded at first use."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from IPython.core.magic import needs_local_scope, no_var_expand

from .transform import NAME, CopilotLine, rewrite

if TYPE_CHECKING:
    from .door import Door, Ended
    from .turn import Turn

ANSWER = "_copilot"
"""The name of the last answer in the user's namespace."""


class Copilot:
    """What `get_ipython().copilot` is: cells call it in place of our magics. `shell` is IPython's."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._used = False

    @cached_property
    def _door(self) -> Door:
        from .door import Door

        self._used = True
        return Door()

    async def show(self, text: str) -> None:
        """Ask the agent, or run the command, that `text` is, and show in this cell what comes of it.

        Raises CopilotError, and Cancelled, a KeyboardInterrupt.
        """
        await self.answer(text)

    async def answer(self, text: str) -> Turn | None:
        """Like `show`; the answer as a value, None for a command."""
        from .waiting import awaited

        return self._finish(await awaited(self._door, self._shell, *self._expanded(text)))

    def show_blocking(self, text: str) -> None:
        """Like `show`, where nothing can be awaited."""
        self.answer_blocking(text)

    def answer_blocking(self, text: str, names: Mapping[str, Any] | None = None) -> Turn | None:
        """Like `answer`, where nothing can be awaited. `names` are the variables of the caller."""
        from .failing import Cancelled
        from .waiting import blocking

        try:
            ended = blocking(self._door, self._shell, *self._expanded(text, names))
        except KeyboardInterrupt:  # before or after the waiting, which hears it itself
            self._door.interrupt()
            raise Cancelled from None
        return self._finish(ended)

    def transform(self, lines: list[str]) -> list[str]:
        """See `rewrite`. Only a cell that the kernel itself runs may be a coroutine, not one that a magic runs."""
        awaits = _runs_on_asyncio(self._shell) and not self._shell.display_trap.is_active
        return rewrite("".join(lines), awaits).splitlines(keepends=True)

    def close(self) -> None:
        """End the agent, if there is one."""
        if self._used:
            self._door.close()

    def _expanded(self, text: str, names: Mapping[str, Any] | None = None) -> tuple[str, str]:
        from .expand import expand

        return expand(text.strip(), {**self._shell.user_ns, **(names or {})})

    def _finish(self, ended: Ended) -> Turn | None:
        from .door import outcome

        turn, error = outcome(ended)
        if turn is not None:
            self._shell.user_ns[ANSWER] = turn
        if error is not None:
            raise error
        return turn


def _runs_on_asyncio(shell: Any) -> bool:
    """ipykernel's main shell, with the loop runner that it begins with."""
    sockets = hasattr(getattr(shell, "kernel", None), "iopub_socket")
    main = threading.current_thread() is threading.main_thread()
    return sockets and main and shell.autoawait and str(shell.loop_runner) == "asyncio"


def load(shell: Any) -> None:
    """See `copilot_kernel.load_ipython_extension`."""
    copilot = shell.copilot = Copilot(shell)

    @needs_local_scope
    @no_var_expand
    def magic(line: str, cell: str = "", local_ns: Mapping[str, Any] | None = None) -> Turn | None:
        """Ask the agent: `%copilot PROMPT`, or `%%copilot` with the prompt below it. `%copilot %help` says more."""
        return copilot.answer_blocking(f"{line}\n{cell}", local_ns)

    shell.register_magic_function(magic, "line_cell", NAME)
    shell.input_transformer_manager.token_transformers.append(CopilotLine)
    shell.input_transformers_post.append(copilot.transform)
    atexit.register(copilot.close)


def unload(shell: Any) -> None:
    """See `copilot_kernel.unload_ipython_extension`."""
    copilot = shell.copilot
    atexit.unregister(copilot.close)
    copilot.close()
    shell.input_transformers_post.remove(copilot.transform)
    shell.input_transformer_manager.token_transformers.remove(CopilotLine)
    for magics in shell.magics_manager.magics.values():
        magics.pop(NAME, None)
    del shell.copilot
