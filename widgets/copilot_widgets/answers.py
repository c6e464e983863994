"""The buttons and fields that answer a question, as plain data: describing them does not load ipywidgets.

Pages get the same as JSON (`answers.js`).
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

Keep = Literal["session", "settings"]

GUARD_SECONDS = 0.7
"""For how long clicks on a guarded answer do not count after its button has appeared or moved: long enough to see that
something else stands there now, shorter than reading it takes.
"""
CALM_SECONDS = 1.5
"""Time after a guard until what moves the button guards it again; twice as long each time, so that it can be answered
even below an output that never stops.
"""


@dataclass(frozen=True, slots=True)
class AnswerButton:
    """A button that answers with `option`, an index of the question's options.

    `label` stands on it, `hint` completes its name for screen readers: what it answers. At most one `is_suggested`, and
    is highlighted. Clicks on one that `is_guarded` count only after a moment. What `is_remembered` by the agent stands
    back. `rule` and `keep` go with the answer.
    """

    option: int
    label: str
    hint: str = ""
    is_suggested: bool = False
    is_guarded: bool = False
    is_remembered: bool = False
    rule: str = ""
    keep: Keep = "session"


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """A button, `label`, that opens a field; what is entered goes with the answer `option` when it is sent.

    `field` names the field, `value` is in it at first, `note` stands beneath it, and `if_empty` where nothing was
    entered. With `choices`, the button opens those, each with its `hint` beside it, and the field is folded under
    `fold`. The other hints are those of `AnswerButton`.
    """

    option: int
    label: str
    hint: str
    field: str
    value: str
    note: str
    submit: str
    submit_hint: str
    if_empty: str
    choices: tuple[AnswerButton, ...] = ()
    fold: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers in the order of the row: `choices`, the openers of `reason` and `rule`, and `last`.

    With how long their guard holds, and rests, in pages.
    """

    choices: tuple[AnswerButton, ...]
    reason: TextAnswer | None = None
    rule: TextAnswer | None = None
    last: tuple[AnswerButton, ...] = ()
    guard_seconds: float = GUARD_SECONDS
    calm_seconds: float = CALM_SECONDS

    @property
    def options(self) -> Set[int]:
        """Options that can be chosen."""
        texts = [each for each in (self.reason, self.rule) if each]
        return {each.option for each in (*self.choices, *self.last)} | {each.option for each in texts}


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of the user: an option, and what was entered with it."""

    option: int
    reason: str = ""
    rule: str = ""
    keep: Keep = "session"
