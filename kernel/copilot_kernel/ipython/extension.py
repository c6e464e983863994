"""`%load_ext copilot_kernel`: the magics and what makes cells of them. Everything else is loaded at first use."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from IPython.core.magic import needs_local_scope, no_var_expand

from .shown import Shown
from .transform import CALLED, NAME, CopilotLine, asks_ipython, rewrite

if TYPE_CHECKING:
    from ..chat import Handover
    from .door import Ended, MagicSession
    from .turn import Turn

ANSWER = "_copilot"
"""The name of the last answer in the user's namespace."""

HELP = (
    "The cell that loads the extension is read before that: a prompt in it that ends with a question mark has gone to "
    "IPython's help, not to the agent. Run it in the next cell.\n"
)
BLOCKS = (
    "The cell that loads the extension is read before that: a prompt in it blocks the kernel, and a question is a line "
    "of input. Buttons work from the next cell on.\n"
)

_left: WeakKeyDictionary[Any, Handover] = WeakKeyDictionary()
"""For each shell that the extension was unloaded from, where its conversation was left."""


class Copilot:
    """What `get_ipython().copilot` is: cells call it in place of our magics. `shell` is IPython's.

    `before` is where the conversation was left that this one goes on with.
    """

    def __init__(self, shell: Any, before: Handover | None = None) -> None:
        self._shell, self._before = shell, before
        self._used = False
        self._shown = Shown(shell)
        running = _running(shell)
        self._is_new = running is not None and CALLED not in running[1]
        """The cell runs that has loaded the extension, and was not transformed here."""

    @cached_property
    def _door(self) -> MagicSession:
        from .door import MagicSession

        self._used = True
        return MagicSession(self._before)

    @property
    def left(self) -> Handover | None:
        """What a later one may go on with."""
        return self._door.kernel_session.left if self._used else self._before

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
            ended = blocking(self._door, self._shell, *self._expanded(text, names), self._why_blocking())
        except KeyboardInterrupt:  # before or after the waiting, which hears it itself
            self._door.interrupt()
            raise Cancelled from None
        return self._finish(ended)

    def transform(self, lines: list[str]) -> list[str]:
        """See `rewrite`. Only a cell that the kernel itself runs may be a coroutine, not one that a magic runs."""
        is_inner = self._shell.display_trap.is_active
        if not is_inner:
            self._is_new = False
            self._shown.clear()
        awaits = _runs_on_asyncio(self._shell) and not is_inner
        return rewrite("".join(lines), awaits).splitlines(keepends=True)

    def begin(self) -> None:
        """Be there for IPython: `shell.copilot`, and how an answer is shown as a value."""
        self._shell.copilot = self
        self._shown.watch()
        running = _running(self._shell)
        if self._is_new and running is not None and asks_ipython(*running):
            print(HELP, end="", file=sys.stderr)

    def close(self) -> None:
        """End the agent, if there is one."""
        if self._used:
            self._door.close()

    def end(self) -> None:
        """The opposite of `begin`."""
        self._shown.leave()
        del self._shell.copilot

    def _why_blocking(self) -> str:
        """Once, in the cell in which it could be thought that nothing blocks."""
        is_new, self._is_new = self._is_new, False
        return BLOCKS if is_new and _runs_on_asyncio(self._shell) else ""

    def _expanded(self, text: str, names: Mapping[str, Any] | None = None) -> tuple[str, str]:
        from .expand import expand

        return expand(text.strip(), {**self._shell.user_ns, **(names or {})})

    def _finish(self, ended: Ended) -> Turn | None:
        from .door import outcome

        turn, error = outcome(ended, interrupted=self._door.interrupted)
        if turn is not None:
            self._shell.user_ns[ANSWER] = turn
            self._shown.add(turn)
        if error is not None:
            raise error
        return turn


def _runs_on_asyncio(shell: Any) -> bool:
    """ipykernel's main shell, with the loop runner that it begins with."""
    sockets = hasattr(getattr(shell, "kernel", None), "iopub_socket")
    main = threading.current_thread() is threading.main_thread()
    return sockets and main and shell.autoawait and str(shell.loop_runner) == "asyncio"


def _running(shell: Any) -> tuple[str, str] | None:
    """The cell that runs, as it was typed and as it was transformed; None where IPython keeps no history of it."""
    history = shell.history_manager
    if not (shell.display_trap.is_active and _keeps_history(shell)):
        return None
    return history.input_hist_raw[-1], history.input_hist_parsed[-1]


def _keeps_history(shell: Any) -> bool:
    """Of the cell that runs: only ipykernel's clients can ask for none (the message `execute_request`)."""
    asked = shell.get_parent().get("content", {}) if hasattr(shell, "get_parent") else {}
    return bool(asked.get("store_history", True)) and not asked.get("silent", False)


def load(shell: Any) -> None:
    """See `copilot_kernel.load_ipython_extension`."""
    copilot = Copilot(shell, _left.pop(shell, None))

    @needs_local_scope
    @no_var_expand
    def magic(line: str, cell: str = "", local_ns: Mapping[str, Any] | None = None) -> Turn | None:
        """Ask the agent: `%copilot PROMPT`, or `%%copilot` with the prompt below it. `%copilot %help` says more."""
        return copilot.answer_blocking(f"{line}\n{cell}", local_ns)

    shell.register_magic_function(magic, "line_cell", NAME)
    shell.input_transformer_manager.token_transformers.append(CopilotLine)
    shell.input_transformers_post.append(copilot.transform)
    atexit.register(copilot.close)
    copilot.begin()


def unload(shell: Any) -> None:
    """See `copilot_kernel.unload_ipython_extension`. However the agent's end goes, nothing of ours stays in IPython."""
    copilot: Copilot | None = getattr(shell, "copilot", None)
    if copilot is None:
        return  # it was unloaded before, and that failed
    _unhook(shell, copilot)
    try:
        copilot.close()
        atexit.unregister(copilot.close)
    finally:
        if (left := copilot.left) is not None:
            _left[shell] = left


def _unhook(shell: Any, copilot: Copilot) -> None:
    hooked = (
        (shell.input_transformers_post, copilot.transform),
        (shell.input_transformer_manager.token_transformers, CopilotLine),
    )
    for transformers, ours in hooked:
        with suppress(ValueError):  # somebody has made the list anew
            transformers.remove(ours)
    for magics in shell.magics_manager.magics.values():
        magics.pop(NAME, None)
    copilot.end()
