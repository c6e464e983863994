"""`%load_ext copilot_kernel`: the magics and their input transformers. Everything else is imported at first use."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleMatcherResult, context_matcher
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.magic import needs_local_scope, no_var_expand

from .transform import NAME, CopilotLine, rewrite, values_of

if TYPE_CHECKING:
    from .magic_session import Ended, MagicSession
    from .turn_value import Turn


ANSWER = "_copilot"
"""The name of the last answer in the user's namespace."""
_TURN = f"{__package__}.turn_value.Turn"


class Copilot:
    """The object behind `get_ipython().copilot`, which transformed cells call. `shell` is IPython's."""

    def __init__(self, shell: Any) -> None:
        self._shell, self._used = shell, False
        # The turn that the running cell has shown.
        self._shown: list[Turn] = []
        self.cell_ended(shell.last_execution_result)

    @cached_property
    def _session(self) -> MagicSession:
        from .live_notebook import PythonNotebook
        from .magic_session import MagicSession

        self._used = True
        return MagicSession(PythonNotebook(self._shell), self._shell.starting_dir)

    async def show(self, text: str) -> None:
        """Send the prompt, or run the command, in `text`; show the outcome in this cell.

        Raises CopilotError, or Cancelled (a KeyboardInterrupt).
        """
        await self.answer(text)

    async def answer(self, text: str) -> Turn | None:
        """Like `show`, and return the turn; None for a command."""
        from .waiting import awaited

        return self._finish(await awaited(self._session, self._shell, text, self._values(text)))

    def show_blocking(self, text: str) -> None:
        """Like `show`, where nothing can be awaited."""
        self.answer_blocking(text)

    def answer_blocking(self, text: str, names: Mapping[str, Any] | None = None) -> Turn | None:
        """Like `answer`, where nothing can be awaited. `names` are the variables of the caller."""
        from .magic_session import Cancelled
        from .waiting import blocking

        try:
            values = self._values(text, names)
            ended = blocking(self._session, self._shell, text, values)
        except KeyboardInterrupt:  # before or after the waiting, which hears it itself
            self._session.interrupt()
            raise Cancelled from None
        return self._finish(ended)

    def transform(self, lines: list[str]) -> list[str]:
        """Rewrite a cell. Only one that the kernel itself runs may be a coroutine, not one that a magic runs."""
        is_inner = self._shell.display_trap.is_active
        if not is_inner:
            self._shown = []
        awaits = _runs_on_asyncio(self._shell) and not is_inner
        return rewrite("".join(lines), awaits).splitlines(keepends=True)

    @context_matcher()  # type: ignore[untyped-decorator]
    def complete(self, context: CompletionContext) -> SimpleMatcherResult:
        """Complete mentions; see `completion.py`."""
        from .completion import complete

        return complete(self._shell, context)

    def cell_ended(self, result: Any) -> None:
        """IPython calls this at the end of each cell. Silent requests of front ends do not count."""
        self.last_result, self.last_traceback = result, getattr(self._shell, "_last_traceback", None)

    def close(self) -> None:
        """End the agent, if it was started."""
        if self._used:
            self._session.close()

    def _display(self, turn: Turn) -> None:
        """Keep IPython from showing a turn that the cell has shown; in a terminal, show one line for it."""
        if not any(turn is each for each in self._shown):
            raise NotImplementedError
        if not hasattr(self._shell, "kernel"):
            print(repr(turn))

    def _values(self, text: str, names: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Return the values that the magic's line asks for; what is below it is the body of a cell."""
        return values_of(text.partition("\n")[0], {**self._shell.user_ns, **(names or {})})

    def _finish(self, ended: Ended) -> Turn | None:
        from .magic_session import outcome

        turn, error = outcome(ended, interrupted=self._session.interrupted)
        if turn is not None:
            self._shell.user_ns[ANSWER] = turn
            if not isinstance(self._shell.display_pub, CapturingDisplayPublisher):
                self._shown.append(turn)
        if error is not None:
            raise error
        return turn


def _runs_on_asyncio(shell: Any) -> bool:
    """ipykernel's main shell, with the loop runner that it begins with."""
    sockets = hasattr(getattr(shell, "kernel", None), "iopub_socket")
    main = threading.current_thread() is threading.main_thread()
    return sockets and main and shell.autoawait and str(shell.loop_runner) == "asyncio"


def load(shell: Any) -> None:
    """Load the extension; see `copilot_kernel.load_ipython_extension`."""
    copilot = Copilot(shell)

    @needs_local_scope
    @no_var_expand
    def magic(line: str, cell: str = "", local_ns: Mapping[str, Any] | None = None) -> Turn | None:
        """Ask the agent: `%copilot PROMPT`, or `%%copilot` with the prompt below it. `%copilot %help` says more."""
        return copilot.answer_blocking(f"{line}\n{cell}", local_ns)

    shell.register_magic_function(magic, "line_cell", NAME)
    for hooks, ours in _hooks(shell, copilot):
        hooks.append(ours)
    # By name: nothing is imported.
    shell.display_formatter.ipython_display_formatter.for_type_by_name(*_TURN.rsplit(".", 1), copilot._display)
    shell.events.register("post_run_cell", copilot.cell_ended)
    shell.copilot = copilot
    atexit.register(copilot.close)


def unload(shell: Any) -> None:
    """Unload the extension. However the agent ends, nothing of ours stays in IPython."""
    copilot: Copilot | None = getattr(shell, "copilot", None)
    if copilot is None:
        return  # an earlier unload failed half-way
    if copilot._used:
        copilot._session.begin()  # raises UsageError in code that the agent runs, whose turn would end
    for magics in shell.magics_manager.magics.values():
        magics.pop(NAME, None)
    for hooks, ours in _hooks(shell, copilot):
        with suppress(ValueError):  # the list was replaced
            hooks.remove(ours)
    shell.display_formatter.ipython_display_formatter.pop(_TURN, None)
    shell.events.unregister("post_run_cell", copilot.cell_ended)
    del shell.copilot
    atexit.unregister(copilot.close)
    copilot.close()


def _hooks(shell: Any, copilot: Copilot) -> tuple[tuple[list[Any], Any], ...]:
    """Return IPython's lists of hooks, each with the hook of this extension."""
    return (
        (shell.input_transformer_manager.token_transformers, CopilotLine),
        (shell.input_transformers_post, copilot.transform),
        (shell.Completer.custom_matchers, copilot.complete),
    )
