"""A question with one button for each answer; closing it takes every model of it out of the front end.

Texts in, the number of the button out, or what was entered. It leaves to others what the question is about, whether a
click still counts, and what stands in its place afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ipywidgets import HTML, Button, HBox, Layout, VBox  # type: ignore[attr-defined]

from .button import Choice, button
from .card_style import CLASS, STYLE
from .entry import Editor, Entry
from .parts import close
from .probe import probe

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

_log = logging.getLogger(__name__)


def _nothing() -> None:
    """Nobody wants to know."""


class PermissionQuestion:
    """What is asked stands elsewhere. Names and hints are text, whatever they hold.

    `on_choice(number)` is called for every click, on the thread that handles comm messages; what it raises is logged.
    Guarded answers are held until `release`: their buttons are disabled, and clicks on them are nothing. `on_move` is
    called when other buttons came to stand where some were.
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        on_choice: Callable[[int], None],
        entries: Sequence[Entry] = (),
        on_move: Callable[[], None] = _nothing,
    ) -> None:
        self._on_choice, self._on_move = on_choice, on_move
        self._held = True
        self._answers = [(choice, self._button(number, choice)) for number, choice in enumerate(choices)]
        self._entries = [
            (self._editor(number, entry), self._opener(number, entry)) for number, entry in enumerate(entries)
        ]
        self._rows = list(self._made_rows())
        flush = Layout(width="auto", max_width="100%", margin="0")
        self._box = VBox(
            [HTML(STYLE, layout=flush), *self._rows, *(editor.box for editor, _ in self._entries)], layout=flush
        )
        self._box.add_class(CLASS)

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle that shows it where there are widgets; add what is shown elsewhere."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id}
        return {WIDGET_VIEW: view}

    def hold(self) -> None:
        """From now on no click on a guarded answer counts."""
        self._set_held(True)

    def release(self) -> None:
        """From now on they count."""
        self._set_held(False)

    def probe(self, on_drawn: Callable[[], None]) -> None:
        """See `probe.py`."""
        probe(self._box, on_drawn)

    def close(self) -> None:
        """Take it out of the front end. Clicks that are on their way find nobody; closing twice is closing once."""
        close(self._box)

    def _set_held(self, held: bool) -> None:
        self._held = held
        for each in self._guarded():
            each.disabled = held

    def _guarded(self) -> Iterable[Button]:
        yield from (each for choice, each in self._answers if choice.guarded)
        for editor, _ in self._entries:
            yield from editor.guarded

    def _made_rows(self) -> Iterable[HBox]:
        """The answers, and below them what stands back."""
        first = [each for choice, each in self._answers if not choice.quiet]
        second = [*(each for choice, each in self._answers if choice.quiet), *(opener for _, opener in self._entries)]
        for row, margin in ((first, "4px 0 2px 9px"), (second, "0 0 6px 9px")):
            if row:
                yield HBox(row, layout=Layout(flex_flow="row wrap", margin=margin))

    def _button(self, number: int, choice: Choice) -> Button:
        return button(choice, lambda: self._do(choice, lambda: self._on_choice(number), f"answer {number}"))

    def _opener(self, number: int, entry: Entry) -> Button:
        return button(entry.opens, lambda: self._do(entry.opens, lambda: self._open(number), "opening an entry"))

    def _editor(self, number: int, entry: Entry) -> Editor:
        def submit() -> None:
            self._do(entry.submit, lambda: self._entries[number][0].take(), "an entry")

        return Editor(entry, submit, lambda: self._do(entry.opens, lambda: self._back(number), "back"))

    def _open(self, number: int) -> None:
        self._show_rows(False)
        self._entries[number][0].open()
        self._on_move()

    def _back(self, number: int) -> None:
        editor, opener = self._entries[number]
        editor.close()
        self._show_rows(True)
        opener.focus()
        self._on_move()

    def _show_rows(self, shown: bool) -> None:
        for row in self._rows:
            row.layout.display = None if shown else "none"

    def _do(self, choice: Choice, act: Callable[[], None], name: str) -> None:
        if choice.guarded and self._held:
            return
        try:
            act()
        except Exception:
            _log.exception("a click on %s was lost", name)
