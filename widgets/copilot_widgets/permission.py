"""The buttons of a question, and its answers that take some text.

Plain text in, what was chosen or entered out. What the question is about, whether a click still counts, and what
replaces it afterwards are the caller's business.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from ipywidgets import HTML, Button, HBox, Layout, Text, Textarea, VBox, Widget  # type: ignore[attr-defined]

from .answers import AnswerButton, Answers, Reply, TextAnswer
from .base import CLASS, STYLE, Interactive, log_errors, shortened

OnReply = Callable[[Reply], str]
"""Takes an answer; returns what is wrong with it, or an empty string."""

# Characters that a narrow field shows whole.
_MAX_ONE_LINE = 36
_QUIET = "copilot-quiet"


class Editor:
    """The widgets of an answer that takes text: the button that opens it, and its box, hidden at first.

    `send` takes the text; it returns what is wrong with it, or an empty string. `on_toggle` is called with whether the
    box is open now. With `choices`, those are in the box, and the field is folded.
    """

    def __init__(
        self,
        answer: TextAnswer,
        field: Text | Textarea,
        send: Callable[[str], str],
        on_toggle: Callable[[bool], None],
        choices: Sequence[HBox] = (),
    ) -> None:
        self._answer, self._field, self._send, self._on_toggle = answer, field, send, on_toggle
        self._complaint = HTML("", layout=Layout(margin="0"))
        self.opener = _button(answer.label, answer.hint, self._open)
        self.submit = _button(answer.submit, answer.submit_hint, self._submit, style="primary")
        self._back = _button("Back", "", self._close)
        self._back.add_class("copilot-back")
        entry: tuple[Widget, ...] = (field, _hint(answer.note), self._complaint)
        wrapping = Layout(flex_flow="row wrap", margin="0")
        if choices:
            self._folded = VBox([*entry, HBox([self.submit])], layout=Layout(display="none", margin="0"))
            fold = _button(answer.fold, "", self._unfold)
            fold.add_class(_QUIET)
            entry = (*choices, HBox([self._back, fold], layout=wrapping), self._folded)
        else:
            entry = (*entry, HBox([self.submit, self._back], layout=wrapping))
        self.box = VBox(entry, layout=Layout(display="none", margin="2px 0 6px 11px"))
        self._first = self._back if choices else field
        self.box.add_class("copilot-entry")
        self.opener.add_class(_QUIET)

    def _open(self) -> None:
        self._on_toggle(True)
        self.box.layout.display = None
        self._first.focus()

    def _unfold(self) -> None:
        self._folded.layout.display = None
        self._field.focus()

    def _close(self) -> None:
        self.box.layout.display = "none"
        self._complaint.value = ""
        self._on_toggle(False)
        self.opener.focus()

    def _submit(self) -> None:
        text = self._field.value.strip()
        complaint = self._send(text) if text else self._answer.if_empty
        self._complaint.value = f'<b role="alert">⚠ {html.escape(complaint)}</b>' if complaint else ""


class AnswerCard(Interactive):
    """The answers to a question; what is asked is displayed elsewhere. Names and hints are shown as plain text.

    `on_reply` is called for every click that counts. Guarded answers are disabled, and clicks on them ignored, until
    `guard(holds=False)`. `on_move` is called when buttons have moved to where others were.
    """

    def __init__(self, answers: Answers, on_reply: OnReply, on_move: Callable[[], object] = lambda: None) -> None:
        self._on_reply, self._on_move = on_reply, on_move
        self._guarded: list[Button] = []
        self._number = HTML("", layout=Layout(margin="0 0 0 auto"))
        editors = []
        if reason := answers.reason:
            editors.append(self._editor(reason, 3, lambda text: Reply(reason.option, reason=text)))
        if rule := answers.rule:
            lines = 1 if len(rule.value) <= _MAX_ONE_LINE else 2
            editors.append(self._editor(rule, lines, lambda text: Reply(rule.option, rule=text)))
            self._guard(editors[-1].submit)
        first, last = ([self._choice(each) for each in choices] for choices in (answers.choices, answers.last))
        layout = Layout(flex_flow="row wrap", align_items="center", margin="4px 0 6px 9px")
        openers = (editor.opener for editor in editors)
        self._row = HBox([*first, *openers, *last, self._number], layout=layout)
        flush = Layout(width="auto", max_width="100%", margin="0")
        boxes = (editor.box for editor in editors)
        super().__init__(VBox([HTML(STYLE, layout=flush), self._row, *boxes], layout=flush), self._guarded)
        self._box.add_class(CLASS)

    def number(self, number: int, count: int) -> None:
        """Show which of several open questions this is."""
        self._number.value = f'<span style="opacity:0.75">{number} of {count}</span>' if count > 1 else ""

    def _editor(self, answer: TextAnswer, lines: int, reply: Callable[[str], Reply]) -> Editor:
        choices = [_explained(self._choice(each), each.hint) for each in answer.choices]
        return Editor(answer, _field(answer, lines), lambda text: self._on_reply(reply(text)), self._toggled, choices)

    def _choice(self, choice: AnswerButton) -> Button:
        style = "primary" if choice.is_suggested else ""
        reply = Reply(choice.option, rule=choice.rule, keep=choice.keep)
        made = _button(choice.label, choice.hint, lambda: self._on_reply(reply), style, is_guarded=choice.is_guarded)
        if choice.is_remembered:
            made.add_class(_QUIET)
        if choice.is_guarded:
            self._guard(made)
        return made

    def _guard(self, button: Button) -> None:
        """Guard a button, also one that was made enabled."""
        button.disabled = True
        button.add_class("copilot-guarded")
        self._guarded.append(button)

    def _toggled(self, is_open: bool) -> None:
        """An open editor stands in place of the answers."""
        self._row.layout.display = "none" if is_open else None
        self._on_move()


def _hint(text: str) -> HTML:
    return HTML(f'<div style="opacity:0.75">{html.escape(text)}</div>', layout=Layout(margin="0"))


def _explained(button: Button, hint: str) -> HBox:
    return HBox([button, _hint(hint)], layout=Layout(flex_flow="row wrap", align_items="center", margin="0"))


def _button(
    label: str, hint: str, on_click: Callable[[], object], style: str = "", *, is_guarded: bool = False
) -> Button:
    """Make a button; a guarded one starts disabled. A click that was on its way when it was disabled is ignored."""
    name = shortened(label)
    made = Button(
        description=name,
        tooltip=f"{name}: {shortened(hint)}" if hint else name,
        button_style=style,
        disabled=is_guarded,
        layout=Layout(width="auto", max_width="100%"),
    )
    made.on_click(lambda _: None if made.disabled else log_errors(on_click))
    return made


def _field(answer: TextAnswer, lines: int) -> Text | Textarea:
    """Make a text field whose value arrives whole, before the click that leaves it."""
    common = {
        "value": answer.value,
        "description": answer.field,
        "tooltip": answer.field,
        "continuous_update": False,
        "style": {"description_width": "initial"},
        "layout": Layout(width="auto", max_width="60em"),
    }
    return Text(**common) if lines == 1 else Textarea(rows=lines, **common)
