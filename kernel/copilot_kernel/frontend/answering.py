"""Wait for the answer to a question in a cell: a click, a line of input, or neither when no client shows it any more.

JupyterLab drops the outputs of a running cell when its page is reloaded and the notebook was not saved: the kernel
then waits for an answer to a question that is not shown. Kernels do not learn when a client goes, but when one
connects. Then this adds a widget to the question: every client that draws it reports a view (`_view_count`). If none
does within `GRACE_SECONDS`, the question is cancelled, unless the notebook was saved with it: JupyterLab does not draw
the end of a long notebook before the user scrolls there.

VS Code handles no message while it asks for a line of input. So it is asked only where no button has appeared.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from ..rendering.question import NO_BUTTONS
from . import vs_code
from .cell import Bundle, Cell
from .slots import OpenQuestion

if TYPE_CHECKING:
    from copilot_widgets.base import Interactive

T = TypeVar("T")

Show = Callable[[OpenQuestion], None]
"""Puts a question into the cell; called once."""

GRACE_SECONDS = 150.0
"""Longer than JupyterLab waits before it saves a notebook by itself (120 s), and than a slow page takes to load."""
ACTIVITY_SECONDS = 60.0
"""Between two signs of activity. Cullers look for minutes without a message from the kernel."""
MAX_ATTEMPTS = 10
"""Lines of input that answer nothing, before the question counts as not answered."""

NOBODY = "no one can answer here"
UNSEEN = "no open page showed this question"

_log = logging.getLogger(__name__)


class AnswerWidgets(Generic[T]):
    """Widgets that belong to `cell`, and the `answer` that the first click gives; later clicks are ignored.

    `make` gets the function that settles the answer, which may be called on any thread.
    """

    def __init__(self, cell: Cell, make: Callable[[Callable[[T], None]], Interactive]) -> None:
        self._cell, self._loop = cell, asyncio.get_running_loop()
        self.answer: asyncio.Future[T] = self._loop.create_future()
        with cell.owning():
            self.widget = make(self.settle)

    def settle(self, answer: T) -> None:
        """Give the answer, unless there is one. May be called on any thread."""
        self._loop.call_soon_threadsafe(lambda: None if self.answer.done() else self.answer.set_result(answer))

    def opened(self) -> None:
        """They have just appeared in the cell."""

    def shifted(self) -> None:
        """Something above them is about to become higher or lower."""

    def in_box(self, asked: Bundle) -> Bundle:
        """What shows them in one box with what is `asked`."""
        with self._cell.owning():
            self.widget.say(str(asked["text/html"]))
        return {**asked, **self.widget.bundle()}

    def close(self) -> None:
        """Take them out of the cell."""
        with self._cell.owning():
            self.widget.close()


async def _nowhere() -> None:
    """There is no other way to answer."""


async def answer_in_cell(
    cell: Cell,
    show: Show,
    *,
    static: Bundle,
    make_widgets: Callable[[], AnswerWidgets[T]],
    typed: Callable[[], Awaitable[T | None]],
    elsewhere: Callable[[], Awaitable[T | None]] = _nowhere,
    unseen: T,
    undecided: T,
) -> T:
    """Show a question and wait for its answer, clicked or, unless the front end has shown its widgets, `typed`.

    `elsewhere` may answer, too; None if nothing else can.

    `unseen` is the answer if no client shows the question any more. `typed` returns None at the end of input: the
    widgets can still answer then; where there are none, the answer is `undecided`.
    """
    await cell.widgets_known()
    is_vs_code, shown = vs_code.is_cell(cell.cell_id), asyncio.Event()
    is_undrawn = is_vs_code and cell.clients.undrawn
    widgets = _make(make_widgets) if cell.widgets and not is_undrawn else None

    async def typed_once() -> T | None:
        if is_vs_code:
            await shown.wait()
            if widgets is not None and await _is_drawn(cell, widgets.widget, vs_code.DRAW_SECONDS):
                return None
            cell.clients.undrawn |= widgets is not None
        answer = await typed()
        return undecided if answer is None else answer

    if widgets is None:
        show(OpenQuestion(static, shown=shown.set))
        return await first(typed_once(), elsewhere())
    if is_vs_code:
        show(OpenQuestion(widgets.in_box(static), widgets.close, shifted=widgets.shifted, shown=shown.set))
    else:
        buttons = {**widgets.widget.bundle(), "text/plain": NO_BUTTONS}
        show(OpenQuestion(static, widgets.close, buttons, widgets.shifted))
    widgets.opened()
    ways: list[Awaitable[T | None]] = [widgets.answer, _unseen(cell, widgets.widget, unseen), elsewhere()]
    if is_vs_code:
        ways.append(typed_once())
    elif not cell.widgets_seen:
        ways.append(typed())
    return await first(*ways)


def _make(make_widgets: Callable[[], AnswerWidgets[T]]) -> AnswerWidgets[T] | None:
    """None where ipywidgets does not work."""
    try:
        return make_widgets()
    except Exception:
        _log.exception("widgets failed; the question is asked as text")
        return None


async def first(*ways: Awaitable[T | None]) -> T:
    """The first answer that is not None, which one of them gives; the other ways are cancelled."""
    import anyio

    answers: list[T] = []

    async def go(way: Awaitable[T | None], rivals: anyio.CancelScope) -> None:
        answer = await way
        if answer is not None and not answers:
            answers.append(answer)
            rivals.cancel()

    async with anyio.create_task_group() as tasks:
        for way in ways:
            tasks.start_soon(go, way, tasks.cancel_scope)
    return answers[0]


@contextmanager
def kept_active(cell: Cell, loop: asyncio.AbstractEventLoop, seconds: float) -> Iterator[None]:
    """For at most so many seconds, keep the kernel active in Jupyter's eyes, so that no culler ends it meanwhile."""
    end = loop.time() + seconds
    timer: asyncio.TimerHandle

    def beat() -> None:
        nonlocal timer
        if loop.time() < end:
            cell.busy()
            timer = loop.call_at(loop.time() + ACTIVITY_SECONDS, beat)

    timer = loop.call_at(loop.time() + ACTIVITY_SECONDS, beat)
    try:
        yield
    finally:
        timer.cancel()


async def _unseen(cell: Cell, widget: Interactive, result: T) -> T:
    """Return `result` when a client has connected since the cell began and none shows the question any more.

    A client that connects during the grace time gets one of its own.
    """
    known = cell.others_before
    while True:
        known = await cell.clients.another(cell.session, known)
        if await _is_drawn(cell, widget, GRACE_SECONDS) or await asyncio.to_thread(_is_saved, widget):
            continue
        if cell.clients.others(cell.session) == known:
            return result


def _is_saved(widget: Interactive) -> bool:
    """The notebook on disk shows it. Unknown where the notebook is on another machine."""
    from copilot_widgets.base import WIDGET_VIEW

    from .. import config

    model_id = str(widget.bundle()[WIDGET_VIEW]["model_id"])
    try:
        return model_id.encode() in Path(config.notebook()).read_bytes()
    except OSError:
        return False


async def _is_drawn(cell: Cell, widget: Interactive, seconds: float) -> bool:
    loop, drawn = asyncio.get_running_loop(), asyncio.Event()

    def on_drawn() -> None:
        loop.call_soon_threadsafe(drawn.set)

    with cell.owning():
        widget.probe(on_drawn)
    try:
        async with asyncio.timeout(seconds):
            await drawn.wait()
    except TimeoutError:
        return False
    return True
