"""Output of a command: a notebook cell, a terminal, or a chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import UsageError
from ..rendering.markup import Bundle
from ..rendering.report import CELL, Report, Wording, render_done, render_report

if TYPE_CHECKING:
    from copilot_widgets.field import PickerField

    from ..chat import Chat, TurnOutcome, View
    from .command_context import CommandContext

Apply = Callable[[int, int], Awaitable[str]]
"""Does what was chosen, of which field, and returns a line that says what was done; empty if nothing changed."""

UNCHANGED = "Nothing changed."
WIDENS = "{}, and nobody is here to allow that."
WIDEN_HINT = "Cells can only restrict the agent further. To allow more, change your settings (copilot_kernel.json)."
DECLINED = "{}: you did not allow it."


@dataclass(frozen=True, slots=True)
class Menu:
    """Choices: `command` shows them again, `static` is shown where there are no widgets.

    `subject` gives the agent or session that it is about: when that is another object, the choices are out of date.
    """

    command: str
    fields: tuple[PickerField, ...]
    static: Report
    subject: Callable[[], object]


class CommandOutput(Protocol):
    """Output of a command. Subclasses inherit what suits an output where nothing can be asked."""

    live: bool
    """A user is watching: show also what differs from run to run."""
    wording: Wording = CELL

    def display(self, data: Bundle, /) -> None:
        """Show a MIME bundle."""

    def show(self, report: Report) -> None:
        """Show a report."""
        self.display(render_report(report, self.wording))

    async def confirm(self, widening: str, allow: str) -> None:
        """Ask whether a command may let the agent do more; `allow` names the answer that says so.

        Raises UsageError if the answer is no, or nobody can be asked.
        """
        raise UsageError(WIDENS.format(widening), WIDEN_HINT)

    async def choose(self, menu: Menu, apply: Apply) -> None:
        """Show `menu.static`, or a picker that stays when the command has ended and applies what is chosen later."""
        self.show(menu.static)

    async def replay(self, folder: str, resume: Callable[[View], Awaitable[TurnOutcome]]) -> TurnOutcome:
        """Show the earlier conversation that `resume` gives to a view; paths in `folder` are shown relative to it."""
        raise UsageError("An earlier conversation cannot be shown here.")


def show_done(output: CommandOutput, line: str) -> None:
    """Show one line that says what was done."""
    output.display(render_done(line, output.wording))


def doing(
    work: Callable[[Chat, str], Coroutine[Any, Any, Any]], done: str
) -> Callable[[CommandContext, CommandOutput, str], Coroutine[Any, Any, None]]:
    """A command that does `work` with the chat and what was typed after its name, and then shows the line `done`."""

    async def run(context: CommandContext, output: CommandOutput, rest: str) -> None:
        await context.chat_runner.do(lambda chat: work(chat, rest))
        show_done(output, done)

    return run
