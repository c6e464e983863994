"""A form of the agent's asked line by line, where there are no widgets: what to ask next, and what an answer means.

Who reads the lines, and from where, is left to the doors: `prompt` is shown, `take` gets what was typed.
"""

from __future__ import annotations

from ..acp.elicitation import Elicitation, ElicitationAnswer, Field, Value
from ..conversation.form import Entered, Mistake, check
from .elicitation import choice_text, hint
from .plain import one_line, visible_text

BEGIN = {"form": "1) Answer  2) Decline: ", "url": "1) Agree  2) Decline: "}
ATTEMPTS = 10
"""So many lines in a row may make no sense before the question counts as not answered."""
NOT_ANSWERED = ElicitationAnswer("cancel", reason="no answer was given")
_YES, _NO = frozenset({"y", "yes", "true", "1"}), frozenset({"n", "no", "false", "0"})


class Interview:
    """One request, from the first question to the answer."""

    def __init__(self, request: Elicitation) -> None:
        self._request = request
        self._left = list(request.fields)
        self._values: dict[str, Value] = {}
        self._begun = False
        self._mistake = ""
        self._attempts = 0

    @property
    def prompt(self) -> str:
        """What to ask, with what was wrong with the last line."""
        question = _question(self._left[0]) if self._begun else BEGIN.get(self._request.mode, BEGIN["form"])
        return f"{self._mistake} {question}" if self._mistake else question

    def take(self, line: str) -> ElicitationAnswer | None:
        """`line` answers the prompt; None: there is more to ask."""
        try:
            answer = self._next(line) if self._begun else self._begin(line)
        except Mistake as mistake:
            self._mistake = str(mistake)
            self._attempts += 1
            return NOT_ANSWERED if self._attempts >= ATTEMPTS else None
        self._mistake, self._attempts = "", 0
        return answer

    def _begin(self, line: str) -> ElicitationAnswer | None:
        match line.strip().casefold():
            case "2" | "decline" | "no" | "n":
                return ElicitationAnswer("decline")
            case "1" | "answer" | "agree" | "yes" | "y":
                self._begun = True
                return self._end()
        raise Mistake("Type 1 or 2.")

    def _next(self, line: str) -> ElicitationAnswer | None:
        field = self._left[0]
        value = field.default if not line.strip() and field.default is not None else check(field, read(field, line))
        if value is not None:
            self._values[field.name] = value
        del self._left[0]
        return self._end()

    def _end(self) -> ElicitationAnswer | None:
        return None if self._left else ElicitationAnswer("accept", dict(self._values))


def read(field: Field, line: str) -> Entered:
    """A typed line as what was entered. Raises Mistake."""
    if field.kind == "text":
        return line.rstrip("\n")
    typed = line.strip()
    if field.kind == "boolean":
        return _yes_or_no(typed)
    if field.kind in ("choice", "choices"):
        return tuple(dict.fromkeys(_place(field, part) for part in _parts(field, typed)))
    return typed


def _question(field: Field) -> str:
    label = visible_text(one_line(field.label)) or "(no name)"
    wanted = visible_text(one_line(hint(field)))
    choices = "  ".join(f"{number}) {visible_text(choice_text(each))}" for number, each in enumerate(field.choices, 1))
    extra = "; ".join(filter(None, (wanted, _KEYS.get(field.kind, ""), _default(field))))
    return f"{label}{f' ({extra})' if extra else ''}{f' {choices}' if choices else ''}: "


_KEYS = {"boolean": "y or n", "choices": "numbers with commas between them"}


def _default(field: Field) -> str:
    if field.default is None:
        return ""
    if isinstance(field.default, bool):
        return f"empty: {'y' if field.default else 'n'}"
    values = field.default if isinstance(field.default, tuple) else (field.default,)
    return visible_text(f"empty: {one_line(', '.join(map(str, values)))}")


def _yes_or_no(typed: str) -> Entered:
    word = typed.casefold()
    if word and word not in _YES | _NO:
        raise Mistake("Type y or n.")
    return word in _YES if word else ""


def _parts(field: Field, typed: str) -> list[str]:
    if field.kind == "choice":
        return [typed] if typed else []
    return [part.strip() for part in typed.split(",") if part.strip()]


def _place(field: Field, typed: str) -> int:
    """A number, or the title or value of one choice alone."""
    numbers = [str(number) for number in range(1, len(field.choices) + 1)]
    if typed in numbers:
        return numbers.index(typed)
    word = typed.casefold()
    found = [
        place
        for place, choice in enumerate(field.choices)
        if word in (choice.value.casefold(), one_line(choice.title).casefold())
    ]
    if len(found) != 1:
        raise Mistake(f"Type a number from 1 to {len(field.choices)}.")
    return found[0]
