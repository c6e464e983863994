"""A form with one input for each thing that is asked for, and two buttons, Submit and Decline.

Texts in, what was entered out. It leaves to others what the form is about and whether what was entered will do.
"""

from __future__ import annotations

import html
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ipywidgets import (  # type: ignore[attr-defined]
    HTML,
    Button,
    Checkbox,
    Dropdown,
    HBox,
    Layout,
    SelectMultiple,
    Text,
    VBox,
    Widget,
)

from .button import shortened
from .card_style import CLASS, STYLE
from .parts import close
from .permission import WIDGET_VIEW
from .picker import unlike
from .probe import probe

Entered = str | bool | tuple[int, ...]
"""A text, whether a box is ticked, or which of the choices are taken, by place."""

MOST_ROWS = 8
_NONE = -1
_BESIDE_LABEL = "0 0 0 calc(8em + 8px)"
_CLASS = "copilot-form"
_STYLE = f"""<style>
.{_CLASS} .widget-html-content {{ white-space: normal }}
.{_CLASS} .widget-html {{ margin-top: 0; margin-bottom: 0 }}
.{_CLASS} .widget-label {{ width: auto; min-width: 8em; height: auto; white-space: normal; overflow-wrap: anywhere }}
.{_CLASS} :focus-visible {{ outline: 2px solid currentcolor; outline-offset: 2px }}
.{_CLASS}.jupyter-widgets-disconnected > * {{ display: none }}
</style>"""
"""Nothing of a label is cut off, whoever uses the keyboard sees where it is, and what lost its kernel takes no words.

The rest is as with other questions.
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Input:
    """One thing to enter: a `text` (numbers too, since a box for numbers cannot be empty), a box to `tick`, `one` or
    `many` of the `choices`. `value` is what stands there at first, `empty` the choice that is none.
    """

    kind: Literal["text", "tick", "one", "many"]
    label: str
    hint: str = ""
    choices: Sequence[str] = ()
    value: Entered = ""
    empty: str = "(choose)"


class Form:
    """Labels, hints and choices are text, whatever they hold; what the form is about stands elsewhere.

    `on_submit` gets what was entered, in the order of the inputs, for every click on the first button; `on_decline` is
    called for the other. Both on the thread that handles comm messages; what they raise is logged.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        on_submit: Callable[[list[Entered]], None],
        on_decline: Callable[[], None],
    ) -> None:
        self._on_submit, self._on_decline = on_submit, on_decline
        self._inputs = [_widget(each) for each in inputs]
        self._hints = [HTML(_hint(each.hint), layout=_below(each)) for each in inputs]
        self._complaints = [HTML("", layout=_below(each)) for each in inputs]
        self._buttons = [self._button("Submit", "primary", self._submit), self._button("Decline", "", self._on_decline)]
        self._box = self._boxed()

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle that shows it where there are widgets; add what is shown elsewhere."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id}
        return {WIDGET_VIEW: view}

    def complain(self, complaints: Sequence[str]) -> None:
        """What is wrong with each input, in their order; an empty text takes back what was said before."""
        for shown, complaint in zip(self._complaints, complaints, strict=True):
            shown.value = f'<b role="alert">⚠ {html.escape(complaint)}</b>' if complaint else ""

    def probe(self, on_drawn: Callable[[], None]) -> None:
        """See `probe.py`."""
        probe(self._box, on_drawn)

    def close(self) -> None:
        """Take it out of the front end. Clicks that are on their way find nobody; closing twice is closing once."""
        close(self._box)

    def _boxed(self) -> VBox:
        inset, flush = "2px 0 6px 11px", Layout(width="auto", max_width="100%", margin="0")
        groups = zip(self._inputs, self._hints, self._complaints, strict=True)
        rows = [VBox(group, layout=Layout(margin=inset)) for group in groups]
        buttons = HBox(self._buttons, layout=Layout(flex_flow="row wrap", margin=inset))
        box = VBox([HTML(STYLE + _STYLE, layout=flush), *rows, buttons], layout=flush)
        box.add_class(CLASS)
        box.add_class(_CLASS)
        return box

    def _button(self, name: str, style: str, act: Callable[[], None]) -> Button:
        button = Button(description=name, button_style=style)
        button.on_click(lambda _: self._do(name, act))
        return button

    def _submit(self) -> None:
        self._on_submit([_entered(each) for each in self._inputs])

    def _do(self, name: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception:
            _log.exception("a click on %s was lost", name)


def _widget(each: Input) -> Widget:
    whole = " ".join(each.label.split())
    common = {
        "description": shortened(whole),
        "tooltip": whole,
        "style": {"description_width": "initial"},
        "layout": Layout(width="auto", max_width="40em"),
    }
    pairs = [(choice, place) for place, choice in enumerate(unlike(each.choices))]
    places = each.value if isinstance(each.value, tuple) else ()
    match each.kind:
        case "tick":
            return Checkbox(value=bool(each.value), indent=False, **common)
        case "one":
            return Dropdown(options=[(each.empty, _NONE), *pairs], value=next(iter(places), _NONE), **common)
        case "many":
            return SelectMultiple(options=pairs, value=places, rows=min(MOST_ROWS, len(pairs)), **common)
    return Text(value=str(each.value), **common)


def _entered(widget: Widget) -> Entered:
    """A dropdown with nothing chosen is like a list with nothing chosen."""
    if isinstance(widget, Dropdown):
        return () if widget.value == _NONE else (widget.value,)
    value: Entered = widget.value
    return value


def _below(each: Input) -> Layout:
    return Layout(margin="0" if each.kind == "tick" else _BESIDE_LABEL)


def _hint(text: str) -> str:
    return f'<span style="opacity:0.75">{html.escape(text)}</span>' if text else ""
