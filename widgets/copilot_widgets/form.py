"""A form with one input for each field, and two buttons, Submit and Decline.

Plain text in, what was entered out. What the form is about, and whether the input is valid, is the caller's business.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

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

from .base import CLASS, STYLE, Interactive, log_errors, shortened
from .field import Entered, FormInput
from .picker import distinct

MAX_ROWS = 8
_NONE = -1
_BESIDE_LABEL = "0 0 0 calc(8em + 8px)"
_CLASS = "copilot-form"
# Labels are never cut off, the keyboard focus is visible, and inputs without a kernel disappear. The rest is as with
# other questions.
_STYLE = f"""<style>
.{_CLASS} .widget-html-content {{ white-space: normal }}
.{_CLASS} .widget-html {{ margin-top: 0; margin-bottom: 0 }}
.{_CLASS} .widget-label {{ width: auto; min-width: 8em; height: auto; white-space: normal; overflow-wrap: anywhere }}
.{_CLASS} :focus-visible {{ outline: 2px solid currentcolor; outline-offset: 2px }}
.{_CLASS}.jupyter-widgets-disconnected > * {{ display: none }}
</style>"""


class FormWidget(Interactive):
    """The inputs and buttons; what the form is about is displayed elsewhere. All labels are shown as plain text.

    `on_submit` gets what was entered, in the order of the fields, for every click on Submit. It returns what is wrong
    with each, an empty text if nothing is.
    """

    def __init__(
        self,
        fields: Sequence[FormInput],
        on_submit: Callable[[list[Entered]], Sequence[str]],
        on_decline: Callable[[], object],
    ) -> None:
        self._inputs = [_widget(field) for field in fields]
        self._complaints = [HTML("", layout=_below(field)) for field in fields]
        grey = '<span style="opacity:0.75">{}</span>'
        hints = [
            HTML(grey.format(html.escape(field.hint)) if field.hint else "", layout=_below(field)) for field in fields
        ]
        submit, decline = Button(description="Submit", button_style="primary"), Button(description="Decline")
        submit.on_click(lambda _: log_errors(lambda: self._complain(on_submit(list(map(_entered, self._inputs))))))
        decline.on_click(lambda _: log_errors(on_decline))
        inset, flush = "2px 0 6px 11px", Layout(width="auto", max_width="100%", margin="0")
        groups = zip(self._inputs, hints, self._complaints, strict=True)
        rows = [VBox(group, layout=Layout(margin=inset)) for group in groups]
        buttons = HBox([submit, decline], layout=Layout(flex_flow="row wrap", margin=inset))
        super().__init__(VBox([HTML(STYLE + _STYLE, layout=flush), *rows, buttons], layout=flush))
        self._box.add_class(CLASS)
        self._box.add_class(_CLASS)

    def _complain(self, complaints: Sequence[str]) -> None:
        for shown, complaint in zip(self._complaints, complaints, strict=True):
            shown.value = f'<b role="alert">⚠ {html.escape(complaint)}</b>' if complaint else ""


def _widget(field: FormInput) -> Widget:
    whole = " ".join(field.label.split())
    common = {
        "description": shortened(whole),
        "tooltip": whole,
        "style": {"description_width": "initial"},
        "layout": Layout(width="auto", max_width="40em"),
    }
    pairs = [(choice, place) for place, choice in enumerate(distinct(field.choices))]
    places = field.value if isinstance(field.value, tuple) else ()
    match field.kind:
        case "tick":
            return Checkbox(value=bool(field.value), indent=False, **common)
        case "one":
            return Dropdown(options=[(field.empty, _NONE), *pairs], value=next(iter(places), _NONE), **common)
        case "many":
            return SelectMultiple(options=pairs, value=places, rows=min(MAX_ROWS, len(pairs)), **common)
    # Sent whole, when the input is left: what is typed into an input that is sent letter by letter waits for the
    # kernel's reply to the letter before, and a quick click on Submit overtakes it.
    return Text(value=str(field.value), continuous_update=False, **common)


def _entered(widget: Widget) -> Entered:
    """A dropdown without a choice is like a list without one."""
    if isinstance(widget, Dropdown):
        return () if widget.value == _NONE else (widget.value,)
    value: Entered = widget.value
    return value


def _below(field: FormInput) -> Layout:
    return Layout(margin="0" if field.kind == "tick" else _BESIDE_LABEL)
